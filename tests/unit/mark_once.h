/*
 * SPDX-License-Identifier: MIT
 *
 * Included before everything else in each unit test. To tell where a test crashed, Check writes the
 * place of every assertion that holds to a file, a system call each. Here an assertion does so the
 * first time alone, for loops have a million of them: "after this point" is then the last place
 * that the test came to anew.
 */
#ifndef TESTS_UNIT_MARK_ONCE_H
#define TESTS_UNIT_MARK_ONCE_H

#include <check.h>
#include <stdbool.h>

#define MARK_ONCE(marked, file, line)                                                              \
    ({                                                                                             \
        static bool marked;                                                                        \
        if (!__atomic_load_n(&marked, __ATOMIC_RELAXED)) {                                         \
            __atomic_store_n(&marked, true, __ATOMIC_RELAXED);                                     \
            (_mark_point)(file, line);                                                             \
        }                                                                                          \
    })
/* Names of their own, for an assertion may be in another's expression. */
#define MARK_NAME(number)                  marked_##number
#define MARK_ONCE_HERE(number, file, line) MARK_ONCE(MARK_NAME(number), file, line)
#define _mark_point(file, line)            MARK_ONCE_HERE(__COUNTER__, file, line)

#endif
