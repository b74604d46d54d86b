# librand_malloc.so under programs, in front of each allocator that may stand behind it.
mplace_test_plugins(rand_picky_next rand_dlsym)
target_compile_options(rand_dlsym PRIVATE -O2) # in every build type; see the end of its dlsym
foreach(program rand_claims rand_picky_test rand_dlsym_test)
    add_executable(${program} ${program}.c)
    target_link_libraries(${program} PRIVATE pthread ${CMAKE_DL_LIBS})
    # The compiler must not judge by what it knows of malloc: these programs ask for the impossible.
    target_compile_options(${program} PRIVATE -fno-builtin)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_dependencies(${program} rand_malloc)
endforeach()

function(mplace_rand_test next claim)
    add_test(NAME preload.rand.${next}.${claim}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/rand_test.sh ${CMAKE_BINARY_DIR} ${next} ${claim})
    set_tests_properties(preload.rand.${next}.${claim} PROPERTIES
                         LABELS preload TIMEOUT 120 SKIP_RETURN_CODE 77)
endfunction()

# Debian 12's versions do not hold these themselves (rand_test.sh would skip them and say so):
# errno after impossible requests; errno after successes, and alignments above the size.
set(not_held_by_jemalloc impossible_requests_are_enomem_and_change_nothing)
set(not_held_by_mimalloc impossible_requests_are_enomem_and_change_nothing
    errno_is_untouched_when_an_allocation_succeeds blocks_are_aligned)
set(not_held_by_tcmalloc impossible_requests_are_enomem_and_change_nothing)

foreach(next glibc jemalloc mimalloc tcmalloc)
    foreach(claim
            usable_bytes_are_really_there
            realloc_to_the_same_or_the_usable_size_stays
            realloc_loops_do_not_creep
            realloc_that_shrinks_never_grows
            realloc_gives_a_shrunk_large_block_back
            realloc_keeps_what_was_there
            calloc_is_zeroed_after_dirty_blocks
            blocks_are_aligned
            impossible_requests_are_enomem_and_change_nothing
            errno_is_untouched_when_an_allocation_succeeds
            threads_exchange_blocks_intact
            what_the_next_allocator_decides_stays_its_decision
            blocks_of_the_look_up_are_blocks_like_any_other
            statistics_say_what_happened_and_only_when_asked
            the_ring_names_it
            real_programs_give_the_same_results)
        if(NOT claim IN_LIST not_held_by_${next})
            mplace_rand_test(${next} ${claim})
        endif()
    endforeach()
endforeach()
foreach(claim
        children_of_a_busy_process_allocate
        a_seed_repeats_and_another_differs
        every_request_may_be_jittered_and_none_when_switched_off
        a_bad_setting_is_one_line_and_the_default
        a_child_reports_itself_alone
        it_exports_the_malloc_family_and_its_name_alone
        a_request_that_the_next_allocator_just_grants_is_granted
        the_ring_covers_many_more_sets_at_glibcs_bad_sizes)
    mplace_rand_test(glibc ${claim})
endforeach()
mplace_rand_test(jemalloc what_the_next_allocator_lacks_is_supplied)
