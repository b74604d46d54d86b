# SPDX-License-Identifier: MIT
mplace_report_tests(claims_words
    a_list_ends_in_and
    a_list_of_more_than_16_ends_in_a_number
    sizes_that_follow_each_other_are_a_range
    a_share_has_three_digits
    a_count_that_is_not_there_is_blank
    only_the_first_letter_becomes_capital
    foreign_text_stays_text_in_a_table
    a_table_has_a_line_under_its_head
    a_size_within_32_bytes_is_near
    a_named_size_without_a_bad_one_is_good_where_one_just_below_was_tried
    a_doubtful_size_makes_its_named_size_unsure
    bad_sizes_near_no_named_one_are_told)
