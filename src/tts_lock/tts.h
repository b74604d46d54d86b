/*
 * SPDX-License-Identifier: MIT
 *
 * The test-and-test-and-set lock on glibc's lock word (mutex/mutex_layout.h has its states). It is
 * the whole of libtts_lock.so and what libttstle_lock.so takes when it does not elide.
 *
 * Ordering: every successful take is an acquire, every release a release on the same word; that
 * pair, and nothing else here, makes one critical section visible to the next.
 */
#ifndef MPLACE_TTS_H
#define MPLACE_TTS_H

#include "mutex/mutex_layout.h"

#include <sys/single_threaded.h>
#include <time.h>

enum tts_wait {
    TTS_WAIT_SPIN,  /* look and PAUSE without bound, as in the paper */
    TTS_WAIT_YIELD, /* look and PAUSE for a while, then give the CPU away between looks */
    TTS_WAIT_PARK,  /* look and PAUSE for a while, then sleep on the futex */
};

/* Written by the library's constructor alone; before that, the default. */
extern enum tts_wait tts_wait __attribute__((visibility("hidden")));

/* Reads TTS_WAIT. */
void tts_read_settings(void);

/* "spin", "yield" or "park", for reports. */
const char *tts_wait_name(void);

/* Takes the lock, waiting as TTS_WAIT says; for after an attempt has failed. */
void tts_acquire_contended(pthread_mutex_t *mutex);

/* 0, ETIMEDOUT, or EINVAL for a deadline that is no time. */
int tts_acquire_contended_until(pthread_mutex_t *mutex, clockid_t clock,
                                const struct timespec *deadline);

/*
 * Waits until the word was seen free, without taking it. False: it waited as long as makes sense
 * without sleeping (TTS_WAIT_PARK only, and never when the wait is to be unbounded). Whoever sleeps
 * for a lock must take it, so the caller has to go on to tts_acquire_contended.
 */
bool tts_wait_until_free(pthread_mutex_t *mutex, bool unbounded);

/* Wakes one sleeper of a word that was freed. */
void tts_wake_one(int *word);

/*
 * One attempt, atomic whatever libc knows: threads made by clone and processes that share the
 * memory can race where libc counts one thread. libc's trylock, timed locks and adaptive mutexes
 * are so, and programs have come to rely on it; its plain lock is not.
 */
static inline bool tts_try_atomic(pthread_mutex_t *mutex)
{
    int expected = WORD_FREE;

    return __atomic_compare_exchange_n(mutex_word(mutex), &expected, WORD_HELD, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/*
 * One attempt. While libc knows of no second thread nobody can race, and plain loads and stores do;
 * the flag turns false before a second thread starts, and starting it orders what went before. That
 * path runs straight here and not in the release: so alone and beside other threads a lock and
 * unlock both cost less than libc's (bench/lockpair).
 */
static inline bool tts_try(pthread_mutex_t *mutex)
{
    int *word = mutex_word(mutex);

    if (__builtin_expect(__libc_single_threaded, 1)) {
        if (!mutex_is_free(mutex))
            return false;
        __atomic_store_n(word, WORD_HELD, __ATOMIC_RELAXED);
        return true;
    }
    return tts_try_atomic(mutex);
}

/*
 * The mutex may be destroyed and unmapped by the next holder as soon as the word reads free: after
 * the exchange only its address is used. Sleepers are woken under every TTS_WAIT, because libc
 * parks the waiters of condition variables on the word whatever we do.
 */
static inline void tts_release(pthread_mutex_t *mutex)
{
    int *word = mutex_word(mutex);

    if (__libc_single_threaded) {
        __atomic_store_n(word, WORD_FREE, __ATOMIC_RELEASE);
        return;
    }
    int before = __atomic_exchange_n(word, WORD_FREE, __ATOMIC_RELEASE);
    if (__builtin_expect(before == WORD_HELD_WITH_SLEEPERS, 0))
        tts_wake_one(word);
}

#endif
