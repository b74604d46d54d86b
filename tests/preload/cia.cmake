# libcia_malloc.so in real processes: placement under the ring, exports.
# A ring of 64 sets never has as much as auto packs; with 128 sets it has twice the nodes.
foreach(run "64x8 exclusive" "64x12 exclusive" "128x16 exclusive" "64x8 auto" "64x12 auto")
    string(REPLACE " " ";" run "${run}")
    list(GET run 0 geometry)
    list(GET run 1 lines)
    set(name preload.the_ring_under_cia_covers_all_sets.${geometry}.${lines})
    add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cia_ring_test.sh $<TARGET_FILE:ring>
                                  $<TARGET_FILE:cia_malloc> ${geometry})
    set_tests_properties(${name} PROPERTIES LABELS preload TIMEOUT 60 ENVIRONMENT CIA_LINES=${lines})
endforeach()

add_test(NAME preload.cia_exports_the_malloc_family_and_nothing_else
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cia_exports_test.sh $<TARGET_FILE:cia_malloc>)
set_tests_properties(preload.cia_exports_the_malloc_family_and_nothing_else
                     PROPERTIES LABELS preload TIMEOUT 60)
add_test(NAME preload.cia_settings_are_honoured_or_named_in_one_line
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cia_settings_test.sh $<TARGET_FILE:cia_malloc>)
set_tests_properties(preload.cia_settings_are_honoured_or_named_in_one_line
                     PROPERTIES LABELS preload TIMEOUT 60)

# The library's own vfork.
add_executable(cia_vfork cia_vfork.c)
target_link_libraries(cia_vfork PRIVATE pthread)
set_target_properties(cia_vfork PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(claim "allocate;the_child_of_a_vfork_allocates_beside_the_parents_threads"
              "return;vfork_returns_in_the_child_and_then_in_the_parent"
              "fail;vfork_fails_as_the_kernel_says")
    list(GET claim 0 argument)
    list(GET claim 1 name)
    add_test(NAME preload.cia.${name} COMMAND cia_vfork ${argument})
    set_tests_properties(preload.cia.${name} PROPERTIES LABELS preload TIMEOUT 60
                         ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:cia_malloc>)
endforeach()

add_executable(cia_sandbox cia_sandbox.c)
target_compile_options(cia_sandbox PRIVATE -fno-builtin)
set_target_properties(cia_sandbox PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME preload.cia.a_program_that_may_open_no_file_any_more_has_memory COMMAND cia_sandbox)
set_tests_properties(preload.cia.a_program_that_may_open_no_file_any_more_has_memory
                     PROPERTIES LABELS preload TIMEOUT 60 SKIP_RETURN_CODE 77
                     ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:cia_malloc>)

# Where blocks lie on a machine of more memory nodes; skipped, with the reason, on others.
add_executable(cia_memory_nodes cia_memory_nodes.c)
target_compile_options(cia_memory_nodes PRIVATE -fno-builtin)
set_target_properties(cia_memory_nodes PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(claim "allocator;blocks_lie_on_the_node_of_the_cpu_that_called_malloc_whoever_touches_them"
              "reuse;blocks_freed_on_another_node_are_not_served_there"
              "policy;blocks_lie_where_the_memory_policy_says_as_under_numactl")
    list(GET claim 0 argument)
    list(GET claim 1 name)
    add_test(NAME preload.cia.${name} COMMAND cia_memory_nodes ${argument})
    set_tests_properties(preload.cia.${name} PROPERTIES LABELS preload TIMEOUT 60 SKIP_RETURN_CODE 77
                         ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:cia_malloc>)
endforeach()

# What mplace.h tells a program of the allocator, in each mode.
add_executable(cia_values cia_values.c)
target_compile_options(cia_values PRIVATE -fno-builtin)
target_link_libraries(cia_values PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(cia_values PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(setting CIA_LINES=exclusive CIA_LINES=compact CIA_LINES=auto CIA_RSEQ=0 CIA_HARDEN=1)
    set(name preload.cia.figures_by_name_and_the_length_of_a_class_are_right.${setting})
    add_test(NAME ${name} COMMAND cia_values)
    set_tests_properties(${name} PROPERTIES LABELS preload TIMEOUT 60
                         ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:cia_malloc>;${setting}")
endforeach()
