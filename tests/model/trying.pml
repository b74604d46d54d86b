/*
 * SPDX-License-Identifier: MIT
 *
 * Two locks, and a trylock inside a section. B guards X and Y. One thread takes B; one tries, inside
 * a section of A, either A itself, which it holds, or B, and goes without if that is held; one wants
 * A alone.
 */
#include "ttstle.pml"

#define Z PREDICATE

byte updates;

proctype holder(byte me)
{
    LOCALS;

section:
    {
        front_lock(B, ELIDES);
        update();
        front_unlock(B, ELIDES)
    } unless { aborted_at(B); retry_policy_after_abort(); goto section };
    d_step { updates++; finished++ }
}

/* What is elided inside A aborts to A; what is tried while A is held physically aborts to B. */
proctype trier(byte me)
{
    LOCALS;
    bool own;

    if
    :: own = true
    :: skip
    fi;
section:
    {
        front_lock(A, ELIDES);
        load(Z, value);
        store(Z, value + 1);
        value = 0;
inner_section:
        {
            gave_up = false;
            if
            :: own -> front_trylock(A, ELIDES)
            :: else -> front_trylock(B, ELIDES)
            fi;
            assert(!own || gave_up);
            if
            :: !gave_up -> update(); front_unlock(B, ELIDES)
            :: else
            fi
        } unless { aborted_at(B); retry_policy_after_abort(); goto inner_section };
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    d_step {
        if
        :: !gave_up -> updates++
        :: else
        fi;
        finished++
    }
}

proctype outsider(byte me)
{
    LOCALS;

section:
    {
        front_lock(A, ELIDES);
        load(Z, value);
        store(Z, value + 1);
        value = 0;
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    finished++
}

init {
    atomic { run holder(0); run trier(1); run outsider(2); run processor() };
    finished == THREADS;
    REACHED("every thread ended");
    assert(memory[X] == updates && memory[Y] == updates && memory[Z] == 2);
    assert(memory[WORD(A)] == FREE && memory[OWNER(A)] == 0);
    assert(memory[WORD(B)] == FREE && memory[OWNER(B)] == 0)
}
