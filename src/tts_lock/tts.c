/*
 * SPDX-License-Identifier: MIT
 *
 * Waiting for a held lock; see tts.h.
 *
 * No wake-up is lost: a thread sleeps only after it stored 2 and only while the word is still 2,
 * whoever frees a word of 2 wakes one sleeper, and that one stores 2 again when it takes the lock,
 * for the sake of the others. A thread that never slept may take the word with 1 between the free
 * and the woken thread's exchange; that exchange then puts the 2 back before it sleeps again.
 */
#include "tts_lock/tts.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/probes.h"
#include "base/settings.h"
#include "base/spin.h"
#include "tts_lock/spin_budget.h"

#include <errno.h>
#include <sched.h>

enum {
    /*
     * The most PAUSEs between two looks. Each look takes the line away from the holder, who is
     * about to write it; with a section of a few nanoseconds the looks are then what it costs.
     * Eight PAUSEs are 0.1 us on Zen and 0.4 us on Intel since Skylake: so much later than free may
     * a waiter see the lock.
     */
    PAUSES_BETWEEN_READS = 8,
    /*
     * Looks before a thread that would rather elide gives up and sleeps: sleeping costs it, and
     * those queued behind it, the elision of this section, so it is worth a longer spin.
     */
    SPINS_FOR_ELISION = 400,
    /* Looks between two readings of the clock, about 20 ns each; but between two looks with
       TTS_WAIT=yield all other threads of the CPU may run. */
    LOOKS_A_CLOCK_READING = 16,
};

static const char *const wait_names[] = {
    [TTS_WAIT_SPIN] = "spin",
    [TTS_WAIT_YIELD] = "yield",
    [TTS_WAIT_PARK] = "park",
};

enum tts_wait tts_wait = TTS_WAIT_PARK;

void tts_read_settings(void)
{
    tts_wait = (enum tts_wait)setting_choice(
        "TTS_WAIT", wait_names, sizeof wait_names / sizeof wait_names[0], TTS_WAIT_PARK);
}

const char *tts_wait_name(void)
{
    return wait_names[tts_wait];
}

/* The first test of test-and-test-and-set: waiters share the line until the holder writes it. */
static bool try_if_free(pthread_mutex_t *mutex)
{
    return mutex_is_free(mutex) && tts_try_atomic(mutex);
}

static bool spin_for(pthread_mutex_t *mutex, unsigned pauses)
{
    unsigned between = 1;

    while (pauses > 0) {
        between = between < pauses ? between : pauses;
        for (unsigned i = 0; i < between; i++)
            spin_pause();
        if (try_if_free(mutex))
            return true;
        pauses -= between;
        if (between < PAUSES_BETWEEN_READS)
            between *= 2;
    }
    return false;
}

/*
 * Looks for as long as this lock's past suggests; see spin_budget.h. What was learned is written
 * after the lock was taken, or right before the word is marked for sleeping: the line is the
 * writer's then in any case.
 */
static bool spin_briefly(pthread_mutex_t *mutex)
{
    short *place = &mutex->__data.__spins;
    uint16_t before = (uint16_t)__atomic_load_n(place, __ATOMIC_RELAXED);
    bool taken = spin_for(mutex, spin_budget_pauses(before));
    uint16_t after = taken ? spin_budget_after_success(before) : spin_budget_after_failure(before);

    if (after != before)
        __atomic_store_n(place, (short)after, __ATOMIC_RELAXED);
    return taken;
}

/* Takes the lock as a thread that has slept, or is about to, must. True: it is ours. */
static bool take_with_sleepers(pthread_mutex_t *mutex)
{
    return __atomic_exchange_n(mutex_word(mutex), WORD_HELD_WITH_SLEEPERS, __ATOMIC_ACQUIRE) ==
           WORD_FREE;
}

void tts_acquire_contended(pthread_mutex_t *mutex)
{
    PROBE1(contention_begin, mutex);
    if (tts_wait == TTS_WAIT_SPIN) {
        while (!try_if_free(mutex))
            spin_pause();
        return;
    }
    if (spin_briefly(mutex))
        return;
    if (tts_wait == TTS_WAIT_YIELD) {
        while (!try_if_free(mutex))
            (void)sched_yield();
        return;
    }
    while (!take_with_sleepers(mutex))
        futex_wait(mutex_word(mutex), WORD_HELD_WITH_SLEEPERS);
}

void tts_wake_one(int *word)
{
    futex_wake_one(word);
}

static bool has_passed(clockid_t clock, const struct timespec *deadline)
{
    struct timespec now;

    clock_read(clock, &now);
    return now.tv_sec > deadline->tv_sec ||
           (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

static int poll_until(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline)
{
    for (unsigned looks = 0; !try_if_free(mutex); looks++) {
        bool looks_at_clock = tts_wait == TTS_WAIT_YIELD || looks % LOOKS_A_CLOCK_READING == 0;

        if (looks_at_clock && has_passed(clock, deadline))
            return ETIMEDOUT;
        if (tts_wait == TTS_WAIT_SPIN)
            spin_pause();
        else
            (void)sched_yield();
    }
    return 0;
}

int tts_acquire_contended_until(pthread_mutex_t *mutex, clockid_t clock,
                                const struct timespec *deadline)
{
    PROBE1(contention_begin, mutex);
    if (deadline->tv_sec < 0)
        return ETIMEDOUT; /* whatever the nanoseconds, as libc says; to the kernel it is malformed
                           */
    if (deadline->tv_nsec < 0 || deadline->tv_nsec >= 1000000000)
        return EINVAL;
    if (tts_wait == TTS_WAIT_SPIN)
        return poll_until(mutex, clock, deadline);
    if (spin_briefly(mutex))
        return 0;
    if (tts_wait == TTS_WAIT_YIELD)
        return poll_until(mutex, clock, deadline);
    while (!take_with_sleepers(mutex)) {
        /*
         * Giving up leaves a 2 behind without a sleeper: one superfluous wake. A wake-up meant for
         * another cannot be lost here, for the kernel reports the time-out only to a thread that it
         * did not wake.
         */
        int error = futex_wait_until(mutex_word(mutex), WORD_HELD_WITH_SLEEPERS, clock, deadline);
        /* A kernel, or a sandbox, that refuses to wait does not watch the deadline either. */
        if (error == -ETIMEDOUT ||
            (error != 0 && error != -EAGAIN && error != -EINTR && has_passed(clock, deadline)))
            return ETIMEDOUT;
    }
    return 0;
}

bool tts_wait_until_free(pthread_mutex_t *mutex, bool unbounded)
{
    for (int looks = 0; looks < SPINS_FOR_ELISION; looks++) {
        if (mutex_is_free(mutex))
            return true;
        spin_pause();
    }
    if (tts_wait == TTS_WAIT_PARK && !unbounded)
        return false;
    while (!mutex_is_free(mutex)) {
        if (tts_wait == TTS_WAIT_SPIN)
            spin_pause();
        else
            (void)sched_yield();
    }
    return true;
}
