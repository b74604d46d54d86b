/*
 * SPDX-License-Identifier: MIT
 *
 * See contention.h. Hourglass: Liu and Spear, "Toxic Transactions", TRANSACT 2011.
 */
#include "tm_runtime/contention.h"

#include "base/random.h"
#include "base/spin.h"
#include "base/system_call.h"
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/gate.h"

enum {
    BACKOFF_FIRST = 5, /* powers of two of PAUSEs */
    BACKOFF_LAST = 14,
    BACKOFF_YIELD = 512, /* the one that is waited for may need this processor */
    LOCK_LOOKS = 100,
};

enum contention_manager contention_manager = CONTENTION_BACKOFF;

static void back_off(struct tm_thread *self)
{
    unsigned power = BACKOFF_FIRST + self->aborts_in_row;

    if (power > BACKOFF_LAST)
        power = BACKOFF_LAST;
    for (uint32_t turns = random_below(&self->random, 1u << power); turns != 0; turns--) {
        spin_pause();
        if (turns % BACKOFF_YIELD == 0)
            (void)system_call(SYS_sched_yield, 0, NULL, 0);
    }
}

/*
 * Waits for a little while until the lock that was in the way is free. Its owner may not run: it
 * gets the processor: two transactions that each start again at once may abort each other for ever.
 */
static void wait_for_lock(struct tm_thread *self)
{
    const uint64_t *lock = self->conflicting_lock;

    self->conflicting_lock = NULL;
    if (lock == NULL)
        return;
    for (int look = 0; look < LOCK_LOOKS; look++) {
        if (!(__atomic_load_n(lock, __ATOMIC_RELAXED) & TM_LOCKED))
            return;
        spin_pause();
    }
    (void)system_call(SYS_sched_yield, 0, NULL, 0);
}

static void run_alone_after(struct tm_thread *self, uint32_t aborts)
{
    if (self->aborts_in_row >= aborts && self->serial_reason == TM_NOT_SERIAL)
        self->serial_reason = TM_SERIAL_ABORTS;
}

void contention_after_abort(struct tm_thread *self, enum tm_cause cause)
{
    self->aborts_in_row++;
    wait_for_lock(self);
    if (cause == TM_NO_MEMORY)
        self->serial_reason = TM_SERIAL_MEMORY;
    switch (contention_manager) {
    case CONTENTION_NONE:
        break;
    case CONTENTION_BACKOFF:
        back_off(self);
        run_alone_after(self, CONTENTION_BACKOFF_ABORTS);
        break;
    case CONTENTION_HOURGLASS:
        if (self->aborts_in_row >= CONTENTION_HOURGLASS_ABORTS && !self->holds_hourglass)
            (void)gate_take_hourglass(self);
        break;
    case CONTENTION_SERIALISE:
        run_alone_after(self, CONTENTION_SERIALISE_ABORTS);
        break;
    }
}

void contention_after_commit(struct tm_thread *self)
{
    self->aborts_in_row = 0;
    if (self->holds_hourglass)
        gate_release_hourglass(self);
}
