# Programs whose critical sections a library may run as transactions: what POSIX promises must hold
# all the same. Each runs plain, so that it tests POSIX and not us, under tts, and under ttstle.
# Where ttstle has transactions they also demand that sections were elided.
set(elision_programs condition nesting lifetime signal unwind random rwlock)
foreach(program ${elision_programs})
    add_executable(elision_${program} elision_${program}.c)
endforeach()
if(CMAKE_CXX_COMPILER) # lock.cmake has looked for it
    add_executable(elision_exception elision_exception.cpp)
    set_target_properties(elision_exception PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
    list(APPEND elision_programs exception)
endif()

# elision_test(NAME ENVIRONMENT COMMAND...)
function(elision_test name environment)
    add_test(NAME preload.elision_${name} COMMAND ${ARGN})
    set_tests_properties(preload.elision_${name} PROPERTIES LABELS preload TIMEOUT 120
                         ENVIRONMENT "${environment}")
endfunction()

set(elision_arguments_random 1 4000)
set(elision_arguments_condition 1 25)
foreach(program ${elision_programs})
    set_target_properties(elision_${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                        ${CMAKE_BINARY_DIR}/tests)
    target_include_directories(elision_${program} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(elision_${program} PRIVATE pthread ${CMAKE_DL_LIBS})
    elision_test(${program}.plain "" elision_${program} ${elision_arguments_${program}})
    foreach(library tts ttstle)
        foreach(wait yield park)
            elision_test(${program}.${library}.${wait}
                         "LD_PRELOAD=$<TARGET_FILE:${library}_lock>;TTS_WAIT=${wait}"
                         elision_${program} ${elision_arguments_${program}})
        endforeach()
    endforeach()
endforeach()

# Call sites that are not to be elided; without the variable, and by the name of no function.
add_executable(elision_skip elision_skip.c)
set_target_properties(elision_skip PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(elision_skip PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(elision_skip PRIVATE pthread ${CMAKE_DL_LIBS})
set(skip_claim what_the_setting_names_is_not_elided)
set(skip_environment "LD_PRELOAD=$<TARGET_FILE:ttstle_lock>;TTSTLE_SKIP=elision_skip:lock_what_is_skipped")
elision_test(${skip_claim}.plain "" elision_skip)
elision_test(${skip_claim}.ttstle.unset "LD_PRELOAD=$<TARGET_FILE:ttstle_lock>" elision_skip)
elision_test(${skip_claim}.ttstle "${skip_environment}" elision_skip)

# Spinning threads burn their time slices wherever threads outnumber CPUs: fewer rounds.
foreach(library tts ttstle)
    set(environment "LD_PRELOAD=$<TARGET_FILE:${library}_lock>;TTS_WAIT=spin")
    elision_test(condition.${library}.spin "${environment}" elision_condition 1 2)
    elision_test(random.${library}.spin "${environment}" elision_random 1 1000)
    elision_test(nesting.${library}.spin "${environment}" elision_nesting)
    elision_test(rwlock.${library}.spin "${environment}" elision_rwlock)
    elision_test(lifetime.${library}.spin "${environment}" elision_lifetime)
endforeach()

# The same with real transactions, under the emulator. Short programs: 30 to 100 times slower there.
if(TARGET rtmgrind)
    add_test(NAME emulated.elision_${skip_claim} COMMAND valgrind --tool=rtmgrind $<TARGET_FILE:elision_skip>)
    set_tests_properties(emulated.elision_${skip_claim} PROPERTIES LABELS emulated TIMEOUT 300
        ENVIRONMENT "VALGRIND_LIB=${CMAKE_BINARY_DIR}/lib/mplace/valgrind;${skip_environment}")
    # Those about rwlocks and spin locks of lock.cmake too.
    set(elision_programs_emulated lock_rwlock lock_rwlock_storm lock_rwlock_life lock_spin)
    if(TARGET lock_rwlock_cxx)
        list(APPEND elision_programs_emulated lock_rwlock_cxx)
    endif()
    foreach(program ${elision_programs_emulated})
        foreach(policy paper adaptive)
            set(test emulated.${program}.${policy})
            add_test(NAME ${test} COMMAND valgrind --tool=rtmgrind $<TARGET_FILE:${program}>)
            set_tests_properties(${test} PROPERTIES LABELS emulated TIMEOUT 300 ENVIRONMENT
                "VALGRIND_LIB=${CMAKE_BINARY_DIR}/lib/mplace/valgrind;LD_PRELOAD=$<TARGET_FILE:ttstle_lock>;TTSTLE_POLICY=${policy};MPLACE_HTM=emulated")
        endforeach()
    endforeach()
    foreach(program ${elision_programs})
        foreach(policy paper adaptive)
            set(test emulated.elision_${program}.${policy})
            add_test(NAME ${test} COMMAND valgrind --tool=rtmgrind $<TARGET_FILE:elision_${program}>
                                          ${elision_arguments_${program}})
            set_tests_properties(
                ${test}
                PROPERTIES LABELS emulated TIMEOUT 300
                           ENVIRONMENT
                           "VALGRIND_LIB=${CMAKE_BINARY_DIR}/lib/mplace/valgrind;LD_PRELOAD=$<TARGET_FILE:ttstle_lock>;TTSTLE_POLICY=${policy}"
            )
        endforeach()
    endforeach()
endif()
