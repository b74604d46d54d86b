# Maps of addresses to banks, and the search for them on a simulated memory.
mplace_unit_test(dram_map_test dram_map_test.c)
target_link_libraries(dram_map_test PRIVATE mplace_dram_map)
mplace_unit_test(dram_solver_test dram_solver_test.c)
target_link_libraries(dram_solver_test PRIVATE mplace_dram_search)
mplace_unit_test(dram_search_test dram_search_test.c)
target_link_libraries(dram_search_test PRIVATE mplace_dram_search)
