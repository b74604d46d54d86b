/*
 * SPDX-License-Identifier: MIT
 *
 * A sub-heap's inbox: the spans whose blocks were freed by threads that do not hold its lock.
 *
 *     freeing thread          sets the blocks' bits in the span's remote word, and pushes the span
 *                             onto the owner's inbox if the word was 0: remote_list_push
 *     holder of the lock      takes the whole inbox, then each span's bits: remote_list_take_all,
 *                             remote_list_open
 *
 * Pushing is lock-free; taking everything at once leaves no ABA problem.
 */
#ifndef MPLACE_CIA_REMOTE_LIST_H
#define MPLACE_CIA_REMOTE_LIST_H

#include "cia_malloc/pages/chunk.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct remote_list {
    /* Spans with remote frees, newest first: pushed by compare-and-swap from any thread, taken
       whole by exchange under the sub-heap's lock. */
    _Alignas(LINE_BYTES) _Atomic(struct span_remote *) newest;
    atomic_size_t bytes; /* freed since it was last taken: bounds what lies in it */
};

static inline bool remote_list_any(const struct remote_list *inbox)
{
    return atomic_load_explicit(&inbox->newest, memory_order_relaxed) != NULL;
}

/* Frees blocks of a span. Returns the bits of those that were free already; the caller ends the
   process then. One atomic or on a line that the owner does not work on, and a push for the first
   of a span's batch. */
uint64_t remote_list_push(struct remote_list *inbox, struct chunk *chunk, uint32_t span_index,
                          uint64_t bits);

/* After some of those: counts their bytes. True if the inbox is full, and the caller is to drain
   it. */
bool remote_list_fills(struct remote_list *inbox, size_t bytes);

/* For the holder of the lock: the spans in the inbox, which is empty afterwards; NULL: none. */
struct span_remote *remote_list_take_all(struct remote_list *inbox);

/* For the holder of the lock: takes the bits of a span from those. Returns the next span. Look at
   span_of_remote before. */
struct span_remote *remote_list_open(struct span_remote *remote, uint64_t *bits);

#endif
