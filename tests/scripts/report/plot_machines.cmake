mplace_report_tests(plot_machines
    a_line_with_a_host_begins_a_machine
    each_host_is_there_once
    lines_about_the_sweep_are_no_facts
    a_value_may_have_an_equals_sign
    without_a_description_the_rows_say_host_and_processor
    a_fact_is_of_the_processor_that_is_named
    each_warning_is_there_once)
