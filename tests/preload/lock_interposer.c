/*
 * SPDX-License-Identifier: MIT
 *
 * A library behind ours that interposes lock functions without a symbol version, as most do, and
 * counts the calls that reach it. lock_interposed.c asks for the number.
 */
#include <dlfcn.h>
#include <pthread.h>

int interposed_calls(void);

static int calls;

int interposed_calls(void)
{
    return calls;
}

static void *next(const char *name, const char *version)
{
    void *address = dlvsym(RTLD_NEXT, name, version);

    calls++;
    return address != NULL ? address : dlsym(RTLD_NEXT, name);
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    return ((int (*)(pthread_cond_t *, pthread_mutex_t *))next("pthread_cond_wait", "GLIBC_2.3.2"))(
        condition, mutex);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *deadline)
{
    return ((int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))next(
        "pthread_cond_timedwait", "GLIBC_2.3.2"))(condition, mutex, deadline);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return ((int (*)(pthread_mutex_t *))next("pthread_mutex_lock", "GLIBC_2.2.5"))(mutex);
}
