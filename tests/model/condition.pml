/*
 * SPDX-License-Identifier: MIT
 *
 * One thread waits for a predicate, another sets it and signals, inside its section or after it,
 * and a third wants the lock meanwhile. The waiter may have a deadline.
 */
#include "ttstle.pml"

proctype waiter(byte me)
{
    LOCALS;
    byte ticket;
    bool timed;

    if
    :: timed = true
    :: skip
    fi;
section:
    {
        front_lock(A, ELIDES);
        do
        :: load(PREDICATE, value);
            if
            :: value || gave_up -> value = 0; break
            :: else
            fi;
            pthread_cond_wait(A, timed)
        od;
        update();
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    finished++
}

proctype signaller(byte me)
{
    LOCALS;
    bool inside, found;

    if
    :: inside = true
    :: skip
    fi;
section:
    {
        front_lock(A, ELIDES);
        store(PREDICATE, true);
        if
        :: inside -> libc_cond_signal(found)
        :: else
        fi;
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); found = false; retry_policy_after_abort(); goto section };
    if
    :: !inside -> libc_cond_signal(found)
    :: else
    fi;
    finished++
}

proctype locker(byte me)
{
    LOCALS;

section:
    {
        front_lock(A, ELIDES);
        update();
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    finished++
}

init {
    atomic { run waiter(0); run signaller(1); run locker(2); run processor() };
    finished == THREADS;
    REACHED("every thread ended");
    assert(memory[X] == 2 && memory[Y] == 2 && memory[WAITERS] == 0);
    assert(memory[WORD(A)] == FREE && memory[OWNER(A)] == 0)
}
