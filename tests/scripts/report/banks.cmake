# SPDX-License-Identifier: MIT
mplace_report_tests(banks
    a_row_is_read_as_it_was_written
    what_is_no_row_is_refused_with_its_line
    a_result_that_is_not_simulated_is_refused
    of_two_rows_of_a_seed_the_last_counts
    ratios_are_of_the_seeds_that_both_have
    rows_as_the_paper_says_hold_everywhere
    one_figure_that_is_not_the_papers_differs_alone
    a_statement_without_rows_is_not_judged
    a_changed_machine_has_lines_of_its_own
    the_loaded_machine_is_told_beside_and_decides_nothing
    a_figure_has_a_panel_for_each_workload_and_machine_with_rows)
