/*
 * SPDX-License-Identifier: MIT
 *
 * Signals that wait for the commit: src/ttstle_lock/elision/deferred.c, each inline with the name of what it
 * mirrors. One thread sets a predicate, signals and posts a semaphore in one section. A second one
 * waits for the predicate and takes the semaphore back. With DESTROYS it destroys both then; else it
 * starts a second phase, for which a third thread waits on the same condition variable, from the
 * moment that it sees the predicate. These two take the lock physically where they need not wait.
 *
 * The rules can be taken out one by one:
 *   NOT_DRAINED         the commit leaves the entries where they are
 *   DRAINED_AS_SIGNAL   a deferred signal wakes one waiter and not all
 *   CLEARED_FIRST       an entry is cleared before it is carried out
 *   DESTROYED_AT_ONCE   destroy does not look for entries
 *   TRIED_AT_ONCE       sem_trywait does not look for entries
 *   KEPT_BY_AN_ABORT    entries are written outside of the transaction: seen before the commit
 */
#include "ttstle.pml"

/* The list has an entry for each object. Both are in memory as a transaction knows it. */
#define CONDITION_ENTRY X
#define SEMAPHORE_ENTRY Y
#define SEMAPHORE       WORD(B)
#define SECOND_PHASE    OWNER(B)

bool condition_gone, semaphore_gone;

inline add_entry(location)
{
#ifdef KEPT_BY_AN_ABORT
    d_step { memory[location] = true; REACHED("a signal was deferred") }
#else
    store(location, true);
    d_step { REACHED("a signal was deferred") }
#endif
}

inline pthread_cond_signal(found)
{
    if
    :: in_transaction -> add_entry(CONDITION_ENTRY)
    :: else -> libc_cond_signal(found)
    fi
}

inline libc_sem_post()
{
    d_step { assert(!semaphore_gone); claim(SEMAPHORE, true); memory[SEMAPHORE]++ }
}

inline sem_post()
{
    if
    :: in_transaction -> add_entry(SEMAPHORE_ENTRY)
    :: else -> libc_sem_post()
    fi
}

inline carry_out_condition(found)
{
    assert(!condition_gone);
#ifdef DRAINED_AS_SIGNAL
    libc_cond_signal(found);
#else
    libc_cond_broadcast(found);
#endif
    assert(!condition_gone)
}

/* After the commit. */
inline deferred_drain(found)
{
    load(CONDITION_ENTRY, value);
    if
    :: value ->
        value = 0;
#ifdef CLEARED_FIRST
        store(CONDITION_ENTRY, false);
        carry_out_condition(found)
#else
        carry_out_condition(found);
        store(CONDITION_ENTRY, false)
#endif
    :: else
    fi;
    load(SEMAPHORE_ENTRY, value);
    if
    :: value -> value = 0; libc_sem_post(); store(SEMAPHORE_ENTRY, false)
    :: else
    fi
}

/* Another thread's wait until nothing is pending; a look is an access like any other. */
inline deferred_wait(location)
{
    d_step {
        if
        :: memory[location] -> REACHED("a thread met a pending entry")
        :: else
        fi
    };
    d_step { !memory[location] -> claim(location, false) }
}

proctype signaller(byte me)
{
    LOCALS;
    bool found;

section:
    {
        front_lock(A, ELIDES);
        store(PREDICATE, true);
        pthread_cond_signal(found);
        sem_post();
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); found = false; retry_policy_after_abort(); goto section };
#ifndef NOT_DRAINED
    deferred_drain(found);
#endif
    finished++
}

proctype waiter(byte me)
{
    LOCALS;
    byte ticket;
    bool found;

#ifndef DESTROYS
    take = true;
#endif

section:
    {
        front_lock(A, ELIDES);
        do
        :: load(PREDICATE, value);
            if
            :: value -> value = 0; break
            :: else
            fi;
            pthread_cond_wait(A, false)
        od;
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
#ifdef DESTROYS
#ifndef DESTROYED_AT_ONCE
    deferred_wait(CONDITION_ENTRY);
#endif
    condition_gone = true;
#endif
#ifndef TRIED_AT_ONCE
    deferred_wait(SEMAPHORE_ENTRY);
#endif
    d_step { claim(SEMAPHORE, true); assert(memory[SEMAPHORE] > 0); memory[SEMAPHORE]-- };
#ifdef DESTROYS
    deferred_wait(SEMAPHORE_ENTRY);
    semaphore_gone = true;
#else
    take = true;
second_section:
    {
        front_lock(A, ELIDES);
        store(SECOND_PHASE, true);
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto second_section };
    libc_cond_broadcast(found);
#endif
    finished++
}

#ifndef DESTROYS
/* Waits only if the predicate is set already: after the section that signalled. */
proctype later_waiter(byte me)
{
    LOCALS;
    byte ticket;

    take = true;
section:
    {
        front_lock(A, ELIDES);
        load(PREDICATE, value);
        if
        :: value ->
            do
            :: load(SECOND_PHASE, value);
                if
                :: value -> value = 0; break
                :: else
                fi;
                pthread_cond_wait(A, false);
                d_step { REACHED("a later waiter was woken") }
            od
        :: else
        fi;
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    finished++
}
#endif

init {
    atomic {
        run waiter(0);
        run signaller(1);
#ifdef DESTROYS
        finished++;
#else
        run later_waiter(2);
#endif
        run processor()
    };
    finished == THREADS;
    REACHED("every thread ended");
    assert(memory[SEMAPHORE] == 0);
    assert(memory[CONDITION_ENTRY] == 0 && memory[SEMAPHORE_ENTRY] == 0);
    assert(memory[WORD(A)] == FREE && memory[OWNER(A)] == 0)
}
