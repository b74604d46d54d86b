/*
 * SPDX-License-Identifier: MIT
 *
 * Threads that take turns: one of them runs, the others sleep. And moving from CPU to CPU. Neither
 * changes what a program of allocations means; both change which of an allocator's caches and
 * lists it goes through.
 */
#ifndef MPLACE_FUZZ_TURNS_H
#define MPLACE_FUZZ_TURNS_H

#include <stdbool.h>

/* The calling thread is the first of so many; each runs body when its turn comes. */
void turns_start(unsigned threads, void (*body)(void));

/* From the first thread: runs body in the thread whose turn it is, until it returns. */
void turns_take(void);

/* From within body: it is another thread's turn from when body returns. */
void turns_pass(unsigned thread);
bool turns_passed(void);

/* The running thread goes to another of the CPUs that the process may use. */
void turns_move(unsigned cpu);

/* It is the first thread's turn; all threads may run anywhere again. */
void turns_end(void);

#endif
