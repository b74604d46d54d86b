/*
 * SPDX-License-Identifier: MIT
 *
 * The functions of condition variables and semaphores that libttstle_lock.so interposes beside the
 * waits (condition.h); see signals.c.
 */
#ifndef MPLACE_SIGNALS_H
#define MPLACE_SIGNALS_H

#include <stdbool.h>

/* Looks up libc's functions, and reads TTSTLE_DEFER. usable: sections will be elided; before the
 * first is. */
void signals_start(bool usable);

/* Handlers of fork. */
void signals_before_fork(void);
void signals_after_fork_in_child(void);

#endif
