# SPDX-License-Identifier: MIT
mplace_report_tests(doctor_text
    the_page_begins_with_what_ran
    lines_are_at_most_100_columns_and_filled
    a_letter_of_several_bytes_is_one_column
    a_name_is_never_parted
    lines_of_an_item_are_indented
    without_a_costly_place_the_busiest_is_named
    sizes_stand_in_columns_with_the_other_run_beside
    a_size_that_the_other_run_lacks_has_empty_columns
    without_costly_sizes_there_is_no_table
    a_place_that_the_other_run_lacks_is_not_seen
    sections_that_overflow_are_numbered
    a_section_that_the_other_run_lacks_is_not_seen
    a_place_of_the_other_run_is_told_beside
    at_most_three_kinds_of_block_fill_a_set)
