/*
 * SPDX-License-Identifier: MIT
 *
 * Programs refer to libc's mutex functions by the version that was libc's default when they were
 * linked. This one refers to each function by its oldest and its newest version. All of them are
 * one function: under a lock library the library's, and never one of each.
 */
#include "lock_check.h"

#include <dlfcn.h>
#include <threads.h>

/* extern declarations of the same type, bound to NAME@VERSION. */
#define VERSION(function, name, tag, version)                                                      \
    extern __typeof__(function) name##_##tag;                                                      \
    __asm__(".symver " #name "_" #tag ", " #name "@" version)

VERSION(pthread_mutex_init, pthread_mutex_init, old, "GLIBC_2.2.5");
VERSION(pthread_mutex_destroy, pthread_mutex_destroy, old, "GLIBC_2.2.5");
VERSION(pthread_mutex_lock, pthread_mutex_lock, old, "GLIBC_2.2.5");
VERSION(pthread_mutex_unlock, pthread_mutex_unlock, old, "GLIBC_2.2.5");
VERSION(pthread_mutex_trylock, pthread_mutex_trylock, old, "GLIBC_2.2.5");
VERSION(pthread_mutex_trylock, pthread_mutex_trylock, new, "GLIBC_2.34");
VERSION(pthread_mutex_timedlock, pthread_mutex_timedlock, old, "GLIBC_2.2.5");
VERSION(pthread_mutex_timedlock, pthread_mutex_timedlock, new, "GLIBC_2.34");
VERSION(pthread_mutex_clocklock, pthread_mutex_clocklock, old, "GLIBC_2.30");
VERSION(pthread_mutex_clocklock, pthread_mutex_clocklock, new, "GLIBC_2.34");
VERSION(pthread_mutex_consistent, pthread_mutex_consistent_np, old, "GLIBC_2.4");
VERSION(pthread_mutex_consistent, pthread_mutex_consistent, old, "GLIBC_2.12");
VERSION(pthread_mutex_consistent, pthread_mutex_consistent, new, "GLIBC_2.34");
VERSION(pthread_mutex_getprioceiling, pthread_mutex_getprioceiling, old, "GLIBC_2.4");
VERSION(pthread_mutex_getprioceiling, pthread_mutex_getprioceiling, new, "GLIBC_2.34");
VERSION(pthread_mutex_setprioceiling, pthread_mutex_setprioceiling, old, "GLIBC_2.4");
VERSION(pthread_mutex_setprioceiling, pthread_mutex_setprioceiling, new, "GLIBC_2.34");
VERSION(pthread_mutex_init, __pthread_mutex_init, old, "GLIBC_2.2.5");
VERSION(pthread_mutex_destroy, __pthread_mutex_destroy, old, "GLIBC_2.2.5");
VERSION(pthread_mutex_lock, __pthread_mutex_lock, old, "GLIBC_2.2.5");
VERSION(pthread_mutex_trylock, __pthread_mutex_trylock, old, "GLIBC_2.2.5");
VERSION(pthread_mutex_unlock, __pthread_mutex_unlock, old, "GLIBC_2.2.5");
VERSION(pthread_cond_init, pthread_cond_init, old, "GLIBC_2.2.5");
VERSION(pthread_cond_wait, pthread_cond_wait, old, "GLIBC_2.2.5");
VERSION(pthread_cond_signal, pthread_cond_signal, old, "GLIBC_2.2.5");
VERSION(pthread_cond_destroy, pthread_cond_destroy, old, "GLIBC_2.2.5");
VERSION(mtx_destroy, mtx_destroy, old, "GLIBC_2.28");
VERSION(mtx_destroy, mtx_destroy, new, "GLIBC_2.34");
VERSION(mtx_lock, mtx_lock, old, "GLIBC_2.28");
VERSION(mtx_lock, mtx_lock, new, "GLIBC_2.34");
VERSION(mtx_trylock, mtx_trylock, old, "GLIBC_2.28");
VERSION(mtx_trylock, mtx_trylock, new, "GLIBC_2.34");
VERSION(mtx_timedlock, mtx_timedlock, old, "GLIBC_2.28");
VERSION(mtx_timedlock, mtx_timedlock, new, "GLIBC_2.34");
VERSION(mtx_unlock, mtx_unlock, old, "GLIBC_2.28");
VERSION(mtx_unlock, mtx_unlock, new, "GLIBC_2.34");

/* The object that defines what the address is in. */
static const char *object_of(const void *address)
{
    Dl_info information;

    CHECK(dladdr(address, &information) != 0);
    return information.dli_fname;
}

#define ADDRESS(function)                                                                          \
    {                                                                                              \
#function, (const void *)(function)                                                        \
    }

static void check_that_one_object_has_them_all(void)
{
    const struct {
        const char *name;
        const void *address;
    } rows[] = {
        ADDRESS(pthread_mutex_init_old),
        ADDRESS(pthread_mutex_destroy_old),
        ADDRESS(pthread_mutex_lock_old),
        ADDRESS(pthread_mutex_unlock_old),
        ADDRESS(pthread_mutex_trylock_old),
        ADDRESS(pthread_mutex_trylock_new),
        ADDRESS(pthread_mutex_timedlock_old),
        ADDRESS(pthread_mutex_timedlock_new),
        ADDRESS(pthread_mutex_clocklock_old),
        ADDRESS(pthread_mutex_clocklock_new),
        ADDRESS(pthread_mutex_consistent_np_old),
        ADDRESS(pthread_mutex_consistent_old),
        ADDRESS(pthread_mutex_consistent_new),
        ADDRESS(pthread_mutex_getprioceiling_old),
        ADDRESS(pthread_mutex_getprioceiling_new),
        ADDRESS(pthread_mutex_setprioceiling_old),
        ADDRESS(pthread_mutex_setprioceiling_new),
        ADDRESS(__pthread_mutex_init_old),
        ADDRESS(__pthread_mutex_destroy_old),
        ADDRESS(__pthread_mutex_lock_old),
        ADDRESS(__pthread_mutex_trylock_old),
        ADDRESS(__pthread_mutex_unlock_old),
        ADDRESS(mtx_destroy_old),
        ADDRESS(mtx_destroy_new),
        ADDRESS(mtx_lock_old),
        ADDRESS(mtx_lock_new),
        ADDRESS(mtx_trylock_old),
        ADDRESS(mtx_trylock_new),
        ADDRESS(mtx_timedlock_old),
        ADDRESS(mtx_timedlock_new),
        ADDRESS(mtx_unlock_old),
        ADDRESS(mtx_unlock_new),
    };
    /* Under a lock library that library; else libc. */
    const void *anchor = dlsym(RTLD_DEFAULT, "mplace_lock_name");
    const char *object = object_of(anchor != NULL ? anchor : (const void *)pthread_barrier_wait);

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(object_of(rows[i].address), object) != 0) {
            dprintf(STDERR_FILENO, "%s is bound to %s, not to %s\n", rows[i].name,
                    object_of(rows[i].address), object);
            _exit(1);
        }
    }
}

