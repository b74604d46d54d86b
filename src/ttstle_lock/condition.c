/*
 * SPDX-License-Identifier: MIT
 *
 * Condition waits inside an elided section.
 *
 * To commit first and then wait with the lock taken physically would lose wake-ups: the section
 * read its predicate in the transaction, and between the commit and the acquisition another thread
 * may set it and find nobody to signal. So the transaction is aborted before libc sees the wait,
 * and the outermost section runs again with its lock taken. Outside a transaction the mutex is held
 * physically and libc's own function does it all: it releases and re-takes the word by the protocol
 * that we share. Each function here ends in a tail call: a cancelled waiter has no frame of ours.
 */
#include "ttstle_lock/condition.h"

#include "base/real_symbol.h"
#include "mutex/lock_core.h"

#include <errno.h>

typedef int wait_function(pthread_cond_t *, pthread_mutex_t *);
typedef int timedwait_function(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int clockwait_function(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                               const struct timespec *);

/* Every thread finds the same address, and code needs no ordering: relaxed. */
static wait_function *next_wait;
static timedwait_function *next_timedwait;
static clockwait_function *next_clockwait;

/* libc has two families of condition variables; since 2003 programs mean this one. */
static const char condition_version[] = "GLIBC_2.3.2";

static wait_function *resolve_wait(void)
{
    wait_function *function = (wait_function *)real_symbol("pthread_cond_wait", condition_version);

    __atomic_store_n(&next_wait, function, __ATOMIC_RELAXED);
    return function;
}

static timedwait_function *resolve_timedwait(void)
{
    timedwait_function *function =
        (timedwait_function *)real_symbol("pthread_cond_timedwait", condition_version);

    __atomic_store_n(&next_timedwait, function, __ATOMIC_RELAXED);
    return function;
}

static clockwait_function *resolve_clockwait(void)
{
    clockwait_function *function =
        (clockwait_function *)real_symbol("pthread_cond_clockwait", NULL);

    __atomic_store_n(&next_clockwait, function, __ATOMIC_RELAXED);
    return function;
}

void condition_resolve(void)
{
    (void)resolve_wait();
    (void)resolve_timedwait();
    (void)resolve_clockwait();
}

__attribute__((visibility("default"))) int pthread_cond_wait(pthread_cond_t *restrict condition,
                                                             pthread_mutex_t *restrict mutex)
{
    lock_core_leave_transaction();
    wait_function *function = __atomic_load_n(&next_wait, __ATOMIC_RELAXED);
    if (function == NULL)
        function = resolve_wait();
    return function(condition, mutex);
}

__attribute__((visibility("default"))) int
pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                       const struct timespec *restrict deadline)
{
    lock_core_leave_transaction();
    timedwait_function *function = __atomic_load_n(&next_timedwait, __ATOMIC_RELAXED);
    if (function == NULL)
        function = resolve_timedwait();
    return function(condition, mutex, deadline);
}

__attribute__((visibility("default"))) int
pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                       clockid_t clock, const struct timespec *restrict deadline)
{
    lock_core_leave_transaction();
    clockwait_function *function = __atomic_load_n(&next_clockwait, __ATOMIC_RELAXED);
    if (function == NULL)
        function = resolve_clockwait();
    return function != NULL ? function(condition, mutex, clock, deadline) : ENOTSUP;
}
