# CIA_PROFILE: one entry a claim of profile_test.py. library: empty where the program has it linked in.
function(mplace_profile_test name library program claim)
    add_test(NAME preload.profile.${name} COMMAND python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/profile_test.py
                                                  ${CMAKE_SOURCE_DIR} "${library}" $<TARGET_FILE:${program}> ${claim})
    set_tests_properties(preload.profile.${name} PROPERTIES LABELS preload TIMEOUT 60 SKIP_RETURN_CODE 77)
endfunction()

add_executable(profile_sites profile_sites.c)
target_compile_options(profile_sites PRIVATE -fno-builtin)
# So that offsets in the file are not its addresses.
target_link_options(profile_sites PRIVATE -no-pie)
set_target_properties(profile_sites PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(claim with_every_allocation_sampled_the_sums_are_exact sampled_sums_are_within_five_standard_deviations
              nothing_is_in_use_after_all_is_freed every_function_of_the_family_is_counted_and_freed
              what_is_refused_changes_nothing
              the_same_seed_gives_the_same_samples each_sample_says_the_class_and_the_set
              the_file_is_a_gzip_stream_with_its_checksum a_damaged_or_hostile_file_is_no_profile
              the_child_of_a_fork_has_a_file_of_its_own
              so_has_one_that_is_made_while_its_parent_writes
              with_the_process_id_in_the_name_so_has_every_process
              a_signal_writes_a_file_with_a_number_and_the_program_goes_on
              neither_the_signal_nor_the_exit_of_a_cancelled_thread_ends_in_the_middle
              an_exit_waits_for_a_profile_that_a_signal_asked_for
              a_signal_that_was_not_asked_for_ends_the_process_as_ever
              a_process_that_ends_by_underscore_exit_writes_nothing a_file_that_cannot_be_written_is_one_line
              bad_settings_are_one_line_each it_samples_packed_blocks_and_without_sequences
              the_fast_paths_know_nothing_of_profiles the_file_itself_names_the_sites
              a_place_without_a_symbol_is_the_file_and_what_addr2line_takes pprof_names_the_sites
              mplace_profile_names_sites_stacks_and_crowded_sets
              a_profile_of_which_nothing_is_left_says_what_to_ask_for)
    mplace_profile_test(${claim} $<TARGET_FILE:cia_malloc> profile_sites ${claim})
endforeach()

add_executable(profile_stacks profile_stacks.c)
target_compile_options(profile_stacks PRIVATE -fno-builtin)
target_link_options(profile_stacks PRIVATE -Wl,--no-as-needed -lgcc_s)
set_target_properties(profile_stacks PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(claim a_walk_below_libgccs_own_lock_does_not_wait_for_it a_walk_ends_where_the_stack_cannot_be_read)
    mplace_profile_test(${claim} $<TARGET_FILE:cia_malloc> profile_stacks ${claim})
endforeach()

# The same of a program that the library is linked into, whose frames are as much "here" as the library's.
if(TARGET cia_malloc_archive)
    add_executable(profile_linked profile_sites.c)
    target_compile_options(profile_linked PRIVATE -fno-builtin)
    add_dependencies(profile_linked cia_malloc_archive)
    target_link_options(profile_linked PRIVATE -Wl,-u,malloc)
    target_link_libraries(profile_linked PRIVATE $<TARGET_FILE_DIR:cia_malloc>/libcia_malloc.a ${CMAKE_DL_LIBS})
    set_target_properties(profile_linked PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    mplace_profile_test(a_program_that_the_library_is_linked_into_is_named_too "" profile_linked
                        with_every_allocation_sampled_the_sums_are_exact)
endif()
