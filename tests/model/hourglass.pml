/*
 * SPDX-License-Identifier: MIT
 *
 * Who holds a lock physically may have to wait at the hourglass, and who has turned the hourglass
 * may have to wait for that lock. One thread wants A; the other wants A and, inside it, B. Each may
 * elide or not, and either may turn the hourglass.
 */
#define HOURGLASS
#include "ttstle.pml"

proctype single(byte me)
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

proctype nester(byte me)
{
    LOCALS;

section:
    {
        front_lock(A, ELIDES);
        update();
inner_section:
        {
            front_lock(B, ELIDES);
            d_step {
                if
                :: in_transaction && memory[OWNER(A)] == me + 1 ->
                    REACHED("a section was elided inside a lock held physically")
                :: else
                fi
            };
            front_unlock(B, ELIDES)
        } unless { aborted_at(B); retry_policy_after_abort(); goto inner_section };
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    finished++
}

init {
    atomic { run single(0); run nester(1); run processor() };
    finished == 2;
    REACHED("every thread ended");
    assert(memory[X] == 2 && memory[Y] == 2 && hourglass == 0);
    assert(memory[WORD(A)] == FREE && memory[OWNER(A)] == 0)
}
