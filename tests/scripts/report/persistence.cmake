# SPDX-License-Identifier: MIT
mplace_report_tests(persistence
    a_row_is_read_as_it_was_written
    what_is_no_row_is_refused_with_its_line
    a_memory_of_its_own_is_compared_with_none_on_that_memory
    means_are_geometric_over_the_workloads_that_have_all_rows
    rows_as_the_paper_says_hold_everywhere
    one_figure_that_is_not_the_papers_differs_alone
    loc_that_loses_as_much_as_h_wal_differs
    transactions_of_eight_operations_have_a_table_of_their_own
    a_verdict_tells_the_means_under_other_readings
    a_workload_without_growth_is_named_where_the_mean_grows
    a_statement_without_rows_is_not_judged
    the_document_tells_what_goes_early_by_node_size_and_allocator
    a_figure_has_a_panel_for_what_there_are_rows_of)
