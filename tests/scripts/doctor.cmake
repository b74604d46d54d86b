# mplace doctor: programs that are known to be ill or well. Optimised, or the walks' loops drown in
# accesses to the stack; debug information is what names the line.
add_executable(doctor_program doctor_program.c)
target_compile_options(doctor_program PRIVATE -O1 -g)
target_link_libraries(doctor_program PRIVATE pthread)
set_target_properties(doctor_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    foreach(optimised plain optimised)
        add_executable(doctor_containers_${optimised} doctor_containers.cpp)
        set_target_properties(doctor_containers_${optimised} PROPERTIES
                              RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    endforeach()
    target_compile_options(doctor_containers_plain PRIVATE -O0 -g)
    target_compile_options(doctor_containers_optimised PRIVATE -O2 -g)
endif()
set(doctor_claims
    the_planted_pathology_is_found_and_its_line_named
    two_calls_of_one_line_are_one_place
    it_is_found_under_another_allocator
    the_cache_that_is_asked_for_is_the_one_modelled
    a_program_without_a_pathology_is_told_so_in_one_sentence
    the_json_is_valid_whatever_the_command_line_has_in_it
    misses_that_no_placement_would_save_are_not_promised
    every_thread_has_a_cache_of_its_own
    the_comparison_shows_what_cia_would_change
    a_critical_section_that_overflows_is_named_with_what_fills_it
    the_lock_of_a_thread_that_ended_does_not_end_the_section_around_it
    a_lock_that_the_c_library_takes_for_itself_is_no_section
    a_section_ends_where_it_waits_for_a_condition
    sections_of_rwlocks_and_spin_locks_overflow_as_those_of_mutexes_do
    a_section_that_the_program_ends_in_counts
    without_debug_information_a_place_is_object_and_offset
    a_containers_nodes_are_told_by_the_programs_line
    the_program_keeps_its_input_output_and_exit_status
    the_second_run_reads_the_same_input_and_its_output_is_dropped
    a_server_ends_by_itself_by_signal_or_after_the_time_given
    a_hangup_goes_to_the_program_and_the_page_comes
    the_page_is_about_the_program_and_about_children_only_if_asked
    a_program_that_became_another_one_is_told_of
    with_children_each_program_that_a_process_becomes_is_looked_at
    a_program_that_a_signal_ends_is_told_of_in_one_line
    children_end_with_the_program_or_are_told_of
    the_html_needs_nothing_else_and_says_what_the_text_says
    a_full_disk_is_told_in_one_line_and_the_program_goes_on
    bad_options_are_one_line_and_exit_2
    what_is_refused_leaves_no_file
    a_result_never_replaces_the_program
    a_program_that_would_run_without_cia_is_refused_where_cia_is_asked_for
    without_the_tool_it_says_so_in_one_line)
mplace_script_tests(doctor ${doctor_claims})
list(TRANSFORM doctor_claims PREPEND scripts.doctor.)
set_tests_properties(${doctor_claims} PROPERTIES LABELS emulated TIMEOUT 240)

# The pages in a real browser: by scripts/test.sh --browser only.
set(browser_claims
    a_sweeps_page_fits_a_phone_a_desk_and_paper_and_shows_its_points
    the_page_of_the_claims_fits_a_phone_a_desk_and_paper
    the_comparisons_page_fits_a_phone_a_desk_and_paper
    the_doctors_page_fits_a_phone_a_desk_and_paper_and_shows_its_bars)
mplace_script_tests(browser ${browser_claims})
list(TRANSFORM browser_claims PREPEND scripts.browser.)
set_tests_properties(${browser_claims} PROPERTIES LABELS browser TIMEOUT 600)
