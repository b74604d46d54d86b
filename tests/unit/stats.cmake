mplace_unit_test(stats_units_test stats_units_test.c ${CMAKE_SOURCE_DIR}/src/stats_reader/units.c)
target_link_libraries(stats_units_test PRIVATE m)