/* Some of them work on the same mutex. */
static void *see_it_held(void *mutex)
{
    const struct timespec long_ago = {.tv_sec = 1};

    CHECK_EQUAL(pthread_mutex_trylock_old(mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_trylock_new(mutex), EBUSY);
    CHECK_EQUAL(__pthread_mutex_trylock_old(mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_timedlock_old(mutex, &long_ago), ETIMEDOUT);
    CHECK_EQUAL(pthread_mutex_timedlock_new(mutex, &long_ago), ETIMEDOUT);
    CHECK_EQUAL(pthread_mutex_clocklock_old(mutex, CLOCK_MONOTONIC, &long_ago), ETIMEDOUT);
    return NULL;
}

static void check_that_they_agree(void)
{
    int (*const locks[])(pthread_mutex_t *) = {pthread_mutex_lock_old, __pthread_mutex_lock_old,
                                               pthread_mutex_trylock_old,
                                               pthread_mutex_trylock_new};
    pthread_mutex_t mutex;

    CHECK_EQUAL(__pthread_mutex_init_old(&mutex, NULL), 0);
    for (unsigned i = 0; i < sizeof locks / sizeof locks[0]; i++) {
        CHECK_EQUAL(locks[i](&mutex), 0);
        elsewhere(see_it_held, &mutex);
        CHECK_EQUAL(__pthread_mutex_destroy_old(&mutex), EBUSY);
        CHECK_EQUAL(pthread_mutex_consistent_np_old(&mutex), EINVAL);
        CHECK_EQUAL(i % 2 ? pthread_mutex_unlock_old(&mutex) : __pthread_mutex_unlock_old(&mutex),
                    0);
    }
    CHECK_EQUAL(pthread_mutex_destroy_old(&mutex), 0);
}

static pthread_mutex_t mutex_of_condition = PTHREAD_MUTEX_INITIALIZER;
static bool is_set;

static void *set_it(void *condition)
{
    pthread_mutex_lock(&mutex_of_condition);
    is_set = true;
    CHECK_EQUAL(pthread_cond_signal_old(condition), 0);
    pthread_mutex_unlock(&mutex_of_condition);
    return NULL;
}

/* Of a program of before glibc 2.3.2, in memory that was used before. */
static void check_an_old_condition_variable(void)
{
    pthread_cond_t condition;
    pthread_t thread;

    memset(&condition, 0xa5, sizeof condition);
    CHECK_EQUAL(pthread_cond_init_old(&condition, NULL), 0);
    pthread_mutex_lock(&mutex_of_condition);
    CHECK_EQUAL(pthread_create(&thread, NULL, set_it, &condition), 0);
    while (!is_set)
        CHECK_EQUAL(pthread_cond_wait_old(&condition, &mutex_of_condition), 0);
    pthread_mutex_unlock(&mutex_of_condition);
    pthread_join(thread, NULL);
    CHECK_EQUAL(pthread_cond_destroy_old(&condition), 0);
}

int main(void)
{
    check_that_one_object_has_them_all();
    check_that_they_agree();
    check_an_old_condition_variable();
    return 0;
}
