/*
 * SPDX-License-Identifier: MIT
 *
 * The physical rwlock off its shortest paths; see tts_rwlock.h.
 */
#include "tts_lock/tts_rwlock.h"

#include "base/futex.h"
#include "base/spin.h"
#include "mutex/thread_id.h"
#include "tts_lock/spin_budget.h"

enum {
    /* The most PAUSEs between two looks, as of the mutexes' waiters. */
    PAUSES_BETWEEN_READS = 8,
    /* Looks for a free lock before it is taken, as of the mutexes' waiters... */
    LOOKS_FOR_ELISION = 400,
    /* ...and what one look costs a reader that could join those who are in. */
    LOOKS_PAST_READERS = 8,
};

/*
 * The first reader after a writer begins the read phase. Whoever does that tells all who sleep
 * until it has begun; readers that came at the same time count themselves first, so that state has
 * readers and is left to libc.
 */
static bool begin_read_phase(pthread_rwlock_t *rwlock)
{
    unsigned state = RWLOCK_WRITE_PHASE;

    if (!tts_rwlock_exchange(rwlock, &state, RWLOCK_READER, __ATOMIC_ACQUIRE))
        return false;
    unsigned before =
        __atomic_exchange_n(&rwlock->__data.__wrphase_futex, RWLOCK_FUTEX_READ, __ATOMIC_RELAXED);
    if (before & RWLOCK_FUTEX_HAS_SLEEPERS)
        futex_wake_all((int *)&rwlock->__data.__wrphase_futex);
    return true;
}

bool tts_rwlock_try_read_any(pthread_rwlock_t *rwlock)
{
    unsigned state = rwlock_state(rwlock);

    while (rwlock_is_readable(rwlock, state)) {
        if (state & RWLOCK_WRITE_PHASE) {
            if (begin_read_phase(rwlock))
                return true;
            state = rwlock_state(rwlock);
        } else if (state + RWLOCK_READER >= RWLOCK_READERS_MOST) {
            return false;
        } else if (tts_rwlock_exchange(rwlock, &state, state + RWLOCK_READER, __ATOMIC_ACQUIRE)) {
            return true;
        }
    }
    return false;
}

static bool try_side(pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    return side == RWLOCK_READ ? tts_rwlock_try_read_any(rwlock)
                               : tts_rwlock_try_write(rwlock, thread_id());
}

static bool spin_for(pthread_rwlock_t *rwlock, enum rwlock_side side, unsigned pauses)
{
    unsigned between = 1;

    while (pauses > 0) {
        between = between < pauses ? between : pauses;
        for (unsigned i = 0; i < between; i++)
            spin_pause();
        if (try_side(rwlock, side))
            return true;
        pauses -= between;
        if (between < PAUSES_BETWEEN_READS)
            between *= 2;
    }
    return false;
}

bool tts_rwlock_spin(pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    uint16_t *place = rwlock_spins(rwlock);
    uint16_t before = __atomic_load_n(place, __ATOMIC_RELAXED);

    bool taken = spin_for(rwlock, side, spin_budget_pauses(before));
    uint16_t after = taken ? spin_budget_after_success(before) : spin_budget_after_failure(before);

    if (after != before)
        __atomic_store_n(place, after, __ATOMIC_RELAXED);
    return taken;
}

bool tts_rwlock_wait_until_free(pthread_rwlock_t *rwlock, enum rwlock_side side, bool full_budget)
{
    bool may_join = side == RWLOCK_READ && !full_budget;

    for (int looks = 0; looks < LOOKS_FOR_ELISION;) {
        unsigned state = rwlock_state(rwlock);

        if (rwlock_state_is_free(state))
            return true;
        looks += may_join && rwlock_is_readable(rwlock, state) ? LOOKS_PAST_READERS : 1;
        spin_pause();
    }
    return false;
}
