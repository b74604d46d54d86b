# The ring benchmark end to end: one ctest entry a claim, each a function of ring_test.sh.

# What goes wrong on purpose: an allocator that gives one block twice, a lock library with known
# counts. And a library for all benchmarks, which watches whether the heap is fresh.
mplace_test_plugins(ring_broken_malloc ring_fake_lock fresh_heap)

foreach(claim
        the_header_is_exactly_the_documented_one
        a_row_has_as_many_fields_as_the_header
        the_options_appear_in_the_row
        a_seed_gives_the_same_run_again
        the_first_node_is_the_first_block_of_the_heap
        glibc_places_nodes_as_on_a_fresh_heap
        glibc_is_named_when_nobody_interposes
        jemalloc_is_named
        mimalloc_is_named
        tcmalloc_is_named
        a_lock_library_is_named_and_its_interval_counted
        settings_in_force_appear_in_the_row
        every_bad_argument_is_one_line_and_exit_2
        help_goes_to_standard_output
        a_result_that_cannot_be_written_is_exit_2
        a_broken_ring_is_one_line_and_exit_1
        memory_that_runs_out_is_one_line_and_exit_1
        an_event_that_cannot_be_counted_does_not_stop_the_run
        a_countable_event_appears_in_the_row
        the_drawing_counts_every_node
        small_rings_work
        an_emulated_run_has_no_rate)
    add_test(NAME preload.ring.${claim}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/ring_test.sh $<TARGET_FILE:ring>
                     ${CMAKE_BINARY_DIR}/tests/plugins ${claim})
    set_tests_properties(preload.ring.${claim} PROPERTIES
                         LABELS preload TIMEOUT 60 SKIP_RETURN_CODE 77)
endforeach()
