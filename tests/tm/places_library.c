/*
 * SPDX-License-Identifier: MIT
 *
 * A transaction in a shared object, for run_test.sh.
 */
__attribute__((visibility("default"))) long in_library(void);
long in_library(void)
{
    static long count;
    long now;

    __transaction_atomic /* here is the library's transaction */
    {
        now = ++count;
    }
    return now;
}
