mplace_report_tests(compare_counters
    each_event_has_a_table_in_the_order_in_which_it_was_asked_for
    a_row_is_medians_and_the_ratio_to_the_least_other
    every_head_of_a_number_has_its_unit
    of_programs_there_are_no_sizes_and_threads
    a_count_that_misses_a_round_has_no_figure
    without_counts_there_is_no_table)
