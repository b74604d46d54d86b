# SPDX-License-Identifier: MIT
mplace_report_tests(coherence
    a_row_is_read_as_it_was_written
    what_is_no_row_is_refused_with_its_line
    a_result_that_is_not_simulated_is_refused
    of_two_rows_of_a_workload_and_configuration_the_last_counts
    coherence_misses_are_those_that_neither_level_nor_memory_served
    of_a_row_without_coherence_misses_they_are_what_is_left_and_none_at_least
    means_are_geometric_and_of_one_family_where_asked
    rows_as_the_paper_says_hold_everywhere
    one_figure_that_is_not_the_papers_differs_alone
    a_statement_without_rows_is_not_judged
    misses_of_allocators_are_told_by_the_call
    a_figure_has_a_panel_for_each_family_with_rows)
