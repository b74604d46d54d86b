/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which watched calls (program_calls.h) lock, unlock, and wait for a condition: of pthread's and
 * C11's mutexes, of rwlocks and spin locks. The lock is the first argument of the first two, and
 * the second one of a wait.
 */
#ifndef LOCK_CALLS_H
#define LOCK_CALLS_H

#include "allocation_calls.h"

/* Besides those that allocate. */
enum lock_call {
    LOCK_CALL_LOCK = ALLOCATION_KINDS, /* the lock is held if it returns 0 or EOWNERDEAD, an int */
    LOCK_CALL_UNLOCK,                  /* or what looks like one: pthread_spin_init */
    LOCK_CALL_WAIT,                    /* for a condition: a transaction ends there */
};

/* PROGRAM_CALL_NONE: none of them. */
Int lock_call_kind_of(const HChar *name);

/* Whether the C library made the call, which is at the first instruction of the function. Its locks
 * are its own affair: no lock library elides them, and no program changes them. */
Bool lock_call_is_of_c_library(const struct program_call *call);

#endif
