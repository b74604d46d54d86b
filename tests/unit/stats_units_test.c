/*
 * SPDX-License-Identifier: MIT
 *
 * Numbers as people read them: three digits, the unit changes where a fourth would begin.
 */
#include "stats_reader/units.h"

#include "run_suite.h"

#include <check.h>

START_TEST(lengths_are_in_powers_of_1024)
{
    ck_assert_str_eq(units_bytes(0).text, "0 B");
    ck_assert_str_eq(units_bytes(1023).text, "1023 B");
    ck_assert_str_eq(units_bytes(1024).text, "1.00 KiB");
    ck_assert_str_eq(units_bytes(9.996 * 1024).text, "10.0 KiB");
    ck_assert_str_eq(units_bytes(99.96 * 1024).text, "100 KiB");
    ck_assert_str_eq(units_bytes(1023.4 * 1024).text, "1023 KiB");
    ck_assert_str_eq(units_bytes(1023.6 * 1024).text, "1.00 MiB");
    ck_assert_str_eq(units_bytes(3.5 * (1ull << 40)).text, "3.50 TiB");
}
END_TEST

START_TEST(a_change_has_a_sign_unless_there_is_none)
{
    ck_assert_str_eq(units_change(0).text, "0 B");
    ck_assert_str_eq(units_change(64).text, "+64 B");
    ck_assert_str_eq(units_change(-2048).text, "-2.00 KiB");
    ck_assert_str_eq(units_bytes(-2048).text, "-2.00 KiB");
}
END_TEST

START_TEST(counts_are_in_powers_of_1000)
{
    ck_assert_str_eq(units_count(0).text, "0");
    ck_assert_str_eq(units_count(0.4).text, "0.4");
    ck_assert_str_eq(units_count(7).text, "7");
    ck_assert_str_eq(units_count(12.6).text, "13");
    ck_assert_str_eq(units_count(999.4).text, "999");
    ck_assert_str_eq(units_count(999.6).text, "1.00 k");
    ck_assert_str_eq(units_count(12345678).text, "12.3 M");
    ck_assert_str_eq(units_count(1.8e19).text, "18.0 E");
}
END_TEST

START_TEST(times_are_microseconds_milliseconds_or_seconds)
{
    ck_assert_str_eq(units_time(0).text, "0 s");
    ck_assert_str_eq(units_time(12e-6).text, "12.0 us");
    ck_assert_str_eq(units_time(999.6e-6).text, "1.00 ms");
    ck_assert_str_eq(units_time(0.0034).text, "3.40 ms");
    ck_assert_str_eq(units_time(0.9996).text, "1.00 s");
    ck_assert_str_eq(units_time(350).text, "350 s");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("units");
    TCase *tests = tcase_create("units");

    tcase_add_test(tests, lengths_are_in_powers_of_1024);
    tcase_add_test(tests, a_change_has_a_sign_unless_there_is_none);
    tcase_add_test(tests, counts_are_in_powers_of_1000);
    tcase_add_test(tests, times_are_microseconds_milliseconds_or_seconds);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
