/*
 * SPDX-License-Identifier: MIT
 *
 * What the unit tests of the front with the elision core share: two mutexes and what to see in
 * them. The back end is scripted (mutex_fake_htm.h says how aborts are played); the functions under
 * test are the interposed ones, renamed by macros: in these tests each pthread_mutex_* and each
 * condition wait is ours.
 */
#ifndef MPLACE_MUTEX_ELISION_FIXTURE_H
#define MPLACE_MUTEX_ELISION_FIXTURE_H

#include "mutex/mutex_layout.h"
#include "mutex/thread_id.h"
#include "mutex_fake_htm.h"
#include "tts_lock/tts.h"
#include "ttstle_lock/elision/elision.h"

#include <check.h>
#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#define BUSY     FAKE_EXPLICIT(HTM_CODE_BUSY)
#define PHYSICAL FAKE_EXPLICIT(HTM_CODE_PHYSICAL)

static pthread_mutex_t a, b;
static const struct timespec long_ago = {.tv_sec = 1};

/* Two more in a page of their own. While it is protected, a write to either ends the test. */
static union {
    pthread_mutex_t mutexes[2];
    char bytes[4096];
} page __attribute__((aligned(4096)));

static inline void page_protect(void)
{
    ck_assert_int_eq(mprotect(&page, sizeof page, PROT_READ), 0);
}

/* Before each test: two free mutexes, policy paper, every transaction starts. */
static inline void fresh(void)
{
    a = b = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    tts_wait = TTS_WAIT_PARK;
    elision_policy = POLICY_PAPER;
    fake_script(NULL, 0);
}

static inline void fresh_adaptive(void)
{
    fresh();
    elision_policy = POLICY_ADAPTIVE;
}

static inline pthread_mutex_t made(int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;

    ck_assert_int_eq(pthread_mutexattr_init(&attributes), 0);
    ck_assert_int_eq(pthread_mutexattr_settype(&attributes, type), 0);
    ck_assert_int_eq(pthread_mutex_init(&mutex, &attributes), 0);
    ck_assert_int_eq(pthread_mutexattr_destroy(&attributes), 0);
    return mutex;
}

/* All that libc and other threads can see of it says free. */
static inline void check_untouched(const pthread_mutex_t *mutex)
{
    ck_assert_int_eq(__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED), 0);
    ck_assert_int_eq(mutex->__data.__owner, 0);
    ck_assert_uint_eq(mutex->__data.__nusers, 0);
    ck_assert_uint_eq(mutex->__data.__count, 0);
}

static inline void check_held_physically(const pthread_mutex_t *mutex)
{
    ck_assert_int_ne(mutex->__data.__lock, 0);
    ck_assert_int_eq(mutex->__data.__owner, thread_id());
    ck_assert_uint_eq(mutex->__data.__nusers, 1);
}

static inline void somebody_takes_a(void)
{
    __atomic_store_n(mutex_word(&a), WORD_HELD, __ATOMIC_RELEASE);
}

static inline void somebody_takes_b(void)
{
    __atomic_store_n(mutex_word(&b), WORD_HELD, __ATOMIC_RELEASE);
}

#endif
