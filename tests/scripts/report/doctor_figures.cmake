# SPDX-License-Identifier: MIT
mplace_report_tests(doctor_figures
    5_misses_to_be_saved_in_1000_accesses_hurt
    fewer_than_5_cost_a_little
    1_in_1000_costs_a_little
    fewer_than_1_cost_nothing
    misses_outside_the_heap_are_not_judged
    the_place_with_most_to_be_saved_comes_first
    of_equal_places_the_earlier_comes_first
    no_more_than_asked_for_are_told
    a_place_needs_a_tenth_of_a_miss_in_1000_accesses_to_be_told
    sections_are_told_by_how_many_overflow
    the_busiest_site_is_the_most_visited_with_several_hot_blocks
    without_several_hot_blocks_there_is_no_busiest_site)
