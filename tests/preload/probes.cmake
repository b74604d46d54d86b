# The tracepoints of docs/tracing.md: name and number of arguments.
set(lock_probes contention_begin:1 contention_end:3)
set(probes_cia_malloc span_refill:3 remote_free_drain:3 memory_given_back:3 malloc_slow_path:1
                      free_slow_path:1)
set(probes_tts_lock ${lock_probes})
set(probes_ttstle_lock ${lock_probes} elision_abort:3)
foreach(library cia_malloc tts_lock ttstle_lock)
    set(name preload.the_tracepoints_are_there_and_each_is_a_nop.${library})
    if(MPLACE_HAVE_SDT)
        add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/probes_test.sh
                                      $<TARGET_FILE:${library}> ${probes_${library}})
    else()
        add_test(NAME ${name} COMMAND sh -c "echo 'built without sys/sdt.h'; exit 77")
    endif()
    set_tests_properties(${name} PROPERTIES LABELS preload TIMEOUT 60 SKIP_RETURN_CODE 77)
endforeach()
