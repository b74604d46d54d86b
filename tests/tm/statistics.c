/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions whose numbers are known: what statistics_test.sh compares TM_STATS with.
 */
#include <pthread.h>
#include <stdint.h>

static long value, calls;

__attribute__((noinline)) void unsafe_work(void);
__attribute__((noinline)) void unsafe_work(void)
{
    __asm__ volatile("" ::: "memory");
    calls++;
}

__attribute__((transaction_callable, noinline)) void forces_a_switch(long turn);
__attribute__((transaction_callable, noinline)) void forces_a_switch(long turn)
{
    if (turn % 10 == 3)
        unsafe_work();
}

/* 200 transactions, of which 20 switch in flight. */
__attribute__((noinline)) void switching(void);
__attribute__((noinline)) void switching(void)
{
    for (long turn = 0; turn < 200; turn++) {
        __transaction_relaxed
        {
            value++;
            forces_a_switch(turn);
        }
    }
}

/* 30, which cannot run but in serial mode. */
__attribute__((noinline)) void serial_from_start(void);
__attribute__((noinline)) void serial_from_start(void)
{
    for (long turn = 0; turn < 30; turn++) {
        __transaction_relaxed
        {
            unsafe_work();
        }
    }
}

/* 50, of which 25 are cancelled. */
__attribute__((noinline)) void cancelling(void);
__attribute__((noinline)) void cancelling(void)
{
    for (long turn = 0; turn < 50; turn++) {
        __transaction_atomic
        {
            value += 2;
            if (turn % 2 == 0)
                __transaction_cancel;
        }
    }
}

static void *all(void *nothing)
{
    switching();
    serial_from_start();
    cancelling();
    return nothing;
}

int main(void)
{
    pthread_t thread;

    all(NULL);
    pthread_create(&thread, NULL, all, NULL);
    pthread_join(thread, NULL);
    return !(value == 2 * (200 + 2 * 25) && calls == 2 * (20 + 30));
}
