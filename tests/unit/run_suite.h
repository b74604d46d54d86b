/*
 * SPDX-License-Identifier: MIT
 *
 * The end of every unit test's main.
 */
#ifndef TESTS_UNIT_RUN_SUITE_H
#define TESTS_UNIT_RUN_SUITE_H

#include <check.h>

/* Runs all tests, each in a process of its own; returns what main returns. Frees the suite. */
static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

#endif
