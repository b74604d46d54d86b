# SPDX-License-Identifier: MIT
mplace_report_tests(claims_markdown
    a_finding_is_where_and_verdict_and_what_was_seen
    a_table_follows_what_was_seen
    a_finding_names_its_rows_series_and_files
    a_claim_is_judged_for_each_setting
    a_claim_without_a_finding_says_what_is_missing
    the_verdicts_come_first_with_a_claims_title_once
    fewer_than_three_runs_of_a_size_leave_no_verdict
    emulated_rows_need_one_run_alone
    rows_that_are_left_out_are_told_at_the_end
    a_file_is_told_by_its_number_name_rows_hosts_and_command
    where_a_result_lay_is_left_out_of_its_command
    warnings_are_told_once
    the_page_is_head_and_files_and_warnings_and_judgement)
