/*
 * SPDX-License-Identifier: MIT
 *
 * See page_work.h.
 */
#include "cia_malloc/pages/page_work.h"

void page_work_add(struct page_heap *heap, struct chunk *chunk)
{
    chunk->work_next = heap->work.chunks;
    heap->work.chunks = chunk;
    heap->chunks_in_work += chunk->worker != NULL;
}

void page_work_take(struct page_heap *heap, struct page_work *work)
{
    *work = heap->work;
    if (work->populate.count > 0)
        atomic_fetch_add_explicit(&heap->populating, 1, memory_order_relaxed);
    heap->work.chunks = NULL;
    heap->work.populate.count = 0;
}

void page_work_do(struct page_heap *heap, struct page_work *work)
{
    struct chunk *next;

    for (uint32_t i = 0; i < work->populate.count; i++)
        page_source_populate(work->populate.range[i].address, work->populate.range[i].bytes);
    /* Release pairs with the acquire in remove_empty. 0: this thread forked meanwhile, in a signal
       handler, and this is the child. */
    if (work->populate.count > 0 &&
        atomic_load_explicit(&heap->populating, memory_order_relaxed) > 0)
        atomic_fetch_sub_explicit(&heap->populating, 1, memory_order_release);
    for (struct chunk *chunk = work->chunks; chunk != NULL; chunk = next) {
        struct chunk *head = atomic_load_explicit(&heap->done, memory_order_relaxed);

        next = chunk->work_next;
        if (chunk->worker == NULL) {
            chunk_destroy(chunk);
            continue;
        }
        chunk_do_work(chunk);
        do
            chunk->work_next = head;
        while (!atomic_compare_exchange_weak_explicit(&heap->done, &head, chunk,
                                                      memory_order_release, memory_order_relaxed));
    }
}

static void finish(struct page_heap *heap, struct chunk *chunk)
{
    uint32_t refused = chunk_finish_work(chunk);

    heap->chunks_in_work--;
    heap->dirty_pages += refused;
    heap->refused_pages = refused > 0 ? heap->dirty_pages : 0;
    chunk_circle_update(heap, chunk);
}

void page_work_take_in(struct page_heap *heap)
{
    if (atomic_load_explicit(&heap->done, memory_order_relaxed) == NULL)
        return;
    struct chunk *chunk = atomic_exchange_explicit(&heap->done, NULL, memory_order_acquire), *next;
    for (; chunk != NULL; chunk = next) {
        next = chunk->work_next;
        finish(heap, chunk);
    }
}

/* Takes back the work of a thread that this process does not have. */
static void finish_abandoned(struct page_heap *heap, struct chunk *chunk)
{
    /* This thread's own goes on, below the signal handler that forked. */
    if (chunk->worker != NULL && chunk->worker != __builtin_thread_pointer())
        finish(heap, chunk);
}

void page_work_after_fork(struct page_heap *heap)
{
    atomic_store_explicit(&heap->populating, 0, memory_order_relaxed);
    page_work_take_in(heap);
    if (heap->chunks_in_work > 0)
        page_heap_visit(heap, finish_abandoned);
}
