# SPDX-License-Identifier: MIT
mplace_report_tests(claims_elision
    ttstle_below_tts_where_glibc_is_degraded_holds
    one_size_at_which_ttstle_is_not_below_differs
    ratios_of_more_than_ten_are_told_too
    without_a_degraded_size_futile_work_is_not_measured
    the_table_has_both_rates
    glibc_under_ttstle_alone_is_no_finding
    emulated_rows_tell_the_cause_alone
    without_transactions_hardware_is_missing
    a_little_below_tts_at_small_sizes_holds
    as_fast_as_tts_or_far_below_differs
    great_sizes_do_not_tell_of_the_bands
    nothing_elided_near_every_named_size_holds
    a_named_size_at_which_most_commit_differs
    elision_everywhere_differs
    two_caches_are_judged_apart
    capacity_stands_on_the_rows_of_all_allocators)
