/*
 * SPDX-License-Identifier: MIT
 *
 * One number that every transaction adds to: the least transaction that writes, and with several
 * threads nothing but conflicts.
 */
#include "workload.h"

#include <stddef.h>

static int64_t counter;

static int64_t create(uint64_t seed)
{
    (void)seed;
    return counter = 0;
}

static int operate(uint64_t key, unsigned percent)
{
    (void)key;
    (void)percent;
    __transaction_atomic
    {
        counter++;
    }
    return 1;
}

static const char *check(int64_t size)
{
    return counter == size ? NULL : "an addition was lost or made twice";
}

const struct workload workload_counter = {
    .name = "counter", .keys = 1, .create = create, .operate = operate, .check = check};
