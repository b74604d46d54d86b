/*
 * SPDX-License-Identifier: MIT
 *
 * The life of a transaction: begin, nesting, commit, abort, and the switch to serial mode. The
 * entry points of abi/ and the algorithms stand on it.
 */
#ifndef TM_RUNTIME_TRANSACTION_H
#define TM_RUNTIME_TRANSACTION_H

#include "tm_runtime/thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Begins in software; returns the actions of the code. */
uint32_t transaction_begin(struct tm_thread *self, uint32_t properties,
                           const struct tm_registers *registers);

void transaction_commit(struct tm_thread *self);

/* The outermost transaction starts again. */
__attribute__((noreturn, cold)) void transaction_restart(struct tm_thread *self,
                                                         enum tm_cause cause);

/* The program cancels the innermost transaction that can be, or the outermost. */
__attribute__((noreturn)) void transaction_cancel(struct tm_thread *self, bool outermost);

/* From now on nobody else runs, and the transaction will commit. May start it again in order to. */
void transaction_become_irrevocable(struct tm_thread *self);

/* Whether it can still start again. */
bool transaction_is_irrevocable(const struct tm_thread *self);

/* The outermost transaction has not been: all is undone, and the code behind it goes on. */
void transaction_leave_undone(struct tm_thread *self);

/* A thread ends inside a transaction: what it did is undone, unless it is irrevocable. */
void transaction_abandon(struct tm_thread *self);

/* Empties a descriptor; undoes and unlocks nothing. In the child of a fork. */
void transaction_forget(struct tm_thread *self);

/* For the library's constructor. algorithm: NULL for serial mode. */
struct transaction_settings {
    const struct algorithm *algorithm;
    bool hardware_first; /* htm */
    bool alone_in_place; /* one thread needs no algorithm */
};
extern struct transaction_settings transaction_settings;

#endif
