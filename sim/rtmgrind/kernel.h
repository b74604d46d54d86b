/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where the program meets the kernel: system calls and what they read and write, signals, faults,
 * fork, the end of threads.
 */
#ifndef RTMGRIND_KERNEL_H
#define RTMGRIND_KERNEL_H

/* Registers with the core. */
void kernel_init(void);

#endif
