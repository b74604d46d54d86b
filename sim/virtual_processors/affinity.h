/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What system calls say of processors: those of the emulation, not the host's. Which of them a
 * thread is on, which it may use, and how many there are: glibc counts them in three files of
 * sysfs.
 */
#ifndef VIRTUAL_PROCESSORS_AFFINITY_H
#define VIRTUAL_PROCESSORS_AFFINITY_H

#include "program_calls/valgrind_api.h"

/* The running thread is back from this call. */
void affinity_called(ThreadId thread, UInt number, const UWord *arguments, SysRes result);

#endif
