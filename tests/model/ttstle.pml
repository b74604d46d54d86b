/*
 * SPDX-License-Identifier: MIT
 *
 * The protocol of libttstle_lock.so on the machine of machine.pml, and libc's part in it. Each
 * inline has the name of the function that it mirrors:
 *
 *   front_lock, front_trylock, front_lock_until, front_unlock,
 *   front_become_owner, front_give_up                   src/mutex/front.h, front.c
 *   lock_core_elide, lock_core_try_elide, lock_core_elide_until,
 *   lock_core_leave_transaction                         src/ttstle_lock/core.h
 *   elision_enter, enter_nested, trylock_answers_busy   src/ttstle_lock/elision/elision.c
 *   retry_policy_after_abort                            src/ttstle_lock/elision/retry_policy.c
 *   hourglass_admits, hourglass_open                    src/ttstle_lock/elision/hourglass.c
 *   tts_try, tts_acquire_contended,
 *   tts_acquire_contended_until, tts_wait_until_free,
 *   tts_release                                         src/tts_lock/tts.c, tts.h
 *   pthread_cond_wait                                   src/ttstle_lock/condition.c
 *   libc_cond_wait, libc_cond_signal, libc_cond_broadcast   libc: not ours, taken as given
 *
 * What is left out, and why nothing is lost by it:
 *   - How often a thread looks before it sleeps or gives up is any number: each wait may go either
 *     way at once. So one search covers every TTS_WAIT, also a mixture of them.
 *   - What the policy decides after an abort that retrying may cure is either answer, and a lock's
 *     memory may keep any acquisition from eliding: one search covers all policies but the
 *     hourglass, which HOURGLASS adds to them. Only a search for runs without end (RUNS_END) takes
 *     one policy as it is, the adaptive one with FAILURES_MOST for its count, with PAPER the paper's,
 *     and with HOURGLASS that one.
 *   - Who waits at the hourglass waits without bound. The code opens it after a while, for owners
 *     that ended; here no owner ends, and nobody may need that.
 *   - __nusers and __count change together with __owner, by the same thread. What a lock learns in
 *     __spins and __elision lies in the word's line and decides nothing but how long and whether;
 *     what writing it does to others the machine does to any transaction at any time. Statistics
 *     are not there.
 *   - The condition variable of libc is a count of waiters and a sequence number to sleep on. It
 *     keeps its promise: who is counted before a signal is woken by it. What it does inside is
 *     libc's to verify.
 *
 * The limits: 3 threads, 2 mutexes, 1 condition variable, few sections a thread; the scenarios say
 * which. Recursion is not here, for recursive mutexes are never elided.
 *
 * The rules can be taken out one by one, to see what each is good for:
 *   NO_SUBSCRIPTION         a transaction never reads the word
 *   LAZY_SUBSCRIPTION       a transaction reads the word at its end only
 *   COMMIT_THEN_WAIT        a condition wait commits, locks physically, and waits
 *   SLEEPER_MAY_ELIDE       who has slept for the lock may elide when woken
 *   SLEEPER_TAKES_WITH_1    who has slept takes the lock as one who has not
 *   OWNER_LEFT_BEHIND       an unlock does not clear __owner
 *   TRY_FORGETS_OWN         a trylock elides a lock that the thread elides already
 *   TRY_READS_NO_WORD       a trylock inside a transaction elides any lock
 *   NESTED_BUSY_WAITS       after a busy inner lock the outer one is waited for and elided again
 *   HOURGLASS_KEPT_WHILE_WAITING   its owner waits for a lock without opening it
 *   HOURGLASS_KEPT_WITH_THE_LOCK   its owner gives elision up without opening it
 */
#include "machine.pml"

/* States of the word. */
#define FREE               0
#define HELD               1
#define HELD_WITH_SLEEPERS 2

/* What __kind says. */
#define ELIDES    true
#define NO_ELISION false

#define FAILURES_MOST 2

