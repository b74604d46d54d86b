/*
 * SPDX-License-Identifier: MIT
 *
 * A kernel that refuses. Once a program has called refusals_open, a filter of system calls
 * (seccomp) stops each call that an allocator may want, whoever makes it and however, and asks
 * another process, which counts it and refuses it as planned.
 */
#ifndef MPLACE_REFUSALS_KERNEL_H
#define MPLACE_REFUSALS_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    REFUSE_MADVISE = 1,
    REFUSE_MUNMAP = 2,
    REFUSE_OTHERS = 4,
    REFUSE_ALL = REFUSE_MADVISE | REFUSE_MUNMAP | REFUSE_OTHERS,
    REFUSALS_THREADS = 1 << 16,
    REFUSALS_UNCOUNTED = -2, /* the file of an mmap that is neither counted nor refused */
};

/*
 * Shared with children of fork. Of the requests of these kinds, counted over all threads, those
 * from the given number up to but without the other are refused. from == 0: nothing is counted, and
 * nothing refused. The plan is changed while no thread makes requests, or only to end it.
 */
struct refusals {
    atomic_ulong made, refused;
    atomic_ulong from, to;
    unsigned kinds;                            /* REFUSE_ALL, unless somebody changes it */
    atomic_ulong refused_of[REFUSALS_THREADS]; /* by thread number, modulo their count */
};

extern struct refusals *plan;

/* How often the calling thread, or one of its number before it, was refused something. */
unsigned long refusals_here(void);

/* Once, while there is one thread and before anything is planned; ends the process when it cannot:
   with 77 where the kernel has no such filters. */
void refusals_open(void);

/* Whether an allocator of ours is loaded. glibc's leaves errno changed where one way of several is
   refused. */
bool refusals_are_promised(void);

/* Nothing made or refused yet; from as above, and how many in a row, 0 for all that follow. Without
   an allocator of ours nothing is refused. */
void refusals_plan(unsigned long from, unsigned long width);

/* Bytes of memory that this process has, by the kernel's count. */
size_t refusals_resident(void);

#endif
