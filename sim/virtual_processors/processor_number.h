/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The instruction that tells a program without a system call at which processor it is: RDTSCP.
 */
#ifndef VIRTUAL_PROCESSORS_PROCESSOR_NUMBER_H
#define VIRTUAL_PROCESSORS_PROCESSOR_NUMBER_H

#include "program_calls/core_internals.h"

/* Calls of VEX's helper for RDTSCP among the block's statements from `first` on go to ours, which
 * gives the number of the virtual processor. */
void processor_number_replace(const IRSB *block, Int first);

#endif
