# SPDX-License-Identifier: MIT
mplace_report_tests(sections_pages
    each_cause_has_its_name_and_place
    a_conflict_names_the_data_both_lines_and_the_other_section
    data_beside_the_lock_is_told_apart_from_data_of_the_section
    a_call_that_is_none_natively_is_called_the_emulators
    figures_are_called_emulated_in_every_form
    without_a_section_the_page_is_one_line_more
    lines_of_the_text_have_at_most_100_columns
    names_are_text_in_html
    the_json_has_all_sections_which_name_each_other_by_their_places)
