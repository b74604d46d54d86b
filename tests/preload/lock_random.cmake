# Random programs on mutexes of all kinds, with an oracle. Label preload: some rounds plainly, under
# each library with each way to wait, and with the allocator; label soak: an hour of them in all on 2
# idle CPUs, with many more threads than CPUs. Under the emulator: tests/emulated/schedule.cmake.
add_executable(lock_random lock_random.c)
target_include_directories(lock_random PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/sim)
target_link_libraries(lock_random PRIVATE pthread ${CMAKE_DL_LIBS})
set_target_properties(lock_random PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# lock_random_test(NAME LABEL TIMEOUT ENVIRONMENT THREADS STEPS SEEDS)
function(lock_random_test name label timeout environment threads steps seeds)
    add_test(NAME ${label}.lock_random.${name} COMMAND lock_random ${threads} ${steps} 1 ${seeds})
    set_tests_properties(${label}.lock_random.${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout}
                                                      ENVIRONMENT "${environment}")
endfunction()

set(lock_random_with_cia "LD_PRELOAD=$<TARGET_FILE:cia_malloc>:$<TARGET_FILE:ttstle_lock>")
lock_random_test(plain preload 120 "" 8 1000 10)
lock_random_test(plain soak 7200 "" 16 2000 2000)
lock_random_test(cia+ttstle preload 120 "${lock_random_with_cia}" 8 1000 10)
lock_random_test(cia+ttstle soak 7200 "${lock_random_with_cia}" 16 2000 2000)
foreach(library tts ttstle)
    set(environment "LD_PRELOAD=$<TARGET_FILE:${library}_lock>")
    foreach(wait park yield)
        lock_random_test(${library}.${wait} preload 120 "${environment};TTS_WAIT=${wait}" 8 1000 10)
        lock_random_test(${library}.${wait} soak 7200 "${environment};TTS_WAIT=${wait}" 16 2000 2000)
    endforeach()
    # Spinning threads burn their time slices wherever threads outnumber CPUs.
    lock_random_test(${library}.spin preload 120 "${environment};TTS_WAIT=spin" 2 300 5)
    lock_random_test(${library}.spin soak 7200 "${environment};TTS_WAIT=spin" 4 1000 200)
    # What a thread counts must not change what it does.
    lock_random_test(${library}.counted preload 120
                     "${environment};TTS_STATS=/dev/null;TTSTLE_STATS=/dev/null" 8 1000 10)
endforeach()
