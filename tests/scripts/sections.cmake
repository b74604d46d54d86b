# mplace doctor --sections: sections that something known keeps from being transactions. Debug information is what
# names the line.
add_executable(sections_program sections_program.c)
target_compile_definitions(sections_program PRIVATE _GNU_SOURCE)
target_compile_options(sections_program PRIVATE -O1 -g)
target_link_libraries(sections_program PRIVATE pthread)
set_target_properties(sections_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set(sections_claims
    a_write_in_a_section_is_named_with_its_line
    a_record_that_is_cut_short_is_none
    a_signal_to_a_waiter_is_a_wake_up_and_its_wait_is_named
    the_first_touch_of_a_page_is_named_with_its_line_and_memory
    a_set_that_overflows_is_told_with_its_blocks
    without_a_cause_the_sections_that_it_stopped_commit
    a_shared_counter_is_a_conflict_of_both_lines
    a_held_lock_inside_is_told_with_its_holder
    a_timed_lock_inside_is_named_with_its_line
    a_trylock_inside_is_named_with_its_line
    what_is_never_tried_is_said_to_be
    of_two_causes_in_a_section_neither_wins_the_entry_alone
    a_section_that_commits_loses_nothing
    a_program_without_sections_is_told_so_in_one_line
    of_a_stripped_program_a_place_is_a_file_and_an_address
    the_html_of_sections_says_what_the_text_says
    bad_options_of_sections_are_one_line_and_exit_2
    of_sections_without_the_tool_it_says_so_in_one_line)
mplace_script_tests(sections ${sections_claims})
list(TRANSFORM sections_claims PREPEND scripts.sections.)
set_tests_properties(${sections_claims} PROPERTIES LABELS emulated TIMEOUT 240)
