/*
 * SPDX-License-Identifier: MIT
 *
 * Which CPU runs this thread now. A hint: the thread may move before the caller looks at it.
 */
#ifndef MPLACE_BASE_CURRENT_CPU_H
#define MPLACE_BASE_CURRENT_CPU_H

#include <stddef.h>
#include <stdint.h>

/*
 * glibc 2.35 and later register one restartable-sequence area a thread and publish where it is; the
 * kernel keeps cpu_id in it up to date. Weak: an older libc simply does not have them.
 */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

enum { RSEQ_CPU_ID_OFFSET = 4 }; /* struct rseq of <linux/rseq.h>: cpu_id_start, cpu_id, ... */

/* RDTSCP's TSC_AUX where the processor has it, else sched_getcpu. Never negative. */
unsigned current_cpu_without_rseq(void);

/*
 * A number from 0; not bounded by the number of CPUs that this process may use (affinity,
 * hot-plug). Two loads and a test where rseq is registered: no system call, safe inside a
 * transaction.
 */
static inline unsigned current_cpu(void)
{
    if (__builtin_expect(&__rseq_size != NULL && __rseq_size != 0, 1)) {
        const char *area = (const char *)__builtin_thread_pointer() + __rseq_offset;
        int32_t cpu = *(const volatile int32_t *)(area + RSEQ_CPU_ID_OFFSET);

        if (__builtin_expect(cpu >= 0, 1)) /* negative: registration failed or was refused */
            return (unsigned)cpu;
    }
    return current_cpu_without_rseq();
}

#endif
