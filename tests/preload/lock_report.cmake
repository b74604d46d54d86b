# The lock statistics' report at exit, on known operations. After lock.cmake: uses its lock_test.
find_program(DEBIAN_PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH)

add_executable(lock_report lock_report.c)
target_link_libraries(lock_report PRIVATE pthread ${CMAKE_DL_LIBS})
add_library(lock_report_plugin MODULE lock_report_plugin.c)
set_target_properties(lock_report lock_report_plugin
                      PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
                                 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests PREFIX "")

foreach(library tts ttstle)
    if(DEBIAN_PYTHON3)
        lock_test(report.${library} "" ${DEBIAN_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/lock_report_test.py
                  $<TARGET_FILE:${library}_lock> ${library} $<TARGET_FILE:lock_report>
                  $<TARGET_FILE:lock_report_plugin>)
    else()
        lock_test(report.${library} "" sh -c "echo 'no /usr/bin/python3: not tried'; exit 77")
    endif()
endforeach()