#ifdef HOURGLASS
byte hourglass; /* 1 + who turned it, or 0 */
#define HOURGLASS_LOCALS bool alone; /* the next attempt begins with the hourglass turned */
#define UNDER_HOURGLASS(step) step;
#else
#define HOURGLASS_LOCALS
#define UNDER_HOURGLASS(step)
#endif

/*
 * What each thread has for itself: me, a parameter, is its number.
 * take: elision was given up for this acquisition. That the section is elided shows in that the
 * thread is in a transaction and the mutex is of a kind that elides.
 */
#define LOCALS     \
    byte value;    \
    bool take;     \
    byte failures; \
    HOURGLASS_LOCALS \
    bool gave_up

/* ---- the TTS lock ---- */

/* Looks, and goes on only when the word reads free; a look is an access like any other. */
inline wait_until_it_reads_free(mutex)
{
    d_step { memory[WORD(mutex)] == FREE -> claim(WORD(mutex), false) }
}

inline tts_try(mutex, done)
{
    compare_exchange(WORD(mutex), FREE, HELD, done)
}

/* TTS_WAIT_SPIN and TTS_WAIT_YIELD without bound, or spin_briefly where it succeeds. */
inline spin_until_taken(mutex)
{
    do
    :: wait_until_it_reads_free(mutex);
        tts_try(mutex, value);
        if
        :: value -> value = 0; break
        :: else
        fi
    od
}

inline tts_acquire_contended(mutex)
{
    if
    :: spin_until_taken(mutex)
    :: skip;
        do
        :: exchange(WORD(mutex), HELD_WITH_SLEEPERS, value);
            if
            :: value == FREE -> break
            :: else -> value = 0; futex_wait(WORD(mutex), HELD_WITH_SLEEPERS)
            fi;
#ifdef SLEEPER_TAKES_WITH_1
            tts_try(mutex, value);
            if
            :: value -> value = 0; break
            :: else
            fi
#endif
#ifdef SLEEPER_MAY_ELIDE
            elision_enter(mutex, true);
            if
            :: in_transaction -> break
            :: else
            fi
#endif
        od
    fi
}

/* gave_up: the result is ETIMEDOUT. */
inline tts_acquire_contended_until(mutex)
{
    if
    :: spin_until_taken(mutex)
    :: gave_up = true
    :: skip;
        do
        :: exchange(WORD(mutex), HELD_WITH_SLEEPERS, value);
            if
            :: value == FREE -> break
            :: else -> value = 0; futex_wait_until(WORD(mutex), HELD_WITH_SLEEPERS, gave_up)
            fi;
            if
            :: gave_up -> break
            :: else
            fi
        od
    fi
}

/* value is FREE, or the wait was given up. Under the paper's policy and the hourglass it is not. */
inline tts_wait_until_free(mutex)
{
    if
    :: wait_until_it_reads_free(mutex); value = FREE
#if !defined(HOURGLASS) && (!defined(RUNS_END) || !defined(PAPER))
    :: value = HELD
#endif
    fi
}

inline tts_release(mutex)
{
    exchange(WORD(mutex), FREE, value);
    if
    :: value == HELD_WITH_SLEEPERS -> value = 0; futex_wake_one(WORD(mutex))
    :: else -> value = 0
    fi
}

/* ---- the hourglass ---- */

#ifdef HOURGLASS
inline hourglass_open()
{
    d_step {
        if
        :: hourglass == me + 1 -> hourglass = 0
        :: else
        fi
    }
}

inline after_commit()
{
    if
    :: !in_transaction -> hourglass_open(); alone = false
    :: else
    fi
}

/* value is FREE, or who may not wait finds it turned. */
inline hourglass_admits(may_wait)
{
    if
    :: may_wait ->
        d_step {
            if
            :: hourglass && hourglass != me + 1 -> REACHED("a thread waited at the hourglass")
            :: else
            fi
        };
        atomic {
            !hourglass || hourglass == me + 1;
            if
            :: alone -> hourglass = me + 1; REACHED("a thread turned the hourglass")
            :: else
            fi
        }
    :: !may_wait && hourglass && hourglass != me + 1 -> value = HELD
    :: else
    fi
}
#endif

