# mplace doctor --sharing: two threads whose lines move for a known reason. Optimised, or the loops drown in
# accesses to the stack; debug information is what names the line.
add_executable(sharing_program sharing_program.c)
target_compile_options(sharing_program PRIVATE -O1 -g)
target_link_libraries(sharing_program PRIVATE pthread)
set_target_properties(sharing_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set(sharing_claims
    two_counters_in_one_block_are_false_sharing_in_it
    two_blocks_in_one_line_are_told_with_both_places_and_gone_under_cia
    a_counter_of_both_threads_is_not_called_false
    a_lock_and_its_data_in_one_line_are_named
    a_line_for_each_thread_is_told_of_as_nothing
    the_machine_that_is_asked_for_is_the_one_simulated
    the_second_run_reads_what_the_first_has_read
    names_that_are_no_utf_8_are_text_in_the_record
    a_server_is_ended_after_the_time_given
    the_html_says_what_the_text_says_and_needs_nothing_else
    bad_options_of_sharing_are_one_line_and_exit_2
    of_sharing_without_the_tool_it_says_so_in_one_line)
mplace_script_tests(sharing ${sharing_claims})
list(TRANSFORM sharing_claims PREPEND scripts.sharing.)
set_tests_properties(${sharing_claims} PROPERTIES LABELS emulated TIMEOUT 240)
