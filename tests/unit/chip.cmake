# The simulated machine. Built from its sources, as the presets with sanitizers build nothing of sim.
set(chip ${CMAKE_SOURCE_DIR}/sim/chip)
file(GLOB_RECURSE chip_sources CONFIGURE_DEPENDS ${chip}/*/*.c)
add_library(chip_under_test STATIC ${chip_sources})
# With the rules that the tester can take out; without a finding they are what is shipped.
add_library(chip_with_mutants STATIC ${chip_sources})
target_compile_definitions(chip_with_mutants PUBLIC CHIP_MUTANTS)
foreach(library chip_under_test chip_with_mutants)
    target_include_directories(${library} PUBLIC ${CMAKE_SOURCE_DIR}/sim)
    target_compile_options(${library} PRIVATE -O2)
endforeach()

foreach(test chip_dram_rules_test chip_power_cut_test chip_sharing_test chip_tester_test)
    mplace_unit_test(${test} ${test}.c)
    target_link_libraries(${test} PRIVATE chip_with_mutants)
endforeach()

foreach(test chip_caches_test chip_counts_test chip_dram_test chip_filter_test chip_memory_test
        chip_parts_test chip_persistence_test chip_replay_test)
    mplace_unit_test(${test} ${test}.c)
    target_link_libraries(${test} PRIVATE chip_under_test)
endforeach()
target_sources(chip_caches_test PRIVATE ${CMAKE_SOURCE_DIR}/sim/cache_model/cache_model.c)
foreach(test chip_dram_test chip_dram_rules_test chip_memory_test)
    target_compile_definitions(${test} PRIVATE CHIP_PARTS="${chip}/machines/parts")
endforeach()
foreach(test chip_persistence_test chip_power_cut_test)
    target_compile_definitions(${test} PRIVATE CHIP_MACHINES="${chip}/machines")
endforeach()

# A million power cuts for each protocol, 15 seconds each.
add_test(NAME soak.chip_power_cuts COMMAND chip_power_cut_test)
set_tests_properties(soak.chip_power_cuts PROPERTIES LABELS soak TIMEOUT 7200 ENVIRONMENT
    "CHIP_POWER_CUTS=1000000;CK_FORK=no;CK_DEFAULT_TIMEOUT=0")
