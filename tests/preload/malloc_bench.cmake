# The allocator benchmark end to end: one ctest entry a claim, each a function of malloc_bench_test.sh.

# An allocator that gives a block to two on purpose, and one that counts.
mplace_test_plugins(malloc_twice malloc_count)

foreach(claim
        every_workload_runs_to_its_end_under_glibc
        every_workload_runs_to_its_end_under_cia
        every_workload_of_memory_over_time_runs_to_its_end_under_glibc
        every_workload_of_memory_over_time_runs_to_its_end_under_cia
        samples_are_of_the_blocks_at_that_moment
        a_row_has_as_many_fields_as_the_header
        the_loaded_allocator_is_named
        a_list_tells_what_would_run
        the_seed_decides_what_is_asked_for
        operations_are_what_was_asked_for
        the_peak_is_that_of_the_blocks
        the_first_block_is_the_first_of_the_heap
        a_block_given_out_twice_is_one_line_and_exit_1
        memory_that_runs_out_is_one_line_and_exit_1
        every_bad_argument_is_one_line_and_exit_2
        a_result_that_cannot_be_written_is_exit_2)
    add_test(NAME preload.malloc_bench.${claim}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/malloc_bench_test.sh $<TARGET_FILE:malloc_bench>
                     ${CMAKE_LIBRARY_OUTPUT_DIRECTORY} ${CMAKE_BINARY_DIR}/tests/plugins ${claim})
    set_tests_properties(preload.malloc_bench.${claim} PROPERTIES LABELS preload TIMEOUT 120)
endforeach()
