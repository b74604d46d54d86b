# SPDX-License-Identifier: MIT
mplace_report_tests(doctor_record
    the_figures_of_the_whole_run_are_read
    a_site_is_found_by_its_text
    sites_with_the_same_text_are_added_up
    of_sites_with_the_same_text_the_one_with_more_hot_blocks_tells_how_they_lie
    sites_of_different_callers_stay_apart
    sections_with_the_same_text_are_added_up
    fillers_belong_to_the_section_of_their_number
    the_version_of_a_symbol_is_not_told
    any_byte_may_be_in_a_name
    numbers_of_64_bits_are_exact
    misses_for_size_and_in_a_blocks_own_way_are_not_to_be_saved
    a_cache_with_sets_that_does_better_leaves_nothing_to_be_saved
    a_rate_is_for_every_1000_accesses
    a_run_without_accesses_has_a_rate_of_0)
