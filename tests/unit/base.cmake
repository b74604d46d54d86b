mplace_unit_test(base_test base_test.c)
