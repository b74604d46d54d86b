foreach(name cia_size_class_test cia_placement_test cia_subheap_test cia_magazine_test cia_compact_test cia_decay_test cia_huge_cache_test cia_huge_resize_test cia_waiting_test cia_huge_pages_test cia_populate_test)
    mplace_unit_test(${name} ${name}.c)
    target_link_libraries(${name} PRIVATE cia_objects)
    # Packed blocks have a test of their own, which sets this itself.
    set_tests_properties(unit.${name} PROPERTIES ENVIRONMENT CIA_LINES=exclusive)
    # Again with magazines under locks, as where there are no restartable sequences; ThreadSanitizer
    # has them under locks in any case.
    if("${MPLACE_SANITIZE}" MATCHES thread)
        continue()
    endif()
    add_test(NAME unit.${name}.under_locks COMMAND ${name})
    set_tests_properties(unit.${name}.under_locks PROPERTIES LABELS unit TIMEOUT ${MPLACE_UNIT_TIMEOUT}
                         ENVIRONMENT "CIA_RSEQ=0;CIA_LINES=exclusive")
endforeach()
# What holds whatever the lines are, and the bounds of packed blocks.
foreach(lines auto compact)
    foreach(name cia_placement_test cia_subheap_test)
        add_test(NAME unit.${name}.${lines} COMMAND ${name})
        set_tests_properties(unit.${name}.${lines} PROPERTIES LABELS unit TIMEOUT ${MPLACE_UNIT_TIMEOUT}
                             ENVIRONMENT CIA_LINES=${lines})
    endforeach()
endforeach()
mplace_unit_test(cia_memory_nodes_test cia_memory_nodes_test.c)
target_link_libraries(cia_memory_nodes_test PRIVATE cia_objects)
# ThreadSanitizer delivers a signal where that suits it.
if(NOT "${MPLACE_SANITIZE}" MATCHES thread)
    mplace_unit_test(cia_stopped_test cia_stopped_test.c)
    target_link_libraries(cia_stopped_test PRIVATE cia_objects)
    add_test(NAME unit.cia_stopped_test.under_locks COMMAND cia_stopped_test)
    set_tests_properties(unit.cia_stopped_test.under_locks PROPERTIES LABELS unit TIMEOUT ${MPLACE_UNIT_TIMEOUT} ENVIRONMENT CIA_RSEQ=0)
endif()
mplace_unit_test(cia_profile_test cia_profile_test.c)
target_link_libraries(cia_profile_test PRIVATE cia_objects)
