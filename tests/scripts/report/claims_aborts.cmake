# SPDX-License-Identifier: MIT
mplace_report_tests(claims_aborts
    sizes_with_at_least_a_share_are_found
    sizes_without_transactions_are_not_judged
    the_most_is_told_at_the_least_size_that_has_it
    the_table_has_an_allocator_a_line
    an_allocator_without_transactions_has_no_line
    the_processors_own_counts_get_a_column)
