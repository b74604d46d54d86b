# libcia_malloc.so in real processes: placement under the ring, exports.
foreach(geometry 64x8 64x12 128x16)
    add_test(NAME preload.the_ring_under_cia_covers_all_sets.${geometry}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cia_ring_test.sh $<TARGET_FILE:ring>
                     $<TARGET_FILE:cia_malloc> ${geometry})
    set_tests_properties(preload.the_ring_under_cia_covers_all_sets.${geometry}
                         PROPERTIES LABELS preload TIMEOUT 60)
endforeach()

add_test(NAME preload.cia_exports_the_malloc_family_and_nothing_else
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cia_exports_test.sh $<TARGET_FILE:cia_malloc>)
set_tests_properties(preload.cia_exports_the_malloc_family_and_nothing_else
                     PROPERTIES LABELS preload TIMEOUT 10)
add_test(NAME preload.cia_settings_are_honoured_or_named_in_one_line
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cia_settings_test.sh $<TARGET_FILE:cia_malloc>)
set_tests_properties(preload.cia_settings_are_honoured_or_named_in_one_line
                     PROPERTIES LABELS preload TIMEOUT 20)
