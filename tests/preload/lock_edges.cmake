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

# A library whose clock_gettime, mmap and more take a mutex of the program, on either side of ours.
add_executable(lock_hooked lock_hooked.c)
set_target_properties(lock_hooked PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(lock_hooked PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(lock_hooked PRIVATE pthread ${CMAKE_DL_LIBS})
add_library(lock_hook SHARED lock_hook.c)
set_target_properties(lock_hook PROPERTIES C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set(lock_hook_claim counting_and_deadlines_call_no_function_that_another_library_may_replace)
lock_test(${lock_hook_claim}.plain "LD_PRELOAD=$<TARGET_FILE:lock_hook>" lock_hooked)
foreach(library tts ttstle)
    foreach(wait spin yield park)
        set(settings "TTS_STATS=/dev/null;TTSTLE_STATS=/dev/null;TTS_WAIT=${wait}")
        lock_test(${lock_hook_claim}.${library}.${wait}
                  "LD_PRELOAD=$<TARGET_FILE:${library}_lock>:$<TARGET_FILE:lock_hook>;${settings}" lock_hooked)
        lock_test(${lock_hook_claim}.${library}.${wait}.in_front
                  "LD_PRELOAD=$<TARGET_FILE:lock_hook>:$<TARGET_FILE:${library}_lock>;${settings}" lock_hooked)
    endforeach()
endforeach()
