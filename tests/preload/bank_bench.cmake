# The benchmarks of banks end to end: one ctest entry a claim, each a function of bank_bench_test.sh.
if(TARGET bank_bench)
    # Gives a page to two on purpose.
    mplace_test_plugins(bank_twice)

    foreach(claim
            each_workload_is_verified_with_any_number_of_threads
            every_class_of_is_has_the_ranks_of_the_benchmark
            a_row_has_as_many_fields_as_the_header
            every_policy_puts_each_page_where_it_says
            workers_are_a_quarter_in_each_quadrant
            the_seed_decides_where_local_pages_lie
            pages_given_out_twice_are_one_line_and_exit_1
            a_page_that_is_elsewhere_is_counted
            a_bank_without_memory_is_one_line_and_exit_1
            every_bad_argument_is_one_line_and_exit_2)
        add_test(NAME preload.bank_bench.${claim}
                 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bank_bench_test.sh $<TARGET_FILE:bank_bench>
                         ${CMAKE_LIBRARY_OUTPUT_DIRECTORY} ${CMAKE_BINARY_DIR}/tests/plugins ${claim})
        set_tests_properties(preload.bank_bench.${claim} PROPERTIES LABELS preload TIMEOUT 60)
    endforeach()
endif()
