/*
 * SPDX-License-Identifier: MIT
 *
 * A kernel that refuses. A program with refusals_kernel.c has definitions of mmap, munmap, mremap,
 * mprotect, madvise and syscall that stand before libc's for every library: what a preloaded
 * allocator asks for comes by here, is counted, and is refused as planned. An allocator inside libc
 * calls its own functions and is never refused.
 */
#ifndef MPLACE_REFUSALS_KERNEL_H
#define MPLACE_REFUSALS_KERNEL_H

#include <stdatomic.h>
#include <stddef.h>

enum {
    REFUSE_MADVISE = 1,
    REFUSE_MUNMAP = 2,
    REFUSE_OTHERS = 4,
    REFUSE_ALL = REFUSE_MADVISE | REFUSE_MUNMAP | REFUSE_OTHERS,
};

/*
 * Shared with children of fork. Of the requests of these kinds, counted over all threads, those
 * from the given number up to but without the other are refused. from == 0: nothing is counted, and
 * nothing refused. The plan is changed while no thread makes requests, or only to end it.
 */
struct refusals {
    atomic_ulong made, refused;
    atomic_ulong from, to;
    unsigned kinds; /* REFUSE_ALL, unless somebody changes it */
};

extern struct refusals *plan;

/* How often the calling thread was refused something. */
extern _Thread_local unsigned long refused_here;

/* Once, before anything is planned; ends the process when it cannot. */
void refusals_open(void);

/* Nothing made or refused yet; from as above, and how many in a row, 0 for all that follow. */
void refusals_plan(unsigned long from, unsigned long width);

/* A system call that is neither counted nor refused; its answer is the kernel's. */
long refusals_raw(long number, long a, long b, long c, long d, long e, long f);

/* Bytes of memory that this process has, by the kernel's count. */
size_t refusals_resident(void);

#endif
