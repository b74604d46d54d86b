/*
 * SPDX-License-Identifier: MIT
 *
 * Three threads want one lock, each in every way there is: elided or taken, spinning or asleep. One
 * of them only tries or waits with a deadline, and may go without; in the search for runs without
 * end it is like the others.
 */
#include "ttstle.pml"

byte updates; /* sections that had their lock and ran to their end */

proctype locker(byte me)
{
    LOCALS;

section:
    {
        front_lock(A, ELIDES);
        update();
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    d_step { updates++; finished++ }
}

proctype trier(byte me)
{
    LOCALS;
    bool waits;

    if
    :: waits = true
    :: skip
    fi;
section:
    {
        if
        :: waits -> front_lock_until(A, ELIDES)
        :: else -> front_trylock(A, ELIDES)
        fi;
        if
        :: !gave_up -> update(); front_unlock(A, ELIDES)
        :: else
        fi
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    d_step {
        if
        :: !gave_up -> updates++
        :: else
        fi;
        finished++
    }
}

init {
    atomic {
        run locker(0);
        run locker(1);
#ifdef RUNS_END
        run locker(2);
#else
        run trier(2);
#endif
        run processor()
    };
    finished == THREADS;
    REACHED("every thread ended");
    assert(memory[X] == updates && memory[Y] == updates);
    assert(memory[WORD(A)] == FREE && memory[OWNER(A)] == 0)
}
