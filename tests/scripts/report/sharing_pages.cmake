# SPDX-License-Identifier: MIT
mplace_report_tests(sharing_pages
    a_finding_names_both_places_and_what_the_code_does
    a_finding_with_several_reasons_has_the_moves_of_each
    figures_are_called_simulated
    what_the_other_run_has_not_is_gone
    what_the_other_run_has_stands_beside
    a_second_run_with_fewer_accesses_is_told
    lines_of_the_text_have_at_most_100_columns
    without_a_finding_the_page_says_so
    names_are_text_in_html
    the_json_has_every_finding_of_both_runs)
