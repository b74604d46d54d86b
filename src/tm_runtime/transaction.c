/*
 * SPDX-License-Identifier: MIT
 *
 * See transaction.h. States of a thread: outside (nesting 0, state TM_INACTIVE); in a transaction
 * of the algorithm (state is a time); alone, while no other thread has transactions, or serial,
 * with the gate closed (state TM_EXCLUSIVE, algorithm serial or irrevocable); in hardware
 * (hardware_depth, nothing else).
 */
#include "tm_runtime/transaction.h"

#include "tm_runtime/abi/itm.h"
#include "tm_runtime/actions.h"
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/contention.h"
#include "tm_runtime/gate.h"
#include "tm_runtime/logs/private_blocks.h"
#include "tm_runtime/logs/undo_log.h"
#include "tm_runtime/statistics/statistics.h"

struct transaction_settings transaction_settings = {.algorithm = &eager_algorithm,
                                                    .alone_in_place = true};

_Alignas(64) uint64_t tm_clock;

enum { BELOW_STACK = 4096 }; /* room for the frames of what a roll-back calls */

static bool is_exclusive(const struct tm_thread *self)
{
    return self->state == TM_EXCLUSIVE;
}

bool transaction_is_irrevocable(const struct tm_thread *self)
{
    return self->algorithm == &irrevocable_algorithm;
}

/* ---- beginning ---- */

static uint32_t actions_of(const struct tm_thread *self, uint32_t properties)
{
    if (transaction_is_irrevocable(self))
        return properties & ITM_UNINSTRUMENTED ? ITM_RUN_UNINSTRUMENTED : ITM_RUN_INSTRUMENTED;
    return ITM_RUN_INSTRUMENTED | ITM_SAVE_LIVE_VARIABLES;
}

/* Nobody else runs. The transaction may be cancelled if its code says so: then it needs a log. */
static void run_in_place(struct tm_thread *self)
{
    gate_become_exclusive(self);
    self->algorithm = self->properties & ITM_NO_ABORT ? &irrevocable_algorithm : &serial_algorithm;
}

static void start_serial(struct tm_thread *self)
{
    statistics_count_serial(self);
    gate_close(self);
    self->holds_serial = true;
    run_in_place(self);
}

static enum tm_serial_reason serial_reason_of(const struct tm_thread *self)
{
    if (self->serial_reason != TM_NOT_SERIAL)
        return self->serial_reason;
    if (self->properties & ITM_GOES_IRREVOCABLE || !(self->properties & ITM_INSTRUMENTED))
        return TM_SERIAL_FROM_START;
    return transaction_settings.algorithm == NULL ? TM_SERIAL_ALGORITHM : TM_NOT_SERIAL;
}

/* Starts, or starts again, the outermost transaction of self->registers. */
static uint32_t start(struct tm_thread *self)
{
    uint32_t word;

    self->serial_reason = (uint8_t)serial_reason_of(self);
    if (__builtin_expect(self->serial_reason != TM_NOT_SERIAL, 0)) {
        start_serial(self);
        return actions_of(self, self->properties);
    }
    word = gate_enter(self, &tm_clock);
    if (word & GATE_ALONE && transaction_settings.alone_in_place) {
        run_in_place(self);
        return actions_of(self, self->properties);
    }
    self->algorithm = transaction_settings.algorithm;
    self->algorithm->begin(self);
    return ITM_RUN_INSTRUMENTED | ITM_SAVE_LIVE_VARIABLES;
}

static void push_checkpoint(struct tm_thread *self)
{
    struct tm_checkpoint *checkpoint;

    if (!log_reserve(&self->checkpoints, sizeof *checkpoint))
        tm_fatal("no memory for a nested transaction");
    checkpoint = log_append(&self->checkpoints, sizeof *checkpoint);
    *checkpoint = (struct tm_checkpoint){
        .registers = self->registers,
        .algorithm = self->algorithm,
        .properties = self->properties,
        .nesting = self->nesting,
        .catches = self->catches,
        .undo = self->undo.used,
        .allocations = self->allocations.used,
        .user_actions = self->user_actions.used,
        .id = self->id,
    };
}

static struct tm_checkpoint *top_checkpoint(struct tm_thread *self)
{
    size_t count = LOG_COUNT(&self->checkpoints, struct tm_checkpoint);

