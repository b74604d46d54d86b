/*
 * SPDX-License-Identifier: MIT
 *
 * What the programs about rwlocks and spin locks share: the kinds, and libc's own functions, which
 * a library in front of libc does not see when they are called by their addresses.
 */
#ifndef MPLACE_RWLOCK_CHECK_H
#define MPLACE_RWLOCK_CHECK_H

#include "lock_check.h"

#include <dlfcn.h>
#include <sched.h>

static const int rwlock_kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                                   PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};
enum { RWLOCK_KINDS = sizeof rwlock_kinds / sizeof rwlock_kinds[0] };

static inline void make_rwlock(pthread_rwlock_t *rwlock, int kind, int shared)
{
    pthread_rwlockattr_t attributes;

    CHECK_EQUAL(pthread_rwlockattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_rwlockattr_setkind_np(&attributes, kind), 0);
    CHECK_EQUAL(pthread_rwlockattr_setpshared(&attributes, shared), 0);
    CHECK_EQUAL(pthread_rwlock_init(rwlock, &attributes), 0);
    CHECK_EQUAL(pthread_rwlockattr_destroy(&attributes), 0);
}

/* A function of libc itself. */
static inline void *of_libc(const char *name)
{
    static void *libc;

    if (libc == NULL)
        libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    CHECK(libc != NULL);
    void *function = dlsym(libc, name);
    CHECK(function != NULL);
    return function;
}

/* Another thread's answers: it gives back at once what it gets. */
static inline void *try_to_read(void *rwlock)
{
    int error = pthread_rwlock_tryrdlock(rwlock);

    if (error == 0)
        CHECK_EQUAL(pthread_rwlock_unlock(rwlock), 0);
    return (void *)(long)error;
}

static inline void *try_to_write(void *rwlock)
{
    int error = pthread_rwlock_trywrlock(rwlock);

    if (error == 0)
        CHECK_EQUAL(pthread_rwlock_unlock(rwlock), 0);
    return (void *)(long)error;
}

static inline void check_free(pthread_rwlock_t *rwlock)
{
    CHECK_EQUAL((long)elsewhere(try_to_write, rwlock), 0);
}

static inline void check_read(pthread_rwlock_t *rwlock)
{
    CHECK_EQUAL((long)elsewhere(try_to_read, rwlock), 0);
    CHECK_EQUAL((long)elsewhere(try_to_write, rwlock), EBUSY);
}

static inline void check_written(pthread_rwlock_t *rwlock)
{
    CHECK_EQUAL((long)elsewhere(try_to_read, rwlock), EBUSY);
    CHECK_EQUAL((long)elsewhere(try_to_write, rwlock), EBUSY);
}

#endif
