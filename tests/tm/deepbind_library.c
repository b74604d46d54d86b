/*
 * SPDX-License-Identifier: MIT
 *
 * A library that has a transaction and asks its runtime for it; for deepbind.c.
 */
#include "deepbind_library.h"

int _ITM_inTransaction(void) __attribute__((transaction_pure));

static long number;

int is_in_transaction(void)
{
    return _ITM_inTransaction() != 0;
}

long add_one(void)
{
    long now;

    __transaction_atomic
    {
        now = ++number;
    }
    return now;
}
