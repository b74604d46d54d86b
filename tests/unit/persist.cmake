# The power cut is modelled over the library's sources, with a recorder in place of persistence.c and rules
# that can be taken out.
set(persist ${CMAKE_SOURCE_DIR}/src/persist)
set(recorded persist_recorder.c ${CMAKE_SOURCE_DIR}/sim/powercut/power_cut.c ${persist}/error.c ${persist}/heap.c ${persist}/log.c ${persist}/recovery.c
             ${persist}/region.c ${persist}/transaction.c ${persist}/write_set.c)
mplace_unit_test(persist_power_cut_test persist_power_cut_test.c ${recorded})
mplace_unit_test(persist_write_error_test persist_write_error_test.c ${recorded})
target_compile_definitions(persist_power_cut_test PRIVATE PERSIST_MUTANTS)
foreach(test persist_power_cut_test persist_write_error_test)
    target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/sim ${CMAKE_SOURCE_DIR}/bench)
endforeach()

add_test(NAME soak.persist_power_cut_test.a_hundred_thousand_images COMMAND persist_power_cut_test)
set_tests_properties(soak.persist_power_cut_test.a_hundred_thousand_images PROPERTIES LABELS soak TIMEOUT 3600
                     ENVIRONMENT "PERSIST_IMAGES=100000;CK_FORK=no;CK_DEFAULT_TIMEOUT=0")

foreach(test persist_test persist_errors_test persist_threads_test)
    mplace_unit_test(${test} ${test}.c)
    target_link_libraries(${test} PRIVATE persist_objects)
endforeach()

mplace_unit_test(persist_workloads_test persist_workloads_test.c)
target_link_libraries(persist_workloads_test PRIVATE mplace_persist_workloads persist_objects)

add_test(NAME soak.persist_threads_test.a_thousand_killed_processes COMMAND persist_threads_test)
set_tests_properties(soak.persist_threads_test.a_thousand_killed_processes PROPERTIES LABELS soak TIMEOUT 3600
                     ENVIRONMENT "PERSIST_KILLS=1000;CK_DEFAULT_TIMEOUT=0")