/* ---- elision ---- */

inline lock_core_leave_transaction()
{
    if
    :: in_transaction -> abort(PHYSICAL)
    :: else
    fi
}

/* From this read on a physical holder aborts us. */
inline subscribe(mutex)
{
#if !defined(NO_SUBSCRIPTION) && !defined(LAZY_SUBSCRIPTION)
    load(WORD(mutex), value);
    if
    :: value != FREE ->
        value = 0;
        d_step {
            if
            :: tx[me].depth > 1 -> REACHED("an inner lock was busy")
            :: else -> REACHED("a lock was busy inside the transaction")
            fi
        };
        abort(BUSY)
    :: else
    fi
#else
    skip
#endif
}

inline enter_nested(mutex)
{
    begin(mutex);
    subscribe(mutex)
}

/*
 * Ends inside a transaction, or outside, and then the lock is to be taken. An abort
 * comes back to the start of the section, which calls this again; the loop of elision_enter is
 * there.
 */
inline elision_enter(mutex, may_wait)
{
    if
    :: in_transaction -> enter_nested(mutex)
    :: !in_transaction && take ->
        take = false;
        UNDER_HOURGLASS(alone = false)
        failures = 0
#if !defined(RUNS_END) || !defined(PAPER)
#ifdef HOURGLASS
    :: !in_transaction && !take && failures == 0 && !alone
#else
    :: !in_transaction && !take && failures == 0 /* memory_skips_left */
#endif
#endif
    :: !in_transaction && !take ->
        load(WORD(mutex), value);
        if
        :: value != FREE && may_wait ->
#ifndef HOURGLASS_KEPT_WHILE_WAITING
            UNDER_HOURGLASS(hourglass_open())
#endif
            tts_wait_until_free(mutex)
        :: else
        fi;
#ifdef HOURGLASS
        if
        :: value == FREE -> hourglass_admits(may_wait)
        :: else
        fi;
#endif
        if
        :: value == FREE -> begin(mutex); subscribe(mutex)
        :: else ->
            value = 0;
#ifdef HOURGLASS_KEPT_WHILE_WAITING
            hourglass_open();
#endif
            failures = 0
        fi
    fi
}

/* What may be cured by trying again, once the lock is free. */
#ifdef NESTED_BUSY_WAITS
#define curable (tx[me].cause == CONFLICT || tx[me].cause == BUSY)
#else
#define curable (tx[me].cause == CONFLICT || (tx[me].cause == BUSY && !tx[me].nested))
#endif

/*
 * The abort comes back here, to the outermost begin: memory is as it was, for only the buffer was
 * written, and the thread's own variables are put back.
 */
inline retry_policy_after_abort()
{
    atomic {
        value = 0;
        if
#ifndef RUNS_END
        :: curable
        :: curable -> take = true
#ifdef HOURGLASS
        :: curable -> alone = true
#endif
#else
#ifdef PAPER
        :: curable
#elif defined(HOURGLASS)
        :: curable && failures + 1 < FAILURES_MOST -> failures++
        :: curable && failures + 1 >= FAILURES_MOST && !alone -> alone = true
        :: curable && alone -> take = true
#else
        :: curable && failures + 1 < FAILURES_MOST -> failures++
        :: curable && failures + 1 >= FAILURES_MOST -> take = true
#endif
#endif
        :: !curable -> take = true
        fi;
#if defined(HOURGLASS) && !defined(HOURGLASS_KEPT_WITH_THE_LOCK)
        if
        :: take -> hourglass_open()
        :: else
        fi;
#endif
        tx[me].stands = NONE;
        tx[me].begun_at = 0;
        tx[me].cause = 0;
        tx[me].nested = false
    }
}

