# Memory that stays flat: a load of malloc_bench, watched from outside; label soak: two hours of each.
set(memory_soak ${CMAKE_CURRENT_SOURCE_DIR}/memory_soak.sh)
set(memory_short_huge-resize --seconds 8 --warm-up 2)
set(memory_short_many-threads --seconds 8 --warm-up 2 --size 200)
set(memory_short_phases --seconds 24 --warm-up 6 --size 40) # a window has all phases
set(memory_short_server --seconds 12 --warm-up 3 --size 40 --quiet 1)

foreach(load huge-resize many-threads phases server)
    set(name soak.memory.${load}_stays_flat_for_two_hours)
    add_test(NAME ${name} COMMAND ${memory_soak} ${CMAKE_BINARY_DIR} ${load} --interval 5)
    set_tests_properties(${name} PROPERTIES LABELS soak TIMEOUT 9000)

    set(name preload.memory.${load}_stays_flat)
    add_test(NAME ${name} COMMAND ${memory_soak} ${CMAKE_BINARY_DIR} ${load} ${memory_short_${load}} --interval 0.2)
    set_tests_properties(${name} PROPERTIES LABELS preload TIMEOUT 120 ENVIRONMENT CIA_DECAY_MS=200)
endforeach()

# The watcher itself.
mplace_test_plugins(malloc_leak)
foreach(claim
        a_load_that_keeps_its_limits_passes
        each_limit_is_watched_and_named
        growth_after_the_warm_up_is_a_violation
        a_load_that_fails_is_told_with_its_words
        every_bad_argument_is_one_line_and_exit_2)
    add_test(NAME preload.memory_watch.${claim}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/memory_soak_test.sh ${memory_soak} ${CMAKE_BINARY_DIR} ${claim})
    set_tests_properties(preload.memory_watch.${claim} PROPERTIES LABELS preload TIMEOUT 120)
endforeach()
