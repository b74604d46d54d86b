/*
 * SPDX-License-Identifier: MIT
 *
 * See tm_handlers.h. The functions are pure: nothing in them is instrumented, and they touch
 * nothing but the runtime and a block of their own, which is freed if the transaction aborts.
 */
#include "tm_handlers.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The ABI of transactional memory: outside of transactions 0; no identifier of one 1. */
extern int _ITM_inTransaction(void);
extern void _ITM_addUserCommitAction(void (*)(void *), uint64_t, void *);
extern void _ITM_addUserUndoAction(void (*)(void *), void *);
enum { ITM_OUTSIDE = 0, ITM_NO_TRANSACTION_ID = 1 };

static void when_committed(void (*action)(void *), void *argument)
{
    if (_ITM_inTransaction() == ITM_OUTSIDE)
        action(argument);
    else
        _ITM_addUserCommitAction(action, ITM_NO_TRANSACTION_ID, argument);
}

static void post(void *semaphore)
{
    sem_post(semaphore);
}

void on_commit_post(sem_t *semaphore)
{
    when_committed(post, semaphore);
}

struct line {
    const char *text;
    unsigned long number;
};

static void print(void *argument)
{
    struct line *line = argument;

    fprintf(stderr, "%s %lu\n", line->text, line->number);
    free(line);
}

void on_commit_log(const char *text, unsigned long number)
{
    struct line *line = malloc(sizeof *line);

    if (line == NULL)
        return;
    *line = (struct line){text, number};
    if (_ITM_inTransaction() != ITM_OUTSIDE)
        _ITM_addUserUndoAction(free, line);
    when_committed(print, line);
}

void tm_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    abort();
}
