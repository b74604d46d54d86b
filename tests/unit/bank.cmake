# The pool is built from its sources, with the rules that its test can take out.
set(bank ${CMAKE_SOURCE_DIR}/src/bank_malloc)
mplace_unit_test(bank_pool_test bank_pool_test.c ${bank}/pool/bit_index.c ${bank}/pool/pool.c ${bank}/pool/runs.c)
target_compile_definitions(bank_pool_test PRIVATE BANK_POOL_MUTANTS)

add_test(NAME soak.bank_pool_test.ten_million_steps COMMAND bank_pool_test)
set_tests_properties(soak.bank_pool_test.ten_million_steps PROPERTIES LABELS soak TIMEOUT 3600
                     ENVIRONMENT "BANK_POOL_STEPS=10000000;CK_FORK=no;CK_DEFAULT_TIMEOUT=0")

mplace_unit_test(bank_parts_test bank_parts_test.c)
target_link_libraries(bank_parts_test PRIVATE bank_objects)
