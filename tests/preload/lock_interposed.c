/*
 * SPDX-License-Identifier: MIT
 *
 * What our libraries leave to the next one goes to the next one, not past it to libc: condition
 * waits, and mutexes that are not ours. Runs with lock_interposer.c's library preloaded, alone and
 * behind ours.
 */
#include "lock_check.h"

#include <dlfcn.h>

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int (*calls)(void);

static void condition_waits_reach_an_interposer_behind(void)
{
    static const struct timespec long_ago = {.tv_sec = 1};

    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    int before = calls();
    CHECK_EQUAL(pthread_cond_timedwait(&condition, &mutex, &long_ago), ETIMEDOUT);
    CHECK_EQUAL(calls(), before + 1);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(pthread_cond_wait(&condition, &mutex), EPERM);
    CHECK_EQUAL(calls(), before + 2);
}

static void mutexes_left_to_libc_reach_an_interposer_behind(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t robust;

    CHECK_EQUAL(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
    CHECK_EQUAL(pthread_mutex_init(&robust, &attributes), 0);
    int before = calls();
    CHECK_EQUAL(pthread_mutex_lock(&robust), 0);
    CHECK_EQUAL(calls(), before + 1);
    CHECK_EQUAL(pthread_mutex_unlock(&robust), 0);
}

int main(void)
{
    calls = (int (*)(void))dlsym(RTLD_DEFAULT, "interposed_calls");
    CHECK(calls != NULL);
    condition_waits_reach_an_interposer_behind();
    mutexes_left_to_libc_reach_an_interposer_behind();
    return 0;
}
