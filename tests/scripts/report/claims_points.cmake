# SPDX-License-Identifier: MIT
mplace_report_tests(claims_points
    the_rate_of_a_point_is_the_median_of_its_rows
    a_point_without_rows_has_no_rate
    sizes_rise
    processors_nodes_and_threads_are_kept_apart
    emulated_rows_are_told_apart_by_cache_and_not_by_processor
    measured_settings_come_first
    ttstle_without_transactions_is_left_out
    a_row_of_two_files_counts_once_for_the_first
    the_usual_allocators_come_first_and_others_as_they_are_seen
    the_fullest_set_is_that_of_all_rows_of_a_size
    capacity_aborts_are_a_share_of_all_transactions_of_a_point
    without_transactions_there_is_no_share
    rows_of_ttstle_that_began_none_are_in_no_share
    a_counter_is_told_for_each_section_that_it_was_counted_over
    a_role_that_was_not_counted_has_no_count
    counters_of_emulated_rows_are_not_taken)
