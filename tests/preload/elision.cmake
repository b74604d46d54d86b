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

# A section that no transaction can end: each policy that bounds the aborts in a row ends it.
add_executable(elision_answer elision_answer.c)
set_target_properties(elision_answer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(elision_answer PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(elision_answer PRIVATE pthread ${CMAKE_DL_LIBS})
elision_test(answer.plain "" elision_answer)
if(TARGET rtmgrind)
    set(conflicts_adaptive 8)
    set(conflicts_hourglass 256)
    set(conflicts_serialise 100)
    foreach(policy adaptive hourglass serialise)
        add_test(NAME emulated.elision_answer.${policy}
                 COMMAND valgrind --tool=rtmgrind $<TARGET_FILE:elision_answer> ${conflicts_${policy}})
        set_tests_properties(emulated.elision_answer.${policy} PROPERTIES LABELS emulated TIMEOUT 120 ENVIRONMENT
            "VALGRIND_LIB=${CMAKE_BINARY_DIR}/lib/mplace/valgrind;LD_PRELOAD=$<TARGET_FILE:ttstle_lock>;TTSTLE_POLICY=${policy}")
    endforeach()
endif()

# Signals and posts inside sections, with the setting that lets them wait for the commit and without.
set(defer_program_wakes elision_defer wakes)
set(defer_program_storm elision_defer storm)
set(defer_program_faults elision_defer_faults)
foreach(program elision_defer elision_defer_faults)
    add_executable(${program} ${program}.c)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(${program} PRIVATE pthread ${CMAKE_DL_LIBS})
endforeach()
foreach(claim wakes storm faults)
    elision_test(defer.${claim}.plain "" ${defer_program_${claim}})
    elision_test(defer.${claim}.ttstle "LD_PRELOAD=$<TARGET_FILE:ttstle_lock>;TTSTLE_DEFER=1"
                 ${defer_program_${claim}})
endforeach()
if(TARGET rtmgrind)
    # emulated_defer(NAME DEFER POLICY PROGRAM ARGUMENT...)
    function(emulated_defer name defer policy program)
        add_test(NAME emulated.elision_defer.${name}
                 COMMAND valgrind --tool=rtmgrind $<TARGET_FILE:${program}> ${ARGN})
        set_tests_properties(emulated.elision_defer.${name} PROPERTIES LABELS emulated TIMEOUT 120 ENVIRONMENT
            "VALGRIND_LIB=${CMAKE_BINARY_DIR}/lib/mplace/valgrind;LD_PRELOAD=$<TARGET_FILE:ttstle_lock>;TTSTLE_POLICY=${policy};TTSTLE_DEFER=${defer}")
    endfunction()
    emulated_defer(sections_that_wake_a_sleeper_commit 1 paper elision_defer wakes)
    emulated_defer(without_the_setting_they_abort 0 paper elision_defer wakes)
    emulated_defer(without_the_setting_no_wake_up_is_lost 0 paper elision_defer storm 1)
    foreach(seed 1 2 3)
        emulated_defer(no_wake_up_is_lost.${seed} 1 paper elision_defer storm ${seed})
    endforeach()
    emulated_defer(no_wake_up_is_lost.adaptive 1 adaptive elision_defer storm 4)
    emulated_defer(fork_exit_cancellation_and_signals_are_as_without 1 paper elision_defer_faults)
    emulated_defer(turns_pass_whatever_window_a_signal_falls_into 1 paper elision_condition ${elision_arguments_condition})
    emulated_defer(a_cancelled_waiter_has_its_mutex 1 paper lock_cancel)
endif()

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
