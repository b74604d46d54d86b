/*
 * SPDX-License-Identifier: MIT
 *
 * Included before everything else where the scripted back end also stands in for PAUSE and
 * sched_yield, so that a test can count them and fail at one inside a transaction.
 */
#ifndef MPLACE_FAKE_PAUSE_H
#define MPLACE_FAKE_PAUSE_H

#include <sched.h>

void fake_pause(void);
int fake_yield(void);

#define __builtin_ia32_pause fake_pause
#define sched_yield          fake_yield

#endif
