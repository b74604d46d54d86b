# The AVL benchmark end to end: one ctest entry a claim, each a function of avltree_test.sh.

# What goes wrong on purpose: nodes that change behind the benchmark's back, memory that runs out;
# and a library that only watches.
mplace_test_plugins(avltree_broken avltree_watch)

foreach(claim
        the_row_is_the_documented_one
        the_options_appear_in_the_row
        the_mix_is_the_one_asked_for
        nodes_are_allocated_and_freed_in_the_locked_section
        an_insertion_of_a_key_that_is_there_replaces_its_value
        a_seed_gives_the_same_run_again
        the_first_node_is_the_first_block_of_the_heap
        glibc_places_the_first_nodes_as_on_a_fresh_heap
        seconds_end_a_run
        threads_are_pinned_one_a_core_where_there_are_enough
        a_lock_library_is_named_and_its_interval_counted
        every_bad_argument_is_one_line_and_exit_2
        help_names_every_option
        a_result_that_cannot_be_written_is_exit_2
        the_smallest_nodes_and_trees_work
        a_broken_tree_is_one_line_and_exit_1
        a_value_that_nobody_wrote_is_one_line_and_exit_1
        memory_that_runs_out_is_one_line_and_exit_1
        an_emulated_run_has_no_rate)
    add_test(NAME preload.avltree.${claim}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/avltree_test.sh $<TARGET_FILE:avltree>
                     ${CMAKE_BINARY_DIR}/tests/plugins ${claim})
    set_tests_properties(preload.avltree.${claim} PROPERTIES
                         LABELS preload TIMEOUT 60 SKIP_RETURN_CODE 77)
endforeach()
