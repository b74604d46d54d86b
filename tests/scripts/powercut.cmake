# mplace powercut: programs with a persistent file. Optimised with debug information: findings name places.
add_executable(powercut_program powercut_program.c)
target_include_directories(powercut_program PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(powercut_program PRIVATE -O1 -g)
target_link_libraries(powercut_program PRIVATE persist_objects)
set_target_properties(powercut_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
mplace_script_tests(powercut
    a_region_of_libmplace_persist_is_whole_after_every_cut
    what_is_stored_where_a_closed_region_was_mapped_is_not_in_its_file
    a_fence_that_is_missing_is_found_with_the_store_that_was_lost
    threads_store_in_the_order_in_which_they_did
    who_marks_another_file_is_told_that_it_is_not_cut
    an_msync_writes_the_whole_page_and_with_ms_async_nothing
    the_same_seed_cuts_the_same
    what_the_file_held_before_is_in_every_image
    the_image_never_replaces_what_is_read
    a_signal_that_ends_it_leaves_no_image
    what_cannot_be_printed_is_one_line_and_exit_2
    what_cannot_be_done_is_one_line_and_exit_2)
