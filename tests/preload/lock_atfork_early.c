/*
 * SPDX-License-Identifier: MIT
 *
 * A library whose constructor runs before that of any preloaded library, as those of all libraries
 * do that a program is linked with: its child handler of fork is the first to run. Part of
 * lock_atfork.c, which says what is promised.
 */
#include "lock_check.h"

#include "lock_atfork_early.h"

static pthread_mutex_t across = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t early_error_check = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
pthread_mutex_t early_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void lock_both(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&early_error_check), 0);
    CHECK_EQUAL(early_error_check.__data.__owner, gettid());
    CHECK_EQUAL(pthread_mutex_lock(&early_error_check), EDEADLK);
    CHECK_EQUAL(pthread_mutex_lock(&early_recursive), 0);
    CHECK_EQUAL(early_recursive.__data.__owner, gettid());
    CHECK_EQUAL(pthread_mutex_lock(&early_recursive), 0);
}

static void before(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&across), 0);
    CHECK_EQUAL(pthread_mutex_lock(&across), 0);
}

static void in_parent(void)
{
    CHECK_EQUAL(pthread_mutex_unlock(&across), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&across), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&across), EPERM);
    lock_both();
}

static void in_child(void)
{
    /* It belongs to the thread that locked it, which is not in this process. */
    CHECK_EQUAL(pthread_mutex_unlock(&across), EPERM);
    CHECK_EQUAL(pthread_mutex_trylock(&across), EBUSY);
    CHECK_EQUAL(pthread_mutex_init(&across, NULL), 0);
    lock_both();
}

__attribute__((constructor)) static void start(void)
{
    CHECK_EQUAL(pthread_atfork(before, in_parent, in_child), 0);
}
