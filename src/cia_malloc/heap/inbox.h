/*
 * SPDX-License-Identifier: MIT
 *
 * A sub-heap's inbox: the spans whose blocks were freed by threads that do not hold its lock.
 *
 *     freeing thread          sets the blocks' bits in the span's remote word, and pushes the span
 *                             onto the owner's inbox if the word was 0: inbox_push
 *     holder of the lock      takes the whole inbox, then each span's bits: inbox_take_all,
 *                             inbox_open
 *
 * Pushing is lock-free; taking everything at once leaves no ABA problem.
 */
#ifndef MPLACE_CIA_INBOX_H
#define MPLACE_CIA_INBOX_H

#include "cia_malloc/pages/chunk.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct inbox {
    /* Spans with remote frees, newest first: pushed by compare-and-swap from any thread, taken
       whole by exchange under the sub-heap's lock. */
    _Alignas(LINE_BYTES) _Atomic(struct span_remote *) newest;
    atomic_size_t bytes; /* freed since it was last taken: bounds what lies in it */
};

static inline bool inbox_any(const struct inbox *inbox)
{
    return atomic_load_explicit(&inbox->newest, memory_order_relaxed) != NULL;
}

/* Frees blocks of a span. Returns the bits of those that were free already; the caller ends the
   process then. One atomic or on a line that the owner does not work on, and a push for the first
   of a span's batch. */
uint64_t inbox_push(struct inbox *inbox, struct chunk *chunk, uint32_t span_index, uint64_t bits);

/* After some of those: counts their bytes. True if the inbox is full, and the caller is to drain
   it. */
bool inbox_fills(struct inbox *inbox, size_t bytes);

/* For the holder of the lock: the spans in the inbox, which is empty afterwards; NULL: none. */
struct span_remote *inbox_take_all(struct inbox *inbox);

/* For the holder of the lock: takes the bits of a span from those. Returns the next span. Look at
   span_of_remote before. */
struct span_remote *inbox_open(struct span_remote *remote, uint64_t *bits);

#endif
