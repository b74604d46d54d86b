/*
 * SPDX-License-Identifier: MIT
 *
 * Two threads wait for a predicate; a third sets it and wakes both, inside its section or after it.
 * They come back to a lock that the other, or the third, may hold.
 */
#include "ttstle.pml"

proctype waiter(byte me)
{
    LOCALS;
    byte ticket;

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
        update();
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    finished++
}

proctype broadcaster(byte me)
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
        :: inside -> libc_cond_broadcast(found)
        :: else
        fi;
        update();
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); found = false; retry_policy_after_abort(); goto section };
    if
    :: !inside -> libc_cond_broadcast(found)
    :: else
    fi;
    finished++
}

init {
    atomic { run waiter(0); run waiter(1); run broadcaster(2); run processor() };
    finished == THREADS;
    REACHED("every thread ended");
    assert(memory[X] == THREADS && memory[Y] == THREADS && memory[WAITERS] == 0);
    assert(memory[WORD(A)] == FREE && memory[OWNER(A)] == 0)
}
