# SPDX-License-Identifier: MIT
mplace_report_tests(doctor_main
    each_form_can_be_had
    a_title_may_look_like_an_option
    the_second_run_stands_beside_the_first
    a_third_run_is_refused)
