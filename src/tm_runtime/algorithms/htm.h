/*
 * SPDX-License-Identifier: MIT
 *
 * htm: a transaction that cannot cancel itself is first tried as a hardware transaction (Intel
 * RTM), without barriers; then it runs under eager.
 */
#ifndef TM_RUNTIME_ALGORITHMS_HTM_H
#define TM_RUNTIME_ALGORITHMS_HTM_H

#include "tm_runtime/thread.h"

/*
 * Begins in hardware, or as part of a hardware transaction that runs: returns the actions of the
 * code. 0: begin in software. An abort comes back here and is counted.
 */
uint32_t htm_try_begin(struct tm_thread *self, uint32_t properties,
                       const struct tm_registers *registers);

/* Ends the innermost transaction of a thread with a hardware_depth. */
void htm_commit(struct tm_thread *self);

__attribute__((noreturn, cold)) void htm_abort_for_software(void);

/* What only software can do: if in hardware, does not return; the transaction runs in software. */
static inline void htm_leave_for_software(const struct tm_thread *self)
{
    if (__builtin_expect(self != NULL && self->hardware_depth != 0, 0))
        htm_abort_for_software();
}

#endif
