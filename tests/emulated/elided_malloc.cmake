# malloc and free inside elided sections, in the steady state and growing: who aborts whom, and where.
add_executable(emulated_elided_malloc elided_malloc.c)
target_link_libraries(emulated_elided_malloc PRIVATE mplace_avl mplace_harness pthread)
# A function that is called for the first time inside a transaction must not be looked up there.
target_link_options(emulated_elided_malloc PRIVATE -Wl,-z,now)
set_target_properties(emulated_elided_malloc PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                        ${CMAKE_BINARY_DIR}/tests)
foreach(how alternate random)
    foreach(cpus 4 8)
        foreach(size 64 500 1024 4096)
            emulated_run(malloc_and_free_abort_nothing.${how}.${size}_bytes.${cpus}_cpus emulated 240 ""
                         /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/elided_malloc.py
                         $<TARGET_FILE:emulated_elided_malloc> $<TARGET_FILE:ttstle_lock>
                         $<TARGET_FILE:cia_malloc> ${how} ${cpus} 4096 ${size} 6000 1)
        endforeach()
    endforeach()
endforeach()
foreach(size 64 500 1024 4096)
    emulated_run(first_touch_of_a_block_aborts_nothing.${size}_bytes emulated 240 ""
                 /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/elided_malloc.py
                 $<TARGET_FILE:emulated_elided_malloc> $<TARGET_FILE:ttstle_lock>
                 $<TARGET_FILE:cia_malloc> grow 8 1000000 ${size} 3000 1)
endforeach()
