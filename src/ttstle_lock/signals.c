/*
 * SPDX-License-Identifier: MIT
 *
 * Signals, posts, and what has to wait for them. Inside a section that this thread elides a signal
 * or a post goes into its list (deferred.h) instead of to libc. Outside, with the lock held
 * physically, and without TTSTLE_DEFER=1, each function here is libc's and a branch.
 *
 * A deferred signal goes out as a broadcast. Between the commit and the signal another thread may
 * have begun to wait on the same condition variable, and libc could wake that one alone.
 *
 * Process-shared objects are never deferred: another process does not see the lists.
 */
#include "ttstle_lock/signals.h"

#include "base/real_symbol.h"
#include "base/settings.h"
#include "mutex/lock_core.h"
#include "ttstle_lock/elision/deferred.h"

#include <errno.h>
#include <semaphore.h>
#include <threads.h>

#define EXPORT __attribute__((visibility("default")))

enum function {
    INIT,
    SIGNAL,
    BROADCAST,
    DESTROY,
    SEM_POST,
    SEM_DESTROY,
    SEM_TRYWAIT,
    SEM_GETVALUE,
    SEM_TIMEDWAIT,
    SEM_CLOCKWAIT,
    FUNCTION_COUNT
};

/*
 * libc has two families of condition variables; since 2003 programs mean this one. A function of
 * this library stands for that of either family: so programs that mean the older one get this one
 * for all of them, pthread_cond_init too. The type has the same size.
 */
static const char condition_version[] = "GLIBC_2.3.2";

static const struct {
    const char *name;
    const char *version;
} names[FUNCTION_COUNT] = {
    [INIT] = {"pthread_cond_init", condition_version},
    [SIGNAL] = {"pthread_cond_signal", condition_version},
    [BROADCAST] = {"pthread_cond_broadcast", condition_version},
    [DESTROY] = {"pthread_cond_destroy", condition_version},
    [SEM_POST] = {"sem_post", NULL},
    [SEM_DESTROY] = {"sem_destroy", NULL},
    [SEM_TRYWAIT] = {"sem_trywait", NULL},
    [SEM_GETVALUE] = {"sem_getvalue", NULL},
    [SEM_TIMEDWAIT] = {"sem_timedwait", NULL},
    [SEM_CLOCKWAIT] = {"sem_clockwait", NULL},
};

/* Every thread finds the same address, and code needs no ordering: relaxed. */
static void *addresses[FUNCTION_COUNT];

static __attribute__((noinline, cold)) void *resolve(enum function function)
{
    void *address = real_symbol(names[function].name, names[function].version);

    __atomic_store_n(&addresses[function], address, __ATOMIC_RELAXED);
    return address;
}

static inline void *next(enum function function)
{
    void *address = __atomic_load_n(&addresses[function], __ATOMIC_RELAXED);

    return __builtin_expect(address != NULL, 1) ? address : resolve(function);
}

/* ---- what POSIX's functions and C11's are made of ---- */

/* glibc's ABI: a semaphore that processes share says so behind its value; a condition variable in
 * the lowest bit of this word. */
static inline bool semaphore_is_shared(const sem_t *semaphore)
{
    return ((const int *)semaphore)[2] != 0;
}
static_assert(sizeof(sem_t) == 32 && _Alignof(sem_t) >= 8, "glibc ABI; the bits of an entry");

static inline bool condition_is_shared(const pthread_cond_t *condition)
{
    return condition->__data.__wrefs & 1;
}
static_assert(_Alignof(pthread_cond_t) >= 8, "the bits of an entry");

/* False: libc's function is to be called. A full list ends the transaction. */
static __attribute__((noinline)) bool defer(const void *object, enum deferred_kind kind)
{
    unsigned list = elision_list_in_transaction();

    /* An address of other alignment is an error of the program's. */
    if (list == 0 || (uintptr_t)object % 8 != 0)
        return false;
    if (!deferred_add(list, object, kind))
        htm_abort_physical();
    return true;
}

static inline bool may_defer(void)
{
    return __builtin_expect(deferred_on, 0) && htm_active();
}

/* Returns when no signal or post that was made before is still to reach the object. */
static __attribute__((noinline)) void wait_for_deferred(const void *object)
{
    if (htm_active()) {
        if (deferred_is_pending(object))
            htm_abort_physical();
        return;
    }
    unsigned own = elision_list_of_thread();
    if (own != 0)
        deferred_drain(own); /* this may be a signal handler that came in between */
    deferred_wait(object, own);
}

static inline void wait_for_deferred_if_any(const void *object)
{
    if (__builtin_expect(deferred_on, 0))
        wait_for_deferred(object);
}

/* ---- condition variables ---- */

typedef int condition_function(pthread_cond_t *);

