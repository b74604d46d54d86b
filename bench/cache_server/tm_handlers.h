/*
 * SPDX-License-Identifier: MIT
 *
 * What waits for the commit: outside of transactions it happens at once.
 */
#ifndef BENCH_CACHE_SERVER_TM_HANDLERS_H
#define BENCH_CACHE_SERVER_TM_HANDLERS_H

#include <semaphore.h>

__attribute__((transaction_pure)) void on_commit_post(sem_t *semaphore);

/* A line on standard error: the text, which must live on, and the number. Lines of transactions
   that commit at the same time may come in another order than these. */
__attribute__((transaction_pure)) void on_commit_log(const char *text, unsigned long number);

/* Ends the program at once: if the condition does not hold in an opaque transaction, then neither
   does it in an execution with locks. */
__attribute__((transaction_pure, noreturn)) void tm_fail(const char *condition, const char *file,
                                                         int line);

#endif
