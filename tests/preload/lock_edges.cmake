# The lock libraries at the edges of what programs do: threads that libc does not know, children made
# without fork, signal handlers, sandboxes, interposers behind ours. As in lock.cmake, each program
# runs plain too.
set(lock_edge_programs atomic system_calls children exit_report statistics_strangers)
foreach(program ${lock_edge_programs} interposed)
    add_executable(lock_${program} lock_${program}.c)
    set_target_properties(lock_${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(lock_${program} PRIVATE pthread ${CMAKE_DL_LIBS})
endforeach()
target_include_directories(lock_statistics_strangers PRIVATE ${CMAKE_SOURCE_DIR}/include)
add_library(lock_interposer SHARED lock_interposer.c)
set_target_properties(lock_interposer PROPERTIES C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries(lock_interposer PRIVATE ${CMAKE_DL_LIBS})

lock_tests(${lock_edge_programs})

lock_test(interposed.plain "LD_PRELOAD=$<TARGET_FILE:lock_interposer>" lock_interposed)
foreach(library tts ttstle)
    lock_test(interposed.${library}
              "LD_PRELOAD=$<TARGET_FILE:${library}_lock>:$<TARGET_FILE:lock_interposer>"
              lock_interposed)
endforeach()
