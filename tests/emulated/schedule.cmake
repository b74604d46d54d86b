# Who runs when and where under the emulator: virtual processors, seeds, rates of switches, progress.
foreach(cpus 1 4 7 64)
    emulated_program(processors.${cpus} --cpus=${cpus} processors ${cpus})
endforeach()
emulated_program(futexes "" futexes)
foreach(seed 1 2)
    emulated_program(progress.${seed} --seed=${seed} progress)
endforeach()
foreach(cpus 1 2 8)
    emulated_program(progress.${cpus}_cpus --cpus=${cpus} progress)
endforeach()
emulated_run(options emulated 240 "" ${CMAKE_CURRENT_SOURCE_DIR}/options.sh)

add_executable(emulated_alternate alternate.c)
target_link_libraries(emulated_alternate PRIVATE pthread)
set_target_properties(emulated_alternate PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(claim the_same_seed_gives_the_same_interleaving another_seed_gives_another_interleaving
              what_was_before_a_seed_was_asked_for_leaves_no_trace
              switch_inside_sets_how_often_transactions_meet
              switch_outside_sets_how_often_plain_code_is_interleaved
              threads_of_one_processor_take_turns_by_time_slice
              a_thread_that_leaves_its_processor_aborts_and_nothing_meets_on_one_processor
              at_the_defaults_transactions_meet_now_and_then)
    emulated_run(schedule.${claim} emulated 240 "" ${CMAKE_CURRENT_SOURCE_DIR}/schedule.sh ${claim}
                 ${CMAKE_BINARY_DIR}/tests)
endforeach()

# Interleavings: a few seeds for every day, thousands by label soak.
# emulated_seeds(NAME SEEDS SEEDS_SOAK ENVIRONMENT OPTIONS COMMITS CONFLICTS PROGRAM...): so many
# committed transactions and conflicts a seed at least.
function(emulated_seeds name seeds seeds_soak environment options commits conflicts)
    foreach(label emulated soak)
        set(last ${seeds})
        set(timeout 240)
        if(label STREQUAL "soak")
            set(last ${seeds_soak})
            set(timeout 7200)
        endif()
        emulated_run(${name} ${label} ${timeout} "${environment}"
                     ${CMAKE_CURRENT_SOURCE_DIR}/seeds.sh 1 ${last} ${commits} ${conflicts} ${options} --
                     ${ARGN})
    endforeach()
endfunction()

# Of the sections of the threads at least half must have been transactions.
set(transfers 400)
function(emulated_transfers name seeds_soak options lock threads conflicts)
    set(preload "")
    if(lock STREQUAL "mutex")
        set(preload PRELOAD=$<TARGET_FILE:ttstle_lock>)
    endif()
    math(EXPR commits "${threads} * ${transfers} / 2")
    emulated_seeds(transfers.${name} 20 ${seeds_soak} "${preload}" "${options}" ${commits} ${conflicts}
                   $<TARGET_FILE:emulated_transfers> ${lock} ${threads} ${transfers})
endfunction()
foreach(threads 2 4 8)
    foreach(lock rtm mutex)
        emulated_transfers(${lock}.${threads}_threads 3000 "" ${lock} ${threads} ${threads})
    endforeach()
endforeach()
# A change of processor at nearly every block, and hardly ever; more threads than processors;
# interrupts; the other replacement.
emulated_transfers(rapid 1000 "--switch-inside=2;--switch-outside=3" rtm 4 100)
emulated_transfers(slow 1000 --switch-inside=5000 rtm 4 1)
emulated_transfers(crowded 1000 "--cpus=2;--timeslice=500" rtm 8 8)
emulated_transfers(interrupted 1000 --interrupt-rate=300 rtm 4 4)
emulated_transfers(tree 1000 "--l1d=64x4;--replacement=tree" rtm 4 4)

# Random programs on mutexes of all kinds, condition waits and cancellation among them, with an
# oracle: interleavings of elided sections with each other and with everything that ends one.
function(emulated_lock_random name policy options threads steps commits conflicts)
    emulated_seeds(lock_random.${name} 8 1000 "PRELOAD=$<TARGET_FILE:ttstle_lock>;TTSTLE_POLICY=${policy}"
                   "${options}" ${commits} ${conflicts}
                   $<TARGET_FILE:lock_random> ${threads} ${steps})
endfunction()
emulated_lock_random(adaptive adaptive "" 4 100 100 10)
emulated_lock_random(paper paper "" 4 100 100 10)
emulated_lock_random(rapid paper "--switch-inside=20;--switch-outside=20" 3 100 100 10)
emulated_lock_random(crowded adaptive "--cpus=2;--timeslice=500" 8 50 50 1)
