/*
 * SPDX-License-Identifier: MIT
 *
 * Store last: the same work commits or aborts by the order of one store and many loads. A line that
 * was written must stay in the first-level cache until the end, and loads that come after the store
 * push it out; loads before it do not matter, for what was only read may leave.
 */
#include "transaction.h"

static volatile uint8_t table[256 * 1024] __attribute__((aligned(64)));
static volatile long sum;

static inline __attribute__((always_inline)) void load_all(void)
{
    for (size_t i = 0; i < sizeof(table); i += 64)
        (void)table[i];
}

static int store_first(void)
{
    int status = begin();

    if (status == STARTED) {
        sum = 1;
        load_all();
        end();
    }
    return status;
}

static int store_last(void)
{
    int status = begin();

    if (status == STARTED) {
        load_all();
        sum = 1;
        end();
    }
    return status;
}

int main(void)
{
    int first = 0, last = 0;

    need_transactions();
    memset((void *)table, 1, sizeof(table)); /* the pages are there before the first transaction */
    sum = 0;
    for (int i = 0; i < attempts() && (first & CAUSES) != CAPACITY; i++)
        first = store_first();
    for (int i = 0; i < attempts() && last != STARTED; i++)
        last = store_last();
    EXPECT_EQUAL(first & CAUSES, CAPACITY);
    EXPECT_EQUAL(last, STARTED);
    puts("store first: aborted for capacity; store last: committed");
    return 0;
}
