/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks freed by threads that do not hold the lock of the sub-heap that owns them.
 *
 *     freeing thread          sets the blocks' bits in the span's remote word, and pushes the span
 *                             onto the owner's inbox if the word was 0: subheap_free_remote
 *     holder of the lock      takes the whole inbox, then each span's bits: subheap_drain, in
 *                             malloc's slow path and in housekeeping
 *
 * The thread that fills the inbox drains it, for the owner may never come back to its CPU: once it
 * has given up a lock that it holds (full_inbox, subheap_unlock_and_work in subheap.c), and not
 * while another thread has the owner's. Then the next one that frees to it does, for the inbox
 * stays full. Pushing is lock-free; taking everything at once leaves no ABA problem.
 * tests/model/remote_free.pml checks this protocol.
 */
#include "cia_malloc/heap/subheap.h"

#include "base/probes.h"

/* Bytes that may lie in an inbox before a freeing thread drains it. */
enum { INBOX_BYTES_GREATEST = 4 << 20 };

void subheap_free_remote(struct subheap *locked, struct chunk *chunk, uint32_t span_index,
                         uint64_t bits, size_t bytes)
{
    struct span_remote *remote = &chunk->remotes[span_index];
    /* Read before the chunk may be gone, if these are its last blocks; a sub-heap is for ever. */
    struct subheap *owner = chunk->owner;
    /* Release: our accesses to the blocks come before their reuse. Acquire: see subheap_drain. */
    uint64_t before = atomic_fetch_or_explicit(&remote->freed, bits, memory_order_acq_rel);

    if (__builtin_expect((before & bits) != 0, 0))
        subheap_double_free(&chunk->spans[span_index], before & bits);
    /* Else the thread that set the first bit pushes the span: leave it alone. */
    if (before == 0) {
        struct span_remote *head = atomic_load_explicit(&owner->inbox.newest, memory_order_relaxed);

        remote->chunk = chunk;
        do
            remote->next = head;
        while (!atomic_compare_exchange_weak_explicit(&owner->inbox.newest, &head, remote,
                                                      memory_order_release, memory_order_relaxed));
    }
    if (atomic_fetch_add_explicit(&owner->inbox.bytes, bytes, memory_order_relaxed) <
        INBOX_BYTES_GREATEST)
        return;
    if (locked != NULL)
        locked->full_inbox = owner;
    else
        subheap_drain_soon(owner);
}

void subheap_drain(struct subheap *heap)
{
    /* Most slow paths find it empty: read before taking the line for writing. */
    if (!subheap_has_inbox(heap))
        return;
    atomic_store_explicit(&heap->inbox.bytes, 0, memory_order_relaxed);
    /* Acquire pairs with the release of each push: the spans' next words are there. */
    struct span_remote *remote =
        atomic_exchange_explicit(&heap->inbox.newest, NULL, memory_order_acquire);
    while (remote != NULL) {
        struct span *span = span_of_remote(remote);
        /* Before the word is zeroed: from then on another thread may push the span. */
        struct span_remote *next = remote->next;
        /* Acquire pairs with the release in subheap_free_remote: what the freeing threads did to
           the blocks happened before they are handed out again. Release pairs with its acquire: the
           thread that finds 0 and pushes the span writes next and chunk after they were read. */
        uint64_t bits = atomic_exchange_explicit(&remote->freed, 0, memory_order_acq_rel);

        PROBE3(remote_free_drain, heap->number, span, bits);
        subheap_free_local(heap, span, bits);
        remote = next;
    }
}

void subheap_drain_soon(struct subheap *heap)
{
    if (!subheap_try_lock(heap))
        return;
    subheap_drain(heap);
    subheap_unlock(heap);
}