    return count == 0 ? NULL : LOG_AT(&self->checkpoints, struct tm_checkpoint, count - 1);
}

static void pop_checkpoint(struct tm_thread *self)
{
    const struct tm_checkpoint *checkpoint = top_checkpoint(self);

    self->registers = checkpoint->registers;
    self->properties = checkpoint->properties;
    self->id = checkpoint->id;
    /* The inner one ran with a log, so that it could be cancelled. */
    if (checkpoint->algorithm == &irrevocable_algorithm)
        self->algorithm = &irrevocable_algorithm;
    self->checkpoints.used -= sizeof *checkpoint;
}

/* A transaction in a transaction: only one that may cancel itself needs to be told apart. */
static uint32_t begin_nested(struct tm_thread *self, uint32_t properties,
                             const struct tm_registers *registers)
{
    if (properties & ITM_NO_ABORT) {
        if (!(properties & ITM_INSTRUMENTED))
            transaction_become_irrevocable(self);
        self->nesting++;
        return actions_of(self, properties);
    }
    self->algorithm->begin_nested(self);
    push_checkpoint(self);
    if (transaction_is_irrevocable(self))
        self->algorithm = &serial_algorithm;
    self->registers = *registers;
    self->properties = properties;
    self->id = ++self->next_id;
    self->nesting++;
    return ITM_RUN_INSTRUMENTED | ITM_SAVE_LIVE_VARIABLES;
}

uint32_t transaction_begin(struct tm_thread *self, uint32_t properties,
                           const struct tm_registers *registers)
{
    if (__builtin_expect(self->nesting != 0, 0))
        return begin_nested(self, properties, registers);
    self->registers = *registers;
    self->properties = properties;
    self->nesting = 1;
    self->id = ++self->next_id;
    if (__builtin_expect(self->uncaught_now != NULL, 0))
        self->uncaught = *self->uncaught_now;
    statistics_count_start(self);
    return start(self);
}

/* ---- ending ---- */

/* Lets others run again. */
static void leave(struct tm_thread *self)
{
    gate_leave(self);
    if (__builtin_expect(self->holds_serial, 0)) {
        self->holds_serial = false;
        gate_open();
    }
}

/* Gives back what one huge transaction needed. */
static void shrink_logs(struct tm_thread *self)
{
    struct log *const logs[] = {&self->reads, &self->write_locks, &self->undo, &self->redo,
                                &self->redo_table};

    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        if (logs[i]->room > LOG_KEPT)
            log_destroy(logs[i]);
    }
}

void transaction_commit(struct tm_thread *self)
{
    uint64_t time = 0;

    if (__builtin_expect(self->nesting > 1, 0)) {
        const struct tm_checkpoint *checkpoint = top_checkpoint(self);

        self->nesting--;
        if (checkpoint != NULL && checkpoint->nesting == self->nesting)
            pop_checkpoint(self);
        return;
    }
    if (__builtin_expect(!self->algorithm->commit(self, &time), 0))
        transaction_restart(self, TM_COMMIT_CHANGED);
    self->undo.used = 0;
    self->nesting = 0;
    leave(self);
    if (__builtin_expect((self->aborts_in_row | self->serial_reason) != 0, 0)) {
        self->serial_reason = TM_NOT_SERIAL;
        contention_after_commit(self);
    }
    statistics_count_commit(self);
    if (__builtin_expect((self->reads.room | self->undo.room | self->redo.room) > LOG_KEPT, 0))
        shrink_logs(self);
    if (time > self->quiesced) {
        gate_quiesce(self, time);
        self->quiesced = time;
    }
    if (__builtin_expect(self->has_actions, 0))
        actions_commit(self);
}

/* Undoes all of the outermost transaction, and makes its begin the place to go back to. */
static void roll_back(struct tm_thread *self)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t dead_end;

    if (self->checkpoints.used != 0) {
        const struct tm_checkpoint *outermost = LOG_AT(&self->checkpoints, struct tm_checkpoint, 0);

        self->registers = outermost->registers;
        self->properties = outermost->properties;
        self->id = outermost->id;
        self->checkpoints.used = 0;
    }
    dead_end = self->registers.rsp > here ? self->registers.rsp : here;
    undo_log_apply(&self->undo, 0, here - BELOW_STACK, dead_end);
    self->algorithm->rollback(self);
    if (self->has_actions || self->uncaught_now != NULL)
        actions_roll_back(self);
    leave(self);
}

