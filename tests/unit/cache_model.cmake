# The cache model of the emulator, natively.
mplace_unit_test(cache_model_test cache_model_test.c ${CMAKE_SOURCE_DIR}/sim/cache_model/cache_model.c)
target_include_directories(cache_model_test PRIVATE ${CMAKE_SOURCE_DIR}/sim)
# The emulator links it without a C library; the same rules here.
set_source_files_properties(${CMAKE_SOURCE_DIR}/sim/cache_model/cache_model.c
                            PROPERTIES COMPILE_OPTIONS -ffreestanding)