inline lock_core_elide(mutex, kind)
{
    if
    :: kind -> elision_enter(mutex, true)
    :: else -> take = false
    fi
}

inline lock_core_elide_until(mutex, kind)
{
    if
    :: kind -> lock_core_leave_transaction(); elision_enter(mutex, false)
    :: else -> take = false
    fi
}

/*
 * Inside a transaction. gave_up: somebody holds the lock. Which locks a thread elides is its own
 * list; here the outermost lock of the transaction is told, which is what the scenarios try.
 */
inline trylock_answers_busy(mutex)
{
#ifndef TRY_FORGETS_OWN
    if
    :: tx[me].begun_at == mutex ->
        REACHED("a transaction ended at a trylock of its own lock");
        abort(PHYSICAL)
    :: else
    fi;
#endif
#ifndef TRY_READS_NO_WORD
    load(WORD(mutex), value);
    gave_up = (value != FREE);
    value = 0
#else
    gave_up = false
#endif
}

inline try_nested(mutex)
{
    trylock_answers_busy(mutex);
    if
    :: gave_up -> REACHED("a trylock inside a transaction found the lock held")
    :: else ->
        begin(mutex);
#ifndef TRY_READS_NO_WORD
        subscribe(mutex);
#endif
        REACHED("a trylock inside a transaction elided the lock")
    fi
}

inline lock_core_try_elide(mutex, kind)
{
    if
    :: kind -> elision_enter(mutex, false)
    :: else -> lock_core_leave_transaction(); take = false
    fi
}

/* ---- the front ---- */

/* libc asserts that __owner was 0 when it takes the word again; here everybody does. */
inline front_become_owner(mutex)
{
    d_step {
        claim(OWNER(mutex), true);
        fetch(OWNER(mutex), other);
        assert(other == 0);
        put(OWNER(mutex), me + 1)
    }
}

inline front_give_up(mutex)
{
#ifndef OWNER_LEFT_BEHIND
    store(OWNER(mutex), 0);
#endif
    tts_release(mutex)
}

inline front_lock(mutex, kind)
{
    lock_core_elide(mutex, kind);
    if
    :: kind && in_transaction
    :: else ->
        tts_try(mutex, value);
        if
        :: value -> value = 0
        :: else -> lock_core_leave_transaction(); tts_acquire_contended(mutex)
        fi;
#ifdef SLEEPER_MAY_ELIDE
        if
        :: !in_transaction -> front_become_owner(mutex)
        :: else
        fi
#else
        front_become_owner(mutex)
#endif
    fi
}

inline front_trylock_outermost(mutex, kind)
{
    lock_core_try_elide(mutex, kind);
    if
    :: kind && in_transaction
    :: else ->
        load(WORD(mutex), value);
        if
        :: value == FREE ->
            tts_try(mutex, value);
            gave_up = !value;
            value = 0
        :: else -> value = 0; gave_up = true
        fi;
        if
        :: !gave_up -> front_become_owner(mutex)
        :: else -> REACHED("a trylock found the lock held")
        fi
    fi
}

/* gave_up: the result is EBUSY. */
inline front_trylock(mutex, kind)
{
    if
    :: kind && in_transaction ->
#if defined(PAPER) || defined(HOURGLASS)
        lock_core_leave_transaction()
#else
        try_nested(mutex)
#endif
    :: else -> front_trylock_outermost(mutex, kind)
    fi
}

inline front_lock_until(mutex, kind)
{
    lock_core_elide_until(mutex, kind);
    if
    :: kind && in_transaction
    :: else ->
        tts_try(mutex, value);
        if
        :: value -> value = 0
        :: else -> lock_core_leave_transaction(); tts_acquire_contended_until(mutex)
        fi;
        if
        :: !gave_up -> front_become_owner(mutex)
        :: else
        fi
    fi
}

