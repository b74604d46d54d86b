# The lock libraries under small programs that state POSIX's promises. Each program runs plain, so
# that it tests POSIX and not us, and under each library with each TTS_WAIT.
include(CheckLanguage)

set(lock_programs errors deadlines bytes exclusion condition cancel fork atfork foreign shared c11
    c11_errors versions rwlock rwlock_storm rwlock_life spin)
# Each program lock_NAME without a library, and under both with each way to wait.
function(lock_tests)
    foreach(program ${ARGN})
        lock_test(${program}.plain "" lock_${program})
        foreach(library tts ttstle)
            foreach(wait spin yield park)
                lock_test(${program}.${library}.${wait}
                          "LD_PRELOAD=$<TARGET_FILE:${library}_lock>;TTS_WAIT=${wait}" lock_${program})
            endforeach()
        endforeach()
    endforeach()
endfunction()

foreach(program ${lock_programs} statistics)
    add_executable(lock_${program} lock_${program}.c)
endforeach()
add_library(lock_atfork_early SHARED lock_atfork_early.c)
set_target_properties(lock_atfork_early PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries(lock_atfork PRIVATE lock_atfork_early)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    add_executable(lock_cxx lock_cxx.cpp)
    set_target_properties(lock_cxx PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
    add_executable(lock_rwlock_cxx lock_rwlock_cxx.cpp)
    set_target_properties(lock_rwlock_cxx PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
    list(APPEND lock_programs cxx rwlock_cxx)
else()
    add_test(NAME preload.lock_cxx COMMAND sh -c "echo 'no C++ compiler: not tried'; exit 77")
    set_tests_properties(preload.lock_cxx PROPERTIES LABELS preload SKIP_RETURN_CODE 77)
endif()

# lock_test(NAME ENVIRONMENT COMMAND...)
function(lock_test name environment)
    add_test(NAME preload.lock_${name} COMMAND ${ARGN})
    set_tests_properties(preload.lock_${name} PROPERTIES LABELS preload TIMEOUT 60
                         SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}")
endfunction()

foreach(program ${lock_programs} statistics)
    set_target_properties(lock_${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(lock_${program} PRIVATE pthread ${CMAKE_DL_LIBS})
endforeach()
lock_tests(${lock_programs})

# Two processes: above, the first has the library and the other none. Here it is the other way
# round, both, and one each.
foreach(library tts ttstle)
    lock_test(shared.plain_and_${library} "" lock_shared $<TARGET_FILE:${library}_lock>)
    lock_test(shared.${library}_and_ttstle "LD_PRELOAD=$<TARGET_FILE:${library}_lock>" lock_shared
              $<TARGET_FILE:ttstle_lock>)
endforeach()

set(lock_exports mplace_lock_htm mplace_lock_name mplace_lock_statistics mplace_lock_statistics_reset
                 _Fork dlopen dlmopen)
foreach(function init destroy lock trylock unlock)
    list(APPEND lock_exports pthread_mutex_${function} __pthread_mutex_${function})
endforeach()
list(APPEND lock_exports pthread_mutex_timedlock pthread_mutex_clocklock pthread_mutex_consistent
     pthread_mutex_consistent_np pthread_mutex_getprioceiling pthread_mutex_setprioceiling
     mtx_destroy mtx_lock mtx_trylock mtx_timedlock mtx_unlock)
foreach(function rdlock wrlock tryrdlock trywrlock unlock)
    list(APPEND lock_exports pthread_rwlock_${function} __pthread_rwlock_${function})
endforeach()
list(APPEND lock_exports pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock
     pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock
     pthread_spin_lock pthread_spin_trylock pthread_spin_unlock)
set(lock_exports_tts ${lock_exports})
set(lock_exports_ttstle ${lock_exports} pthread_cond_init pthread_cond_wait pthread_cond_timedwait
                        pthread_cond_clockwait cnd_wait cnd_timedwait
                        pthread_cond_signal pthread_cond_broadcast pthread_cond_destroy
                        cnd_signal cnd_broadcast cnd_destroy sem_post sem_destroy sem_trywait
                        sem_getvalue sem_timedwait sem_clockwait)

foreach(library tts ttstle)
    lock_test(statistics.${library} "LD_PRELOAD=$<TARGET_FILE:${library}_lock>"
              lock_statistics ${library})
    lock_test(exports.${library} "" ${CMAKE_CURRENT_SOURCE_DIR}/lock_exports_test.sh
              $<TARGET_FILE:${library}_lock> ${lock_exports_${library}})
    lock_test(settings.${library} "" ${CMAKE_CURRENT_SOURCE_DIR}/lock_settings_test.sh
              $<TARGET_FILE:${library}_lock> ${library} $<TARGET_FILE:lock_c11>
              $<TARGET_FILE:lock_fork>)
endforeach()

include(lock_random.cmake)
