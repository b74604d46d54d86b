# The lock rooms. The TTS lock and the retry policy are tested as they are; the front and the elision
# core with a scripted transaction back end in place of RTM, under names of their own: the test
# program's mutexes stay libc's.
set(tts ${CMAKE_SOURCE_DIR}/src/tts_lock)
set(ttstle ${CMAKE_SOURCE_DIR}/src/ttstle_lock)
set(front ${CMAKE_SOURCE_DIR}/src/mutex)

mplace_unit_test(mutex_tts_test mutex_tts_test.c ${tts}/tts.c)
mplace_unit_test(mutex_policy_test mutex_policy_test.c ${ttstle}/elision/retry_policy.c)

# The front, the elision core and the scripted back end, which stands in for PAUSE and sched_yield too.
include(${front}/statistics/statistics.cmake)
add_library(front_under_test OBJECT mutex_fake_htm.c ${tts}/tts.c ${ttstle}/elision/elision.c
            ${ttstle}/elision/hourglass.c ${ttstle}/condition.c ${ttstle}/elision/deferred.c ${ttstle}/signals.c
            ${ttstle}/elision/skip.c ${ttstle}/elision/retry_policy.c ${front}/interpose.c
            ${front}/c11.c ${front}/front.c ${front}/next_mutex.c ${front}/statistics/statistics.c
            ${front}/rwlock/rwlock.c ${front}/rwlock/next_rwlock.c ${front}/spin_lock/spin_lock.c
            ${tts}/tts_rwlock.c ${front}/thread_id.c ${front}/ownership.c ${MPLACE_LOCK_STATISTICS_SOURCES})
target_link_libraries(front_under_test PUBLIC mplace_base)
target_include_directories(front_under_test PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(front_under_test PUBLIC -include ${CMAKE_CURRENT_SOURCE_DIR}/mutex_fake_pause.h)
target_compile_definitions(front_under_test PUBLIC MPLACE_LOCK_CORE="ttstle_lock/core.h"
                                                   MPLACE_HTM_BACK_END="mutex_fake_htm.h")
foreach(function init destroy lock trylock timedlock clocklock unlock consistent getprioceiling setprioceiling)
    target_compile_definitions(front_under_test PUBLIC
        pthread_mutex_${function}=front_mutex_${function}
        __pthread_mutex_${function}=front_mutex_${function}_second_name)
endforeach()
foreach(function destroy lock trylock timedlock unlock)
    target_compile_definitions(front_under_test PUBLIC mtx_${function}=front_mtx_${function})
endforeach()
foreach(function rdlock wrlock tryrdlock trywrlock timedrdlock timedwrlock clockrdlock clockwrlock unlock)
    target_compile_definitions(front_under_test PUBLIC
        pthread_rwlock_${function}=front_rwlock_${function}
        __pthread_rwlock_${function}=front_rwlock_${function}_second_name)
endforeach()
foreach(function lock trylock unlock)
    target_compile_definitions(front_under_test PUBLIC pthread_spin_${function}=front_spin_${function})
endforeach()
foreach(function signal broadcast destroy wait timedwait clockwait)
    target_compile_definitions(front_under_test PUBLIC
        pthread_cond_${function}=front_cond_${function} cnd_${function}=front_cnd_${function})
endforeach()
foreach(function post destroy trywait getvalue timedwait clockwait)
    target_compile_definitions(front_under_test PUBLIC sem_${function}=front_sem_${function})
endforeach()

# mplace_front_unit_test(NAME): NAME.c with those.
function(mplace_front_unit_test name)
    mplace_unit_test(${name} ${name}.c)
    target_link_libraries(${name} PRIVATE front_under_test)
    # Which mutexes libc holds is not for ThreadSanitizer to judge here; races are.
    set_tests_properties(unit.${name} PROPERTIES ENVIRONMENT
        TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/thread_sanitizer.supp)
endfunction()

foreach(claim adaptive c11 contention deferred elision elision_counts front nesting rwlock spin_lock
              statistics_elision)
    mplace_front_unit_test(mutex_${claim}_test)
endforeach()

mplace_unit_test(mutex_statistics_test mutex_statistics_test.c ${front}/ownership.c
                 ${MPLACE_LOCK_STATISTICS_PARTS})
