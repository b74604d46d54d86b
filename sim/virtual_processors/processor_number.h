/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The instructions that tell a program without a system call at which processor it is: RDTSCP and
 * RDPID, on every host, of the virtual processor.
 */
#ifndef VIRTUAL_PROCESSORS_PROCESSOR_NUMBER_H
#define VIRTUAL_PROCESSORS_PROCESSOR_NUMBER_H

#include "program_calls/core_internals.h"

/* What VEX is to know of the host, so that it decodes RDTSCP. */
VexArchInfo processor_number_known(const VexArchInfo *host);

/* Of the block's statements from `first` on, calls of VEX's helper for RDTSCP go to ours, and so do
 * those of CPUID's, which is asked and then says RDPID, too. */
void processor_number_replace(const IRSB *block, Int first);

/* If the code is RDPID: appends its IR, and says what it is as the decoder does. */
Bool processor_number_decode(IRSB *block, const UChar *code, Addr address, struct decoded *decoded);

#endif
