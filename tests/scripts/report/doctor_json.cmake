# SPDX-License-Identifier: MIT
mplace_report_tests(doctor_json
    quotes_and_backslashes_come_through
    control_characters_are_blanks
    what_is_no_utf8_is_left_out
    the_page_is_utf8_itself
    the_cache_and_the_verdict_come_before_the_runs
    each_run_has_its_allocator_and_exit_status
    all_places_are_there_and_not_only_the_first
    a_site_has_all_its_figures
    a_size_has_no_place
    a_section_has_what_fills_the_set)
