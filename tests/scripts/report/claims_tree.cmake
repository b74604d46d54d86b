# SPDX-License-Identifier: MIT
mplace_report_tests(claims_tree
    cia_ahead_under_ttstle_holds_whatever_glibc_is
    cia_not_ahead_differs
    glibc_ahead_tells_nothing_of_cia
    locks_without_a_common_size_are_no_finding
    the_ring_tells_nothing_of_the_tree
    emulated_rows_tell_the_sections_that_were_elided
    degraded_under_ttstle_at_the_rings_sizes_holds
    degraded_nowhere_under_ttstle_differs
    runs_that_disagree_under_ttstle_decide_nothing
    glibc_alone_under_ttstle_is_not_judged
    capacity_aborts_at_the_rings_sizes_hold_for_aborts
    no_capacity_abort_in_the_tree_differs
    rates_under_tts_are_told_without_a_verdict
    glibc_below_the_best_tts_near_2048_bytes_holds
    as_fast_as_the_best_tts_differs
    sizes_far_from_2048_bytes_are_not_taken)