/* A free word: elided by this thread, for no scenario unlocks what it did not lock. */
inline front_unlock(mutex, kind)
{
#ifdef NO_SUBSCRIPTION
    if
    :: in_transaction -> value = FREE
    :: else -> load(WORD(mutex), value)
    fi;
#else
    load(WORD(mutex), value);
#endif
#ifdef LAZY_SUBSCRIPTION
    if
    :: in_transaction && value != FREE -> abort(BUSY)
    :: else
    fi;
#endif
    if
    :: value == FREE -> assert(kind); end(); UNDER_HOURGLASS(after_commit())
    :: else ->
        d_step {
            value = 0;
            if
            :: in_transaction -> REACHED("a lock held physically was unlocked inside a transaction")
            :: else
            fi
        };
        front_give_up(mutex)
    fi
}

/* ---- condition variables ---- */

/* Another rule than ours for a condition wait inside a transaction. */
inline commit_then_lock(mutex)
{
    if
    :: in_transaction ->
        end();
        tts_acquire_contended(mutex);
        front_become_owner(mutex)
    :: else
    fi
}

/* gave_up: the deadline of a timed wait passed. */
inline pthread_cond_wait(mutex, timed)
{
    d_step {
        if
        :: in_transaction -> REACHED("a condition wait began inside a transaction")
        :: else -> REACHED("a condition wait began with the lock held")
        fi
    };
#ifdef COMMIT_THEN_WAIT
    commit_then_lock(mutex);
#else
    lock_core_leave_transaction();
#endif
    libc_cond_wait(mutex, timed)
}

inline libc_cond_wait(mutex, timed)
{
    d_step {
        assert(memory[OWNER(mutex)] == me + 1);
        claim(WAITERS, true);
        memory[WAITERS]++;
        claim(SEQUENCE, false);
        ticket = memory[SEQUENCE]
    };
    front_give_up(mutex); /* libc's own unlock does the same */
    do
    :: load(SEQUENCE, value);
        if
        :: value != ticket || gave_up -> break
        :: else
        fi;
        if
        :: timed -> futex_wait_until(SEQUENCE, ticket, gave_up)
        :: else -> futex_wait(SEQUENCE, ticket)
        fi
    od;
    value = 0;
    d_step {
        ticket = 0;
        claim(WAITERS, true);
        memory[WAITERS]--
    };
    do /* libc re-locks by the sleepers' rule, whether or not it slept for the lock */
    :: exchange(WORD(mutex), HELD_WITH_SLEEPERS, value);
        if
        :: value == FREE -> break
        :: else ->
            value = 0;
            REACHED("a waiter came back to a lock that was held");
            futex_wait(WORD(mutex), HELD_WITH_SLEEPERS)
        fi
    od;
    front_become_owner(mutex)
}

/* A signal without waiters writes nothing; one with waiters ends in a system call. */
inline advance_for_waiters(found)
{
    load(WAITERS, value);
    if
    :: value == 0 -> REACHED("a signal found no waiter"); found = false
    :: else ->
        d_step {
            if
            :: in_transaction -> REACHED("a signal met a waiter inside a transaction")
            :: else -> REACHED("a signal met a waiter outside of transactions")
            fi;
            claim(SEQUENCE, true);
            fetch(SEQUENCE, other);
            put(SEQUENCE, other + 1);
            value = 0;
            found = true
        }
    fi
}

inline libc_cond_signal(found)
{
    advance_for_waiters(found);
    if
    :: found -> found = false; futex_wake_one(SEQUENCE)
    :: else
    fi
}

inline libc_cond_broadcast(found)
{
    advance_for_waiters(found);
    if
    :: found -> found = false; futex_wake_all(SEQUENCE)
    :: else
    fi
}

/* ---- what the scenarios have in common ---- */

/* Inside, the two are equal, whatever has become of the section by then: the check is made also in
 * a transaction that will never commit. */
inline update()
{
    load(X, value);
    d_step { claim(Y, false); fetch(Y, other); assert(value == other) };
    store(X, value + 1);
    d_step { claim(Y, true); put(Y, value + 1); value = 0 }
}
