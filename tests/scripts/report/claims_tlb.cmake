# SPDX-License-Identifier: MIT
mplace_report_tests(claims_tlb
    a_knee_from_1500_to_2500_bytes_holds
    a_knee_elsewhere_or_none_differs
    another_allocator_that_stays_up_makes_no_knee
    without_great_or_small_sizes_there_is_no_verdict_on_the_knee
    without_a_size_from_1500_to_2500_bytes_there_is_no_verdict_on_the_knee
    a_rise_of_misses_by_a_node_in_eight_holds
    a_greater_rise_of_cache_misses_differs
    cache_misses_that_were_not_counted_do_not_rise
    sizes_up_to_1_kib_and_from_2500_bytes_on_are_compared
    walks_and_hits_of_the_second_level_are_misses
    the_table_has_a_counted_size_a_line
    without_counters_they_are_missing)
