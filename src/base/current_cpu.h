/*
 * SPDX-License-Identifier: MIT
 *
 * Which CPU runs this thread now. A hint: the thread may move before the caller looks at it.
 */
#ifndef MPLACE_BASE_CURRENT_CPU_H
#define MPLACE_BASE_CURRENT_CPU_H

#include "base/rseq.h"

/* TSC_AUX, by RDPID or RDTSCP, where the processor has one of them; else, and under plain Valgrind,
   sched_getcpu. Never negative. */
unsigned current_cpu_without_rseq(void);

/*
 * A number from 0; not bounded by the number of CPUs that this process may use (affinity,
 * hot-plug). Two loads and a test where rseq is registered: no system call, safe inside a
 * transaction.
 */
static inline unsigned current_cpu(void)
{
    if (__builtin_expect(rseq_is_registered(), 1)) {
        int32_t cpu = rseq_cpu();

        if (__builtin_expect(cpu >= 0, 1)) /* negative: registration failed or was refused */
            return (unsigned)cpu;
    }
    return current_cpu_without_rseq();
}

#endif
