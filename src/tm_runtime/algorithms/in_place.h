/*
 * SPDX-License-Identifier: MIT
 *
 * Which writes the algorithms that buffer writes must not buffer, because code without barriers
 * looks at the same bytes before the commit: those to the thread's own stack, for gcc leaves out
 * barriers for locals of the function with the transaction while functions that it calls reach the
 * same locals by barriers; and those to the exception that is thrown, which libstdc++ fills in by
 * both.
 */
#ifndef TM_RUNTIME_ALGORITHMS_IN_PLACE_H
#define TM_RUNTIME_ALGORITHMS_IN_PLACE_H

#include "tm_runtime/thread.h"

enum write_place {
    WRITE_BUFFERED,
    WRITE_IN_PLACE, /* with a lock, for the range may have bytes of others in it, and an undo log */
    WRITE_PRIVATE,  /* in place, in frames that a roll-back drops: nothing to remember */
};

static inline enum write_place write_place_of(const struct tm_thread *self, const void *address)
{
    uintptr_t at = (uintptr_t)address;

    if (at < self->stack_top && at >= (uintptr_t)__builtin_frame_address(0))
        return at >= self->registers.rsp ? WRITE_IN_PLACE : WRITE_PRIVATE;
    return at >= self->exceptions_start && at < self->exceptions_end ? WRITE_IN_PLACE
                                                                     : WRITE_BUFFERED;
}

#endif
