/*
 * SPDX-License-Identifier: MIT
 *
 * A condition wait inside two nested sections: the lock that it releases is the inner one, B. The
 * outer one, A, stays held over the wait; who signals does not need it, who wants it has to wait.
 */
#include "ttstle.pml"

proctype waiter(byte me)
{
    LOCALS;
    byte ticket;

section:
    {
        front_lock(A, ELIDES);
inner_section:
        {
            front_lock(B, ELIDES);
            do
            :: load(PREDICATE, value);
                if
                :: value -> value = 0; break
                :: else
                fi;
                d_step {
                    if
                    :: in_transaction && tx[me].depth == 2 ->
                        REACHED("a condition wait began inside a nested transaction")
                    :: in_transaction && tx[me].depth == 1 ->
                        REACHED("a condition wait began elided inside a lock held physically")
                    :: else
                    fi
                };
                pthread_cond_wait(B, false)
            od;
            update();
            front_unlock(B, ELIDES)
        } unless { aborted_at(B); retry_policy_after_abort(); goto inner_section };
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    finished++
}

proctype signaller(byte me)
{
    LOCALS;
    bool found;

section:
    {
        front_lock(B, ELIDES);
        store(PREDICATE, true);
        libc_cond_signal(found);
        update();
        front_unlock(B, ELIDES)
    } unless { aborted_at(B); found = false; retry_policy_after_abort(); goto section };
    finished++
}

proctype outsider(byte me)
{
    LOCALS;

section:
    {
        front_lock(A, ELIDES);
        front_unlock(A, ELIDES)
    } unless { aborted_at(A); retry_policy_after_abort(); goto section };
    finished++
}

init {
    atomic { run waiter(0); run signaller(1); run outsider(2); run processor() };
    finished == THREADS;
    REACHED("every thread ended");
    assert(memory[X] == 2 && memory[Y] == 2 && memory[WAITERS] == 0);
    assert(memory[WORD(A)] == FREE && memory[OWNER(A)] == 0);
    assert(memory[WORD(B)] == FREE && memory[OWNER(B)] == 0)
}
