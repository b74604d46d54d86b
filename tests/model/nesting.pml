/*
 * SPDX-License-Identifier: MIT
 *
 * Two locks. B guards X and Y, A guards Z. One thread takes B physically; one nests B in A, and
 * may leave A first (hand over hand); one wants A alone. B is a mutex that elides or one of the
 * sort that never does, which is then taken inside the transaction that elides A.
 *
 * The search for runs without end leaves out the second sort of B and hand over hand. Under the
 * paper's policy the outsider writes nothing: two sections that conflict may abort each other for
 * ever there, which is known, and would hide what nesting does.
 */
#include "ttstle.pml"

#define Z PREDICATE

bool kind_of_b = ELIDES;
byte updates_of_z;

proctype holder(byte me)
{
    LOCALS;

    take = true;
section:
    {
        front_lock(B, kind_of_b);
        update();
        front_unlock(B, kind_of_b)
    } unless { aborted_at(B); retry_policy_after_abort(); goto section };
    finished++
}

proctype nester(byte me)
{
    LOCALS;
    bool hand_over_hand, left_first;

#ifndef RUNS_END
    if
    :: hand_over_hand = true
    :: skip
    fi;
#endif
section:
    {
        front_lock(A, ELIDES);
        load(Z, value);
        store(Z, value + 1);
        value = 0;
inner_section:
        {
            front_lock(B, kind_of_b);
            d_step {
                if
                :: in_transaction && memory[OWNER(A)] == me + 1 ->
                    REACHED("a section was elided inside a lock held physically")
                :: in_transaction && tx[me].begun_at == A && tx[me].depth == 1 ->
                    REACHED("a lock was taken inside a transaction")
                :: in_transaction && tx[me].depth == 2 ->
                    REACHED("both sections were elided")
                :: else
                fi
            };
            update();
            if
            :: hand_over_hand -> front_unlock(A, ELIDES); left_first = true
            :: else
            fi;
            front_unlock(B, kind_of_b)
        } unless { aborted_at(B); left_first = false; retry_policy_after_abort(); goto inner_section };
        if
        :: !left_first -> front_unlock(A, ELIDES)
        :: else
        fi
    } unless { aborted_at(A); left_first = false; retry_policy_after_abort(); goto section };
    d_step { updates_of_z++; finished++ }
}

proctype outsider(byte me)
{
    LOCALS;

section:
    {
        front_lock(A, ELIDES);
#ifndef PAPER
        load(Z, value);
        store(Z, value + 1);
        value = 0;
#endif
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    d_step {
#ifndef PAPER
        updates_of_z++;
#endif
        finished++
    }
}

init {
    atomic {
#ifndef RUNS_END
        if
        :: skip
        :: kind_of_b = NO_ELISION
        fi;
#endif
        run holder(0); run nester(1); run outsider(2); run processor()
    };
    finished == THREADS;
    REACHED("every thread ended");
    assert(memory[X] == 2 && memory[Y] == 2 && memory[Z] == updates_of_z);
    assert(memory[WORD(A)] == FREE && memory[OWNER(A)] == 0);
    assert(memory[WORD(B)] == FREE && memory[OWNER(B)] == 0)
}
