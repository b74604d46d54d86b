/*
 * SPDX-License-Identifier: MIT
 *
 * Which writes the algorithms that buffer writes must not buffer, because code without barriers
 * looks at the same bytes before the commit:
 *
 * - Locals of the function with the transaction. gcc leaves out barriers for them there, while
 *   functions that it calls reach them by barriers.
 * - Blocks that the transaction allocates. gcc leaves out barriers for one in the function that
 *   allocates it, from GCC 11 on also where the block is passed to functions that keep no pointer.
 * - Exceptions, which libstdc++ copies without barriers. They are such blocks here, too.
 *
 * Limitation: a block that was allocated before the transaction, by the same function, is such a
 * block to gcc, and cannot be told from others here. docs/transactions.md has the option against
 * it.
 */
#ifndef TM_RUNTIME_ALGORITHMS_IN_PLACE_H
#define TM_RUNTIME_ALGORITHMS_IN_PLACE_H

#include "tm_runtime/logs/private_blocks.h"
#include "tm_runtime/thread.h"

enum write_place {
    WRITE_BUFFERED,
    WRITE_IN_PLACE, /* with a lock, for the range may have bytes of others in it, and an undo log */
    WRITE_PRIVATE,  /* in place, in memory that a roll-back drops: nothing to remember */
};

/*
 * For the algorithm's begin: how far up the frames reach whose locals are written in place. To the
 * end of the thread's stack; outside of that the transaction runs on a stack that the program made,
 * and they reach as far as a frame does. What else lies in the range loses nothing but speed.
 */
static inline void in_place_begin(struct tm_thread *self)
{
    enum { FRAME_MOST = 1 << 20 };
    uintptr_t begin = self->registers.rsp;
    bool is_own = begin >= self->stack_bottom && begin <= self->stack_top;

    self->frames_end = is_own ? self->stack_top : begin + FRAME_MOST;
}

/*
 * Whether the byte is in a frame that the transaction made, or in a block that it allocated. From
 * a nested transaction that may be cancelled on, no block is: its bytes are undone then.
 */
static inline bool is_private(const struct tm_thread *self, const void *address)
{
    uintptr_t at = (uintptr_t)address;

    return (at < self->registers.rsp && at >= (uintptr_t)__builtin_frame_address(0)) ||
           private_blocks_have(self, at);
}

static inline enum write_place write_place_of(const struct tm_thread *self, const void *address)
{
    uintptr_t at = (uintptr_t)address;

    if (is_private(self, address))
        return WRITE_PRIVATE;
    return at >= self->registers.rsp && at < self->frames_end ? WRITE_IN_PLACE : WRITE_BUFFERED;
}

#endif
