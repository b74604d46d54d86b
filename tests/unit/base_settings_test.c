/*
 * SPDX-License-Identifier: MIT
 *
 * Which variables are settings. How each library takes their values is tested with the libraries.
 */
#include "base/settings.h"

#include "run_suite.h"

#include <check.h>
#include <stdlib.h>

START_TEST(a_variable_that_the_program_has_cleared_is_no_setting)
{
    ck_assert_ptr_nonnull(setting_text("PATH"));
    ck_assert_int_eq(clearenv(), 0);
    ck_assert_ptr_null(setting_text("PATH"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_settings");
    TCase *variables = tcase_create("variables");

    tcase_add_test(variables, a_variable_that_the_program_has_cleared_is_no_setting);
    suite_add_tcase(suite, variables);
    return run_suite(suite);
}
