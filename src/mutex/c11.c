/*
 * SPDX-License-Identifier: MIT
 *
 * C11's mutexes as programs see them. libc's mtx_t is a pthread_mutex_t by another name, and libc's
 * mtx functions call its own mutex functions inside libc, where no interposition reaches.
 *
 * libc gives each mtx_t that is not recursive the kind of an explicit PTHREAD_MUTEX_NORMAL, which
 * must deadlock when it is locked twice. C11 leaves that undefined, so a mutex that comes in here
 * may be elided: the bit is taken out of the kind before anybody looks at it.
 *
 * mtx_init stays libc's: it writes the kind and nothing else, and knows best which. So does
 * cnd_init. The other cnd functions touch no mutex; they are in the library that has to see them:
 * ttstle_lock/condition.c has the waits, ttstle_lock/signals.c the rest.
 *
 * Translating the answers keeps the slow ways from being tail calls: these have a stack frame.
 */
#include "mutex/front.h"
#include "mutex/next_mutex.h"

#include <threads.h>

#define EXPORT __attribute__((visibility("default")))

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "libc casts one to the other as well");

static inline pthread_mutex_t *as_pthread(mtx_t *mutex)
{
    return (pthread_mutex_t *)mutex;
}

static inline unsigned kind_for_c11(const pthread_mutex_t *mutex)
{
    return mutex_kind(mutex) & ~(unsigned)KIND_NO_ELISION;
}

static __attribute__((noinline, cold)) int code_of_error(int error)
{
    switch (error) {
    case EBUSY:
        return thrd_busy;
    case ETIMEDOUT:
        return thrd_timedout;
    default:
        return thrd_error;
    }
}

static inline int code_of(int error)
{
    return __builtin_expect(error == 0, 1) ? thrd_success : code_of_error(error);
}

EXPORT void mtx_destroy(mtx_t *mutex)
{
    if (kind_is_ours(kind_for_c11(as_pthread(mutex))))
        (void)front_destroy(as_pthread(mutex));
    else
        (void)next_mutex_destroy(as_pthread(mutex));
}

EXPORT int mtx_lock(mtx_t *mutex)
{
    return code_of(front_lock(as_pthread(mutex), kind_for_c11(as_pthread(mutex))));
}

EXPORT int mtx_trylock(mtx_t *mutex)
{
    return code_of(front_trylock(as_pthread(mutex), kind_for_c11(as_pthread(mutex))));
}

EXPORT int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict deadline)
{
    unsigned kind = kind_for_c11(as_pthread(mutex));

    return code_of(kind_is_ours(kind) ? front_lock_until(as_pthread(mutex), kind, CLOCK_REALTIME,
                                                         deadline, FRONT_CALLER)
                                      : next_mutex_timedlock(as_pthread(mutex), deadline));
}

EXPORT int mtx_unlock(mtx_t *mutex)
{
    return code_of(front_unlock(as_pthread(mutex), kind_for_c11(as_pthread(mutex))));
}
