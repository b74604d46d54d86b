/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For how long the running thread runs. Who goes on then, baton.c says.
 *
 * The measure is blocks of code. Lengths are drawn around a mean. All randomness comes from one
 * seed. What remains to chance is when a system call of the host returns.
 */
#ifndef VIRTUAL_PROCESSORS_TURNS_H
#define VIRTUAL_PROCESSORS_TURNS_H

#include "program_calls/valgrind_api.h"

/* A new sequence of lengths and choices. */
void turns_seed(ULong seed);

/* A number around the mean, of the same sequence. */
UInt turns_draw(UInt mean);

/* The running thread is about to enter translated code; and has left it. */
void turns_enter(Guest *guest);
void turns_leave(const Guest *guest);

/* If it has just got the baton and is not alone, it is to have a turn around this mean. */
void turns_begin(Guest *guest, UInt mean);

/* It is to have so many blocks more at most. */
void turns_limit(Guest *guest, UInt most);

/* How many blocks it may have until it leaves translated code. */
UInt turns_left(const Guest *guest);

#endif
