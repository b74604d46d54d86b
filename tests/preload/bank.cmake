# libbank_malloc.so under programs. Frames are simulated, so that every machine sees the same; only
# bank_where asks for real ones, and is skipped where the kernel does not tell them.
function(mplace_bank_test name label timeout settings)
    add_test(NAME ${label}.bank.${name}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/malloc_test.sh $<TARGET_FILE:bank_malloc> ${ARGN})
    set_tests_properties(${label}.bank.${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout}
                         SKIP_RETURN_CODE 77 ENVIRONMENT "${settings}")
endfunction()

# Blocks of whole chunks are moved in pieces of 8 KiB on the one, of 32 KiB on the other.
set(bank_tilepro64 BANK_MAP=tilepro64 BANK_PHYSICAL=simulated)
set(bank_skylake BANK_MAP=skylake-2channels BANK_PHYSICAL=simulated)

# What glibc promises: the programs of malloc.cmake. Not there: malloc_cpus and malloc_lines,
# which look at cia's sub-heaps and lines.
foreach(claim "impossible_requests_fail_with_enomem_and_change_nothing;malloc_impossible"
              "what_the_kernel_never_commits_is_enomem_and_changes_nothing;malloc_commit"
              "success_leaves_errno_alone;malloc_errno"
              "blocks_are_aligned_to_16_bytes_and_to_what_was_asked;malloc_alignment"
              "blocks_have_their_bytes_and_realloc_keeps_them;malloc_blocks"
              "blocks_belong_to_the_process_and_not_to_a_thread;malloc_threads"
              "fork_at_any_moment_leaves_an_allocator_that_works;malloc_fork"
              "sized_frees_free;malloc_sized")
    list(GET claim 0 name)
    list(GET claim 1 program)
    mplace_bank_test(${name} preload 240 "${bank_skylake}" $<TARGET_FILE:${program}>)
endforeach()
# Without a map, of which one line tells, nobody asks which frames memory has.
add_test(NAME preload.bank.a_long_zeroed_block_takes_memory_where_it_is_touched COMMAND malloc_sparse)
set_tests_properties(preload.bank.a_long_zeroed_block_takes_memory_where_it_is_touched
                     PROPERTIES LABELS preload TIMEOUT 120 ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:bank_malloc>"
                                FAIL_REGULAR_EXPRESSION "does not hold;ignored")
mplace_bank_test(the_calls_that_look_into_the_allocator_answer_sensibly preload 120 "${bank_tilepro64}"
                 $<TARGET_FILE:malloc_introspection> pool)
# The limit that it meets is that of its pool.
mplace_bank_test(a_limit_is_enomem_and_passes preload 120 "${bank_skylake};BANK_POOL=160M" $<TARGET_FILE:malloc_limit>)
mplace_bank_test(allocation_works_from_first_constructor_to_last_destructor preload 120 "${bank_tilepro64}"
                 $<TARGET_FILE:malloc_lifetime> $<TARGET_FILE:malloc_plugin>)
if(TARGET malloc_new)
    mplace_bank_test(operator_new_aligns_and_throws preload 120 "${bank_tilepro64}" $<TARGET_FILE:malloc_new>)
    mplace_bank_test(blocks_of_an_allocator_that_is_linked_go_back_to_it preload 60 "${bank_tilepro64}"
                     $<TARGET_FILE:malloc_new_linked> far)
endif()

foreach(program bank_asleep bank_atfork bank_children bank_edges bank_growth bank_interface bank_where)
    add_executable(${program} ${program}.c)
    target_compile_options(${program} PRIVATE -fno-builtin)
    target_link_libraries(${program} PRIVATE pthread ${CMAKE_DL_LIBS})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