static int call_with_condition(enum function function, pthread_cond_t *condition)
{
    condition_function *call = (condition_function *)next(function);

    return call != NULL ? call(condition) : ENOSYS;
}

static inline int tell(enum function function, pthread_cond_t *condition)
{
    if (may_defer() && !condition_is_shared(condition) && defer(condition, DEFERRED_BROADCAST))
        return 0;
    return call_with_condition(function, condition);
}

EXPORT int pthread_cond_init(pthread_cond_t *restrict condition,
                             const pthread_condattr_t *restrict attributes)
{
    typedef int init_function(pthread_cond_t *, const pthread_condattr_t *);
    init_function *call = (init_function *)next(INIT);

    return call != NULL ? call(condition, attributes) : ENOSYS;
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition)
{
    return tell(SIGNAL, condition);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition)
{
    return tell(BROADCAST, condition);
}

EXPORT int pthread_cond_destroy(pthread_cond_t *condition)
{
    wait_for_deferred_if_any(condition);
    return call_with_condition(DESTROY, condition);
}

/* libc's are its POSIX functions, called inside libc, where no interposition reaches. */
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "libc casts one to the other as well");

EXPORT int cnd_signal(cnd_t *condition)
{
    return tell(SIGNAL, (pthread_cond_t *)condition) == 0 ? thrd_success : thrd_error;
}

EXPORT int cnd_broadcast(cnd_t *condition)
{
    return tell(BROADCAST, (pthread_cond_t *)condition) == 0 ? thrd_success : thrd_error;
}

EXPORT void cnd_destroy(cnd_t *condition)
{
    wait_for_deferred_if_any(condition);
    (void)call_with_condition(DESTROY, (pthread_cond_t *)condition);
}

/* ---- semaphores ---- */

typedef int semaphore_function(sem_t *);

static int fail(int error)
{
    errno = error;
    return -1;
}

static int call_with_semaphore(enum function function, sem_t *semaphore)
{
    semaphore_function *call = (semaphore_function *)next(function);

    return call != NULL ? call(semaphore) : fail(ENOSYS);
}

EXPORT int sem_post(sem_t *semaphore)
{
    if (may_defer() && !semaphore_is_shared(semaphore) && defer(semaphore, DEFERRED_POST))
        return 0;
    return call_with_semaphore(SEM_POST, semaphore);
}

EXPORT int sem_destroy(sem_t *semaphore)
{
    wait_for_deferred_if_any(semaphore);
    return call_with_semaphore(SEM_DESTROY, semaphore);
}

EXPORT int sem_trywait(sem_t *semaphore)
{
    wait_for_deferred_if_any(semaphore);
    return call_with_semaphore(SEM_TRYWAIT, semaphore);
}

EXPORT int sem_getvalue(sem_t *restrict semaphore, int *restrict value)
{
    wait_for_deferred_if_any(semaphore);
    int (*call)(sem_t *, int *) = (int (*)(sem_t *, int *))next(SEM_GETVALUE);
    return call != NULL ? call(semaphore, value) : fail(ENOSYS);
}

/* With a deadline that has passed these two are trywait. sem_wait waits for the post in libc. */
EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline)
{
    wait_for_deferred_if_any(semaphore);
    int (*call)(sem_t *, const struct timespec *) =
        (int (*)(sem_t *, const struct timespec *))next(SEM_TIMEDWAIT);
    return call != NULL ? call(semaphore, deadline) : fail(ENOSYS);
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock,
                         const struct timespec *restrict deadline)
{
    wait_for_deferred_if_any(semaphore);
    int (*call)(sem_t *, clockid_t, const struct timespec *) =
        (int (*)(sem_t *, clockid_t, const struct timespec *))next(SEM_CLOCKWAIT);
    return call != NULL ? call(semaphore, clock, deadline) : fail(ENOSYS);
}

/* ---- at start ---- */

static void carry_out(void *object, enum deferred_kind kind)
{
    if (kind == DEFERRED_POST)
        (void)call_with_semaphore(SEM_POST, object);
    else
        (void)call_with_condition(BROADCAST, object);
}

void signals_start(bool usable)
{
    for (int function = 0; function < FUNCTION_COUNT; function++)
        (void)resolve((enum function)function);
    deferred_start(setting_switch("TTSTLE_DEFER", 0) && usable, carry_out);
}

/* ---- fork ---- */

/*
 * The child gets the memory as it is now: a section of another thread that is in it is there with
 * its signals carried out. The handlers of the program's own, which take its locks, have run
 * before.
 */
void signals_before_fork(void)
{
    if (deferred_on)
        deferred_wait(NULL, elision_list_of_thread());
}

void signals_after_fork_in_child(void)
{
    if (deferred_on)
        deferred_after_fork(elision_list_of_thread());
}
