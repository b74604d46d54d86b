mplace_report_tests(plot_order
    a_number_in_a_name_counts_as_a_number
    letters_come_before_other_signs
    a_tilde_comes_before_the_end
    a_name_comes_before_what_continues_it
    a_suffix_decides_between_names_that_are_the_same_before_it
    names_that_differ_in_zeros_alone_have_an_order
    bytes_that_are_no_text_come_after_text)
