# SPDX-License-Identifier: MIT
mplace_report_tests(legacy
    rows_as_the_paper_says_hold_everywhere
    a_count_that_is_not_the_papers_differs_where_it_says_so
    a_statement_without_rows_is_not_judged
    each_library_of_transactions_has_a_part_of_its_own
    of_two_rows_of_a_seed_the_last_counts
    what_is_no_row_is_refused_with_its_line
    locks_of_an_array_are_one_line_and_variables_one_each
    figures_as_the_paper_has_them_hold_everywhere
    a_figure_that_is_not_the_papers_differs_where_it_says_so
    what_the_rounds_cannot_tell_is_not_decided
    of_aborts_every_seed_must_tell_the_same
    a_statement_on_a_figure_without_rows_is_not_judged
    cancelled_transactions_are_no_aborts
    algorithms_are_told_with_their_intervals
    memcacheds_counts_are_told_as_emulated)
