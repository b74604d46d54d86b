/*
 * SPDX-License-Identifier: MIT
 *
 * A mutex and a condition variable of POSIX's or of C11's family, for programs that work with both.
 * Each is used by its own family's functions only. Answers are errno values for both; -1 is an
 * error of C11's, which has one for all.
 */
#ifndef MPLACE_LOCK_FAMILIES_H
#define MPLACE_LOCK_FAMILIES_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <threads.h>
#include <time.h>

struct either {
    bool is_c11;
    union {
        pthread_mutex_t posix;
        mtx_t c11;
    } mutex;
    union {
        pthread_cond_t posix;
        cnd_t c11;
    } condition;
};

static inline int errno_of_c11(int answer)
{
    return answer == thrd_success    ? 0
           : answer == thrd_busy     ? EBUSY
           : answer == thrd_timedout ? ETIMEDOUT
                                     : -1;
}

static inline int either_lock(struct either *either)
{
    return either->is_c11 ? errno_of_c11(mtx_lock(&either->mutex.c11))
                          : pthread_mutex_lock(&either->mutex.posix);
}

static inline int either_trylock(struct either *either)
{
    return either->is_c11 ? errno_of_c11(mtx_trylock(&either->mutex.c11))
                          : pthread_mutex_trylock(&either->mutex.posix);
}

static inline int either_unlock(struct either *either)
{
    return either->is_c11 ? errno_of_c11(mtx_unlock(&either->mutex.c11))
                          : pthread_mutex_unlock(&either->mutex.posix);
}

/* C11 knows the realtime clock only. */
static inline int either_lock_until(struct either *either, clockid_t clock,
                                    const struct timespec *deadline)
{
    if (either->is_c11)
        return errno_of_c11(mtx_timedlock(&either->mutex.c11, deadline));
    if (clock == CLOCK_REALTIME)
        return pthread_mutex_timedlock(&either->mutex.posix, deadline);
    return pthread_mutex_clocklock(&either->mutex.posix, clock, deadline);
}

static inline int either_wait(struct either *either)
{
    return either->is_c11 ? errno_of_c11(cnd_wait(&either->condition.c11, &either->mutex.c11))
                          : pthread_cond_wait(&either->condition.posix, &either->mutex.posix);
}

static inline int either_wait_until(struct either *either, clockid_t clock,
                                    const struct timespec *deadline)
{
    if (either->is_c11)
        return errno_of_c11(cnd_timedwait(&either->condition.c11, &either->mutex.c11, deadline));
    if (clock == CLOCK_REALTIME)
        return pthread_cond_timedwait(&either->condition.posix, &either->mutex.posix, deadline);
    return pthread_cond_clockwait(&either->condition.posix, &either->mutex.posix, clock, deadline);
}

static inline int either_signal(struct either *either)
{
    return either->is_c11 ? errno_of_c11(cnd_signal(&either->condition.c11))
                          : pthread_cond_signal(&either->condition.posix);
}

static inline int either_broadcast(struct either *either)
{
    return either->is_c11 ? errno_of_c11(cnd_broadcast(&either->condition.c11))
                          : pthread_cond_broadcast(&either->condition.posix);
}

#endif