add_library(bank_atfork_early SHARED bank_atfork_early.c)
target_compile_options(bank_atfork_early PRIVATE -fno-builtin)
set_target_properties(bank_atfork_early PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries(bank_atfork PRIVATE bank_atfork_early)
mplace_bank_test(a_child_allocates_in_a_handler_that_was_registered_before_ours preload 120 "${bank_tilepro64}"
                 $<TARGET_FILE:bank_atfork>)
# Without a map, which is one line on standard error: a slab that is given away is then had by any thread.
add_test(NAME preload.bank.a_thread_of_the_child_and_the_one_that_forked_have_blocks_of_their_own
         COMMAND env LD_PRELOAD=$<TARGET_FILE:bank_malloc> $<TARGET_FILE:bank_atfork>)
set_tests_properties(preload.bank.a_thread_of_the_child_and_the_one_that_forked_have_blocks_of_their_own PROPERTIES
                     LABELS preload TIMEOUT 120)
mplace_bank_test(the_interface_says_whose_memory_is_whose preload 60
                 "${bank_tilepro64};BANK_POOL=64M;BANK_MODE=none" $<TARGET_FILE:bank_interface>)

# See bank_edges.c.
mplace_bank_test(long_blocks_are_had_as_long_as_there_is_memory preload 120 "${bank_tilepro64};BANK_POOL=1G"
                 $<TARGET_FILE:bank_edges> scattered)
mplace_bank_test(moved_blocks_that_are_free_leave_no_mapping_behind preload 60 "${bank_tilepro64}"
                 $<TARGET_FILE:bank_edges> mappings)
mplace_bank_test(what_other_threads_freed_serves_any_size preload 60 "${bank_tilepro64};BANK_POOL=64M"
                 $<TARGET_FILE:bank_edges> classes)
mplace_bank_test(locked_pages_hold_no_record_of_chunks_that_are_not_used preload 60 "${bank_tilepro64}"
                 $<TARGET_FILE:bank_edges> lockall)
mplace_bank_test(malloc_trim_gives_back_what_is_free preload 60 "${bank_tilepro64}" $<TARGET_FILE:bank_edges> trim)
mplace_bank_test(malloc_trim_gives_back_huge_pages_whose_frames_are_known preload 60
                 "BANK_MAP=${CMAKE_CURRENT_SOURCE_DIR}/bank_where.map;BANK_COLOURS=0:0-7" $<TARGET_FILE:bank_edges> trim)
mplace_bank_test(malloc_trim_leaves_a_pool_of_a_size_alone preload 60 "${bank_tilepro64};BANK_POOL=128M"
                 $<TARGET_FILE:bank_edges> untrimmed)
mplace_bank_test(what_was_kept_for_the_next_block_is_free_in_a_child preload 60 "${bank_tilepro64}"
                 $<TARGET_FILE:bank_edges> kept)
mplace_bank_test(chunks_that_cannot_move_back_are_had_again preload 60 "${bank_tilepro64};BANK_POOL=64M"
                 $<TARGET_FILE:bank_edges> stranded)
mplace_bank_test(a_handler_of_abort_may_allocate_after_misuse preload 30 "${bank_tilepro64}"
                 $<TARGET_FILE:bank_edges> handler)
mplace_bank_test(a_filter_that_knows_no_madvise_is_no_lack_of_memory preload 30
                 "BANK_MAP=${CMAKE_CURRENT_SOURCE_DIR}/bank_where.map;BANK_POOL=64M"
                 $<TARGET_FILE:bank_edges> sandbox)

# See bank_asleep.c.
mplace_bank_test(what_others_freed_does_not_stay_with_a_thread_that_sleeps preload 60
                 "${bank_tilepro64};BANK_POOL=64M" $<TARGET_FILE:bank_asleep> asleep)
mplace_bank_test(a_thread_whose_destructors_allocate_to_its_end_leaves_nothing_behind preload 60
                 "${bank_tilepro64};BANK_POOL=8M" $<TARGET_FILE:bank_asleep> destructors)
mplace_bank_test(a_sweep_beside_threads_at_work_takes_no_block_of_theirs preload 120 "${bank_tilepro64}"
                 $<TARGET_FILE:bank_asleep> crossing)
# Without a map, of which one line tells: with one colour alone all of the pool is one thread's.
add_test(NAME preload.bank.a_sweep_hides_no_free_block_from_a_thread_at_the_limit
         COMMAND env BANK_POOL=4M LD_PRELOAD=$<TARGET_FILE:bank_malloc> $<TARGET_FILE:bank_asleep> limit)
set_tests_properties(preload.bank.a_sweep_hides_no_free_block_from_a_thread_at_the_limit PROPERTIES LABELS preload
                     TIMEOUT 120)

# See bank_children.c.
mplace_bank_test(what_other_threads_freed_in_a_child_is_had_again preload 60 "${bank_tilepro64};BANK_POOL=8M"
                 $<TARGET_FILE:bank_children> notified)

mplace_bank_test(a_child_gets_what_is_free_between_its_parents_blocks preload 60
                 "BANK_MAP=${CMAKE_CURRENT_SOURCE_DIR}/bank_where.map;BANK_POOL=64M" $<TARGET_FILE:bank_children> scattered)

mplace_bank_test(what_is_free_between_a_parents_blocks_costs_its_child_no_mappings preload 60 "${bank_tilepro64}"
                 $<TARGET_FILE:bank_children> mappings)

mplace_bank_test(a_mapping_of_the_programs_among_the_records_is_its_childs_too preload 60 "${bank_tilepro64}"
                 $<TARGET_FILE:bank_children> foreign)

# See bank_growth.c.
mplace_bank_test(a_bank_that_the_first_memory_has_not_is_found_behind_it preload 60
                 "BANK_MAP=${CMAKE_CURRENT_SOURCE_DIR}/bank_stripes.map;BANK_PHYSICAL=simulated"
                 $<TARGET_FILE:bank_growth> late)
mplace_bank_test(pages_of_several_mappings_are_moved_one_after_the_other preload 60
                 "BANK_MAP=${CMAKE_CURRENT_SOURCE_DIR}/bank_stripes.map;BANK_PHYSICAL=simulated;BANK_POOL=64M" $<TARGET_FILE:bank_growth> pieces)
mplace_bank_test(where_a_place_is_taken_a_block_gets_another preload 60 "${bank_tilepro64}"
                 $<TARGET_FILE:bank_growth> place)

# Where each page really is: see bank_where.c.
set(bank_real BANK_MAP=${CMAKE_CURRENT_SOURCE_DIR}/bank_where.map)
foreach(policy near cpu thread "0:0-3\;1:4,6\;0:7")
    string(REGEX REPLACE "^0.*" "list" name "${policy}")
    mplace_bank_test(every_block_of_every_thread_is_on_its_banks.${name} preload 120
                     "${bank_real};BANK_COLOURS=${policy}" $<TARGET_FILE:bank_where> threads ${name} 250)
    # As long as the pool grows no mode makes a difference.
    foreach(mode none restricted unrestricted split)
        mplace_bank_test(every_block_of_every_thread_is_on_its_banks.${name}.${mode} preload 120
                         "${bank_real};BANK_COLOURS=${policy};BANK_MODE=${mode}"
                         $<TARGET_FILE:bank_where> threads ${name} 60)
    endforeach()
endforeach()
foreach(mode none restricted unrestricted split)
    mplace_bank_test(when_a_bank_is_full_blocks_are_where_the_mode_lets_them.${mode} preload 120
                     "${bank_real};BANK_POOL=32M;BANK_MODE=${mode}" $<TARGET_FILE:bank_where> full ${mode})
endforeach()
mplace_bank_test(a_block_of_8_mib_is_on_one_bank preload 120 "${bank_real};BANK_POOL=256M"
                 $<TARGET_FILE:bank_where> long 8388608)
mplace_bank_test(a_block_of_64_mib_is_on_one_bank soak 600 "${bank_real};BANK_POOL=2G"
                 $<TARGET_FILE:bank_where> long 67108864)
foreach(follow 0 1)
    mplace_bank_test(a_thread_that_moves_gets_other_banks_only_if_asked.${follow} preload 120
                     "${bank_real};BANK_COLOURS=cpu;BANK_FOLLOW=${follow}" $<TARGET_FILE:bank_where> follow ${follow})
endforeach()
mplace_bank_test(the_child_of_a_fork_has_a_pool_of_its_own preload 120 "${bank_real}"
                 $<TARGET_FILE:bank_where> fork)
mplace_bank_test(new_blocks_of_a_parent_are_on_their_banks_while_its_child_lives preload 60
                 "${bank_real};BANK_POOL=64M" $<TARGET_FILE:bank_where> parent)
mplace_bank_test(pages_that_were_moved_are_counted preload 60 "${bank_real};BANK_POOL=64M"
                 $<TARGET_FILE:bank_where> moved)

foreach(claim
        a_bad_setting_is_one_line_that_says_what_is_allowed
        without_a_map_one_line_says_so_and_memory_is_allocated
        without_a_map_the_processes_that_a_program_starts_say_nothing
        without_a_map_what_the_kernel_never_commits_is_enomem
        a_bank_that_no_memory_has_is_one_line_and_looked_for_again_after_malloc_trim
        without_a_file_descriptor_the_pool_does_not_grow_and_one_line_says_so
        of_few_addresses_many_are_the_programs
        without_a_map_a_block_that_grows_by_little_is_seldom_moved
        without_a_map_short_blocks_leave_the_hole_of_a_long_one_whole
        a_block_that_two_threads_free_is_named
        statistics_say_where_blocks_came_from
        it_exports_the_malloc_family_and_the_interface_alone
        real_programs_give_the_same_results
        a_trace_knows_the_frame_of_every_page_of_every_block)
    add_test(NAME preload.bank.${claim}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bank_test.sh ${CMAKE_BINARY_DIR} ${claim})
    set_tests_properties(preload.bank.${claim} PROPERTIES LABELS preload TIMEOUT 120 SKIP_RETURN_CODE 77)
endforeach()
