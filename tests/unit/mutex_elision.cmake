# The elision core under the scripted back end, a file a claim; mutex.cmake has the function.
foreach(claim nesting adaptive contention deferred elision_counts)
    mplace_front_unit_test(mutex_${claim}_test mutex_${claim}_test.c)
endforeach()
foreach(claim elision nesting adaptive contention rwlock spin_lock)
    target_compile_options(mutex_${claim}_test
                           PRIVATE -include ${CMAKE_CURRENT_SOURCE_DIR}/mutex_fake_pause.h)
endforeach()
