/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for the tests: a lock library that calls itself ttstle, leaves the locking to
 * libc, and counts pthread_mutex_lock calls since the last reset. Its other counts are known
 * numbers.
 */
#include "mplace.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

static uint64_t acquisitions;
static int counting;

const char *mplace_lock_name(void)
{
    return "ttstle";
}

const char *mplace_lock_htm(void)
{
    return "native";
}

int mplace_lock_statistics(struct mplace_lock_statistics *out, size_t out_size)
{
    struct mplace_lock_statistics counts = {
        .acquisitions = acquisitions,
        .slow_path = 3,
        .tx_started = 40,
        .tx_committed = 5,
        .abort_conflict = 6,
        .abort_capacity = 7,
        .abort_explicit = 8,
        .abort_nested = 1,
        .abort_debug = 2,
        .abort_other = 10,
    };

    if (!counting)
        return ENODATA;
    memcpy(out, &counts, out_size < sizeof counts ? out_size : sizeof counts);
    return 0;
}

void mplace_lock_statistics_reset(void)
{
    acquisitions = 0;
    counting = 1;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int (*next)(pthread_mutex_t *);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    acquisitions++;
    return next(mutex);
}
