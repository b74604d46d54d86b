# The lock rooms. The TTS lock and the retry policy are tested as they are; the front and the elision
# core with a scripted transaction back end in place of RTM, under names of their own: the test
# program's mutexes stay libc's.
set(tts ${CMAKE_SOURCE_DIR}/src/tts_lock)
set(ttstle ${CMAKE_SOURCE_DIR}/src/ttstle_lock)
set(front ${CMAKE_SOURCE_DIR}/src/mutex)

mplace_unit_test(mutex_tts_test mutex_tts_test.c ${tts}/tts.c)
mplace_unit_test(mutex_policy_test mutex_policy_test.c ${ttstle}/elision/retry_policy.c)

# mplace_front_unit_test(NAME SOURCE...): the front, the elision core and the scripted back end.
function(mplace_front_unit_test name)
    mplace_unit_test(${name} ${ARGN} mutex_fake_htm.c ${tts}/tts.c ${ttstle}/elision/elision.c ${ttstle}/elision/hourglass.c
                     ${ttstle}/condition.c ${ttstle}/elision/deferred.c ${ttstle}/signals.c ${ttstle}/elision/skip.c
                     ${ttstle}/elision/retry_policy.c ${front}/interpose.c
                     ${front}/c11.c ${front}/front.c ${front}/next_mutex.c ${front}/statistics/statistics.c
                     ${front}/rwlock/rwlock.c ${front}/rwlock/next_rwlock.c ${front}/spin_lock/spin_lock.c
                     ${tts}/tts_rwlock.c
                     ${front}/thread_id.c)
    include(${front}/statistics/statistics.cmake)
    target_sources(${name} PRIVATE ${MPLACE_LOCK_STATISTICS_SOURCES})
    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_definitions(${name} PRIVATE MPLACE_LOCK_CORE="ttstle_lock/core.h"
                                               MPLACE_HTM_BACK_END="mutex_fake_htm.h")
    foreach(function init destroy lock trylock timedlock clocklock unlock consistent
                     getprioceiling setprioceiling)
        target_compile_definitions(
            ${name} PRIVATE pthread_mutex_${function}=front_mutex_${function}
                            __pthread_mutex_${function}=front_mutex_${function}_second_name)
    endforeach()
    foreach(function destroy lock trylock timedlock unlock)
        target_compile_definitions(${name} PRIVATE mtx_${function}=front_mtx_${function})
    endforeach()
    foreach(function rdlock wrlock tryrdlock trywrlock timedrdlock timedwrlock clockrdlock
                     clockwrlock unlock)
        target_compile_definitions(
            ${name} PRIVATE pthread_rwlock_${function}=front_rwlock_${function}
                            __pthread_rwlock_${function}=front_rwlock_${function}_second_name)
    endforeach()
    foreach(function lock trylock unlock)
        target_compile_definitions(${name} PRIVATE pthread_spin_${function}=front_spin_${function})
    endforeach()
    foreach(function signal broadcast destroy)
        target_compile_definitions(${name} PRIVATE pthread_cond_${function}=front_cond_${function}
                                                   cnd_${function}=front_cnd_${function})
    endforeach()
    foreach(function post destroy trywait getvalue timedwait clockwait)
        target_compile_definitions(${name} PRIVATE sem_${function}=front_sem_${function})
    endforeach()
    foreach(function wait timedwait clockwait)
        target_compile_definitions(${name} PRIVATE pthread_cond_${function}=front_cond_${function}
                                                   cnd_${function}=front_cnd_${function})
    endforeach()
    # Which mutexes libc holds is not for ThreadSanitizer to judge here; races are.
    set_tests_properties(unit.${name} PROPERTIES ENVIRONMENT
        TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/thread_sanitizer.supp)
endfunction()

mplace_front_unit_test(mutex_elision_test mutex_elision_test.c)
mplace_front_unit_test(mutex_front_test mutex_front_test.c)
mplace_front_unit_test(mutex_c11_test mutex_c11_test.c)
mplace_front_unit_test(mutex_rwlock_test mutex_rwlock_test.c)
mplace_front_unit_test(mutex_spin_lock_test mutex_spin_lock_test.c)
mplace_front_unit_test(mutex_statistics_elision_test mutex_statistics_elision_test.c)

include(${front}/statistics/statistics.cmake)
mplace_unit_test(mutex_statistics_test mutex_statistics_test.c ${MPLACE_LOCK_STATISTICS_PARTS})
