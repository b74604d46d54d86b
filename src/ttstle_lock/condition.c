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
#include <threads.h>

typedef int wait_function(pthread_cond_t *, pthread_mutex_t *);
typedef int timedwait_function(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int clockwait_function(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                               const struct timespec *);
typedef int cnd_wait_function(cnd_t *, mtx_t *);
typedef int cnd_timedwait_function(cnd_t *, mtx_t *, const struct timespec *);

/* Every thread finds the same address, and code needs no ordering: relaxed. */
static wait_function *next_wait;
static timedwait_function *next_timedwait;
static clockwait_function *next_clockwait;
static cnd_wait_function *next_cnd_wait;
static cnd_timedwait_function *next_cnd_timedwait;

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

static cnd_wait_function *resolve_cnd_wait(void)
{
    cnd_wait_function *function = (cnd_wait_function *)real_symbol("cnd_wait", NULL);

    __atomic_store_n(&next_cnd_wait, function, __ATOMIC_RELAXED);
    return function;
}

static cnd_timedwait_function *resolve_cnd_timedwait(void)
{
    cnd_timedwait_function *function = (cnd_timedwait_function *)real_symbol("cnd_timedwait", NULL);

    __atomic_store_n(&next_cnd_timedwait, function, __ATOMIC_RELAXED);
    return function;
}

void condition_resolve(void)
{
    (void)resolve_wait();
    (void)resolve_timedwait();
    (void)resolve_clockwait();
    (void)resolve_cnd_wait();
    (void)resolve_cnd_timedwait();
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

/* ---- C11: libc's go to its waits by a call inside libc, so they would get past those above ----
 */

__attribute__((visibility("default"))) int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    lock_core_leave_transaction();
    cnd_wait_function *function = __atomic_load_n(&next_cnd_wait, __ATOMIC_RELAXED);
    if (function == NULL)
        function = resolve_cnd_wait();
    return function(condition, mutex);
}

__attribute__((visibility("default"))) int cnd_timedwait(cnd_t *restrict condition,
                                                         mtx_t *restrict mutex,
                                                         const struct timespec *restrict deadline)
{
    lock_core_leave_transaction();
    cnd_timedwait_function *function = __atomic_load_n(&next_cnd_timedwait, __ATOMIC_RELAXED);
    if (function == NULL)
        function = resolve_cnd_timedwait();
    return function(condition, mutex, deadline);
}
