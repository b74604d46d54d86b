# The cache models of the emulator and of the doctor, natively.
mplace_unit_test(cache_model_test cache_model_test.c ${CMAKE_SOURCE_DIR}/sim/cache_model/cache_model.c)
mplace_unit_test(full_lru_test full_lru_test.c ${CMAKE_SOURCE_DIR}/sim/cache_model/full_lru.c
                 ${CMAKE_SOURCE_DIR}/sim/cache_model/cache_model.c)
foreach(test cache_model_test full_lru_test)
    target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/sim)
endforeach()
# The emulator links them without a C library; the same rules here.
set_source_files_properties(${CMAKE_SOURCE_DIR}/sim/cache_model/cache_model.c
                            ${CMAKE_SOURCE_DIR}/sim/cache_model/full_lru.c
                            PROPERTIES COMPILE_OPTIONS -ffreestanding)
