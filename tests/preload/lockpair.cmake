# The lockpair benchmark end to end: one ctest entry a claim, each a function of lockpair_test.sh.
add_library(lockpair_no_lock MODULE lockpair_no_lock.c)
set_target_properties(lockpair_no_lock PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/plugins)
foreach(claim
        the_loaded_lock_is_named
        every_section_is_counted
        a_lock_that_does_not_exclude_is_one_line_and_exit_1
        every_bad_argument_is_one_line_and_exit_2)
    add_test(NAME preload.lockpair.${claim}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lockpair_test.sh $<TARGET_FILE:lockpair>
                     ${CMAKE_LIBRARY_OUTPUT_DIRECTORY} ${CMAKE_BINARY_DIR}/tests/plugins ${claim})
    set_tests_properties(preload.lockpair.${claim} PROPERTIES LABELS preload TIMEOUT 120)
endforeach()