void transaction_restart(struct tm_thread *self, enum tm_cause cause)
{
    if (transaction_is_irrevocable(self) ||
        (cause == TM_NO_MEMORY && self->algorithm == &serial_algorithm))
        tm_fatal(cause == TM_NO_MEMORY ? "no memory for the log of a transaction that may cancel"
                                       : "an irrevocable transaction cannot start again");
    roll_back(self);
    statistics_count_abort(self, cause);
    contention_after_abort(self, cause);
    self->nesting = 1;
    tm_registers_restore(start(self) | ITM_RESTORE_LIVE_VARIABLES, &self->registers);
}

void transaction_leave_undone(struct tm_thread *self)
{
    roll_back(self);
    self->nesting = 0;
    self->serial_reason = TM_NOT_SERIAL;
    contention_after_commit(self);
    statistics_count_abort(self, TM_CANCELLED);
}

void transaction_cancel(struct tm_thread *self, bool outermost)
{
    struct tm_checkpoint *checkpoint = outermost ? NULL : top_checkpoint(self);
    struct tm_registers registers;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    if (transaction_is_irrevocable(self))
        tm_fatal("an irrevocable transaction is cancelled");
    if (checkpoint != NULL) {
        registers = self->registers;
        undo_log_apply(&self->undo, checkpoint->undo, here - BELOW_STACK,
                       registers.rsp > here ? registers.rsp : here);
        actions_roll_back_to(self, checkpoint);
        self->nesting = checkpoint->nesting;
        pop_checkpoint(self);
    } else {
        transaction_leave_undone(self);
        registers = self->registers;
    }
    tm_registers_restore(ITM_ABORT | ITM_RESTORE_LIVE_VARIABLES, &registers);
}

void transaction_become_irrevocable(struct tm_thread *self)
{
    uint64_t time = 0;

    if (transaction_is_irrevocable(self))
        return;
    if (!is_exclusive(self)) {
        statistics_count_switch(self);
        self->serial_reason = TM_SERIAL_SWITCH;
        if (!gate_close_from_within(self))
            transaction_restart(self, TM_SERIAL_TAKEN);
        self->holds_serial = true;
        if (!self->algorithm->commit(self, &time))
            transaction_restart(self, TM_COMMIT_CHANGED);
        gate_become_exclusive(self);
    } else if (self->holds_serial) {
        self->serial_reason = TM_SERIAL_SWITCH;
    }
    self->undo.used = 0;
    self->algorithm = &irrevocable_algorithm;
}

/* ---- threads that end, processes that fork ---- */

void transaction_forget(struct tm_thread *self)
{
    struct log *const logs[] = {&self->reads,       &self->write_locks,  &self->undo,
                                &self->allocations, &self->user_actions, &self->checkpoints,
                                &self->redo,        &self->redo_table,   &self->blocks,
                                &self->blocks_table};

    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        log_destroy(logs[i]);
    self->redo_filter = 0;
    private_blocks_clear(self);
    self->nesting = 0;
    self->catches = 0;
    self->hardware_depth = 0;
    self->holds_serial = self->holds_hourglass = self->counted = false;
    self->holds_sequence_lock = self->writing_back = false;
    __atomic_store_n(&self->searches_clones, false, __ATOMIC_RELEASE);
    self->has_actions = false;
    self->serial_reason = TM_NOT_SERIAL;
    self->aborts_in_row = 0;
    gate_leave(self);
}

void transaction_abandon(struct tm_thread *self)
{
    if (transaction_is_irrevocable(self)) {
        self->undo.used = 0;
        self->nesting = 0;
        leave(self);
        /* It has been done, as far as it came, and so is what was to follow it. */
        if (self->has_actions)
            actions_commit(self);
    } else {
        self->catches = 0; /* the thread's exceptions are gone */
        self->uncaught_now = NULL;
        roll_back(self);
    }
    self->aborts_in_row = 0;
    contention_after_commit(self);
    transaction_forget(self);
}
