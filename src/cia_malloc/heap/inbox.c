/*
 * SPDX-License-Identifier: MIT
 *
 * See inbox.h. tests/model/remote_free.pml checks this protocol.
 */
#include "cia_malloc/heap/inbox.h"

/* Bytes that may lie in an inbox before a freeing thread drains it. */
enum { INBOX_BYTES_GREATEST = 4 << 20 };

uint64_t inbox_push(struct inbox *inbox, struct chunk *chunk, uint32_t span_index, uint64_t bits)
{
    struct span_remote *remote = &chunk->remotes[span_index];
    /* Release: our accesses to the block come before its reuse. Acquire: see inbox_open. */
    uint64_t before = atomic_fetch_or_explicit(&remote->freed, bits, memory_order_acq_rel);

    if (before != 0)
        return before &
               bits; /* the thread that set the first bit pushes the span: leave it alone */
    remote->chunk = chunk;
    struct span_remote *head = atomic_load_explicit(&inbox->newest, memory_order_relaxed);
    do
        remote->next = head;
    while (!atomic_compare_exchange_weak_explicit(&inbox->newest, &head, remote,
                                                  memory_order_release, memory_order_relaxed));
    return 0;
}

bool inbox_fills(struct inbox *inbox, size_t bytes)
{
    return atomic_fetch_add_explicit(&inbox->bytes, bytes, memory_order_relaxed) >=
           INBOX_BYTES_GREATEST;
}

struct span_remote *inbox_take_all(struct inbox *inbox)
{
    /* Most slow paths find it empty: read before taking the line for writing. */
    if (!inbox_any(inbox))
        return NULL;
    atomic_store_explicit(&inbox->bytes, 0, memory_order_relaxed);
    /* Acquire pairs with the release of each push: the spans' next words are there. */
    return atomic_exchange_explicit(&inbox->newest, NULL, memory_order_acquire);
}

struct span_remote *inbox_open(struct span_remote *remote, uint64_t *bits)
{
    /* Before the word is zeroed: from then on another thread may push the span. */
    struct span_remote *next = remote->next;

    /* Acquire pairs with the release in inbox_push: what the freeing threads did to the
       blocks happened before they are handed out again. Release pairs with its acquire: the thread
       that finds 0 and pushes the span writes next and chunk after they were read. */
    *bits = atomic_exchange_explicit(&remote->freed, 0, memory_order_acq_rel);
    return next;
}
