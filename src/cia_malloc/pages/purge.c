/*
 * SPDX-License-Identifier: MIT
 *
 * Chooses the unused pages that go back to the kernel, and gives them back: page_source_purge, and
 * page_source_unmap for whole chunks; see purge.h.
 */
#include "cia_malloc/pages/purge.h"

enum {
    /* Free pages kept populated for the next run: 128 MiB, or an eighth of what is in use. A
       program that frees 80 MB between two phases takes 1.1 times as long with 32 MiB. */
    DIRTY_PAGES_LEAST = 32768,
    /* Pages purged by a malloc or free: 4 MiB take the kernel some hundred microseconds. */
    PURGE_PAGES_AT_ONCE = CHUNK_PAGES,
};

void page_work_add(struct page_heap *heap, struct chunk *chunk)
{
    chunk->work_next = heap->work.chunks;
    heap->work.chunks = chunk;
    heap->chunks_in_work += chunk->worker != NULL;
}

/* Chooses pages of a half to purge, from its end, since runs are taken from the beginning. */
static uint32_t choose_in_half(struct chunk *chunk, uint32_t half, uint32_t most)
{
    uint32_t first = half * HALF_PAGES, end = first + HALF_PAGES, chosen = 0;

    if ((chunk->huge_halves & 1u << half) != 0) {
        bool empty = page_bits_count(chunk->used, first, HALF_PAGES) == 0;

        /* The kernel would join again what is split, and fill in what was given back. */
        if (!empty || !chunk->stays_huge) {
            chunk->huge_halves &= (uint8_t) ~(1u << half);
            chunk->splitting |= (uint8_t)(1u << half);
        }
        if (empty) { /* in one piece, as it came */
            page_bits_set(chunk->purging, first, HALF_PAGES, true);
            return chunk_count_dirty(chunk, first, HALF_PAGES);
        }
    }
    for (uint32_t w = end / 64; w-- > first / 64 && chosen < most;) {
        for (uint64_t dirty = chunk_dirty_in_word(chunk, w); dirty != 0 && chosen < most;
             chosen++) {
            uint64_t bit = (uint64_t)1 << (63 - __builtin_clzll(dirty));

            chunk->purging[w] |= bit;
            dirty ^= bit;
        }
    }
    return chosen;
}

/*
 * Chooses at most so many dirty pages of a chunk, or all of a huge page without a page in use if
 * that is more; any other, and each that does not stay huge, is split. Returns how many, at least
 * one. The chunk must have a dirty page, and is in work from then on: those pages count as used.
 */
static uint32_t begin_purge(struct chunk *chunk, uint32_t most)
{
    uint32_t chosen = 0;

    chunk->splitting = 0;
    for (uint32_t half = CHUNK_HALVES; half-- > 0 && chosen < most;) {
        if (chunk_count_dirty(chunk, half * HALF_PAGES, HALF_PAGES) > 0)
            chosen += choose_in_half(chunk, half, most - chosen);
    }
    for (uint32_t w = 0; w < CHUNK_WORDS; w++) {
        chunk->used[w] |= chunk->purging[w];
        chunk->used_pages += (uint32_t)__builtin_popcountll(chunk->purging[w]);
        chunk->purged[w] = 0;
    }
    chunk->dirty_pages -= chosen;
    chunk->worker = __builtin_thread_pointer();
    return chosen;
}

/* Without the lock, by the thread that chose them. */
static void purge_chosen(struct chunk *chunk)
{
    size_t half_bytes = (size_t)HALF_PAGES * PAGE_BYTES;
    uint32_t first = 0;

    for (uint32_t half = 0; half < CHUNK_HALVES; half++) {
        if ((chunk->splitting & 1u << half) != 0)
            page_source_advise(chunk->base + half * half_bytes, half_bytes, MADV_NOHUGEPAGE);
    }
    while ((first = page_bits_next(chunk->purging, first, true)) < CHUNK_PAGES) {
        uint32_t end = page_bits_next(chunk->purging, first, false);
        char *address = chunk->base + (size_t)first * PAGE_BYTES;
        size_t bytes = (size_t)(end - first) * PAGE_BYTES;

        if (page_source_purge(address, bytes))
            page_bits_set(chunk->purged, first, end - first, true);
        first = end;
    }
}

/* Under the lock again. Pages that the kernel refused, as it does where memory is locked, are dirty
   again. */
static void finish(struct page_heap *heap, struct chunk *chunk)
{
    uint32_t dirty_before = chunk->dirty_pages;

    for (uint32_t w = 0; w < CHUNK_WORDS; w++) {
        chunk->used[w] &= ~chunk->purging[w];
        chunk->used_pages -= (uint32_t)__builtin_popcountll(chunk->purging[w]);
        chunk->touched[w] &= ~chunk->purged[w];
        chunk->filled[w] &= ~chunk->purged[w];
        chunk->purging[w] = 0;
    }
    chunk->dirty_pages = chunk_count_dirty(chunk, 0, CHUNK_PAGES);
    chunk->longest_free = CHUNK_PAGES; /* unknown */
    chunk->worker = NULL;
    heap->chunks_in_work--;
    heap->dirty_pages += chunk->dirty_pages - dirty_before;
    heap->refused_pages = chunk->dirty_pages > dirty_before ? heap->dirty_pages : 0;
    chunk_circle_update(heap, chunk);
    /* The rest of its pages goes before those of others, so that few huge pages are split, and
       empty chunks go one by one; but what was refused does not keep others back. */
    if (chunk->dirty_link.next != NULL && heap->refused_pages == 0)
        heap->dirty[chunk->circle] = &chunk->dirty_link;
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

/* Removes empty chunks from the end of their circle, while those have at most so many dirty pages
   in all, and more than so many chunks are left. Returns how many dirty pages they had. */
static uint32_t remove_empty(struct page_heap *heap, uint32_t most, uint32_t stay)
{
    uint32_t pages = 0;

    /* Blocks of a load may be freed by others before their pages are populated. */
    if (atomic_load_explicit(&heap->populating, memory_order_acquire) != 0)
        return 0;
    while (heap->chunk_count > stay) {
        struct chunk *last = chunk_circle_last(heap, CHUNKS_EMPTY);

        if (last == NULL || last->dirty_pages > most - pages)
            break;
        pages += last->dirty_pages;
        circle_remove(&heap->circle[CHUNKS_EMPTY], &last->link);
        chunk_forget_idle_run(last);
        circle_forget(&heap->dirty[CHUNKS_EMPTY], &last->dirty_link);
        heap->chunk_count--;
        heap->mapped_pages -= last->mapped_pages;
        heap->dirty_pages -= last->dirty_pages;
        page_work_add(heap, last);
    }
    return pages;
}

/* May choose more than most, see begin_purge. */
static uint32_t purge_circle(struct page_heap *heap, enum chunk_circle circle, uint32_t most)
{
    struct chunk *chunk;
    uint32_t purged = 0;

    while (purged < most && (chunk = chunk_to_purge(heap, circle)) != NULL) {
        uint32_t chosen = begin_purge(chunk, most - purged);

        purged += chosen;
        heap->dirty_pages -= chosen;
        page_work_add(heap, chunk);
        chunk_circle_update(heap, chunk);
    }
    return purged;
}

static uint32_t purge(struct page_heap *heap, uint32_t most, uint32_t stay)
{
    uint32_t purged = remove_empty(heap, most, stay);

    for (enum chunk_circle circle = 0; circle < CHUNK_CIRCLES && purged < most; circle++)
        purged += purge_circle(heap, circle, most - purged);
    decay_gave_back(&heap->decay, purged);
    return purged;
}

uint32_t purge_all(struct page_heap *heap, bool last_too)
{
    page_work_take_in(heap);
    return purge(heap, heap->dirty_pages, last_too ? 0 : 1);
}

void purge_due(struct page_heap *heap, uint64_t now, uint32_t most)
{
    page_work_take_in(heap);
    uint32_t due = decay_due(&heap->decay, now, heap->dirty_pages);

    /* None go: all is in work, or the program has locked its memory. Do not insist. */
    if (due > 0 && purge(heap, due < most ? due : most, 1) == 0)
        heap->decay.due = 0; /* nothing before the next step */
}

void purge_some(struct page_heap *heap)
{
    heap->changed_at = decay_clock();
    purge_due(heap, heap->changed_at, PURGE_PAGES_AT_ONCE);
}

void purge_after_return(struct page_heap *heap)
{
    int32_t time = decay_milliseconds();
    uint32_t bound = heap->used_pages / 8;

    if (time == DECAY_AT_ONCE)
        purge_due(heap, heap->changed_at, UINT32_MAX);
    if (bound < DIRTY_PAGES_LEAST)
        bound = DIRTY_PAGES_LEAST;
    /* Where the kernel refused to take them it is asked again when there are twice as many. */
    if (bound < 2 * heap->refused_pages)
        bound = 2 * heap->refused_pages;
    if (heap->dirty_pages > bound && time != DECAY_NEVER)
        (void)purge(heap, PURGE_PAGES_AT_ONCE, 1);
}

/* The kernel would join again what is split, and fill in what was given back. */
static void split_now(struct chunk *chunk, uint32_t half)
{
    size_t bytes = (size_t)HALF_PAGES * PAGE_BYTES;

    chunk->huge_halves &= (uint8_t) ~(1u << half);
    page_source_advise(chunk->base + half * bytes, bytes, MADV_NOHUGEPAGE);
    page_bits_set(chunk->filled, half * HALF_PAGES, HALF_PAGES, true);
    chunk->dirty_pages = chunk_count_dirty(chunk, 0, CHUNK_PAGES);
}

bool purge_in_run(struct chunk *chunk, uint32_t first, uint32_t pages, uint32_t *purged)
{
    char *address = chunk->base + (size_t)first * PAGE_BYTES;
    size_t bytes = (size_t)pages * PAGE_BYTES;

    if (chunk->huge_halves != 0 && chunk->stays_huge)
        return false;
    for (uint32_t half = first / HALF_PAGES; half <= (first + pages - 1) / HALF_PAGES; half++) {
        if ((chunk->huge_halves & 1u << half) != 0)
            split_now(chunk, half);
    }
    uint32_t populated = 0;
    for (uint32_t page = first; page < first + pages; page++)
        populated += (chunk->touched[page / 64] | chunk->filled[page / 64]) >> page % 64 & 1;
    if (populated == 0)
        return true;
    if (!page_source_purge(address, bytes))
        return false;
    page_bits_set(chunk->touched, first, pages, false);
    page_bits_set(chunk->filled, first, pages, false);
    *purged += populated;
    return true;
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
        purge_chosen(chunk);
        do
            chunk->work_next = head;
        while (!atomic_compare_exchange_weak_explicit(&heap->done, &head, chunk,
                                                      memory_order_release, memory_order_relaxed));
    }
}

/* Takes back the work of threads that this process does not have. */
static void finish_abandoned(struct page_heap *heap)
{
    for (enum chunk_circle circle = 0; circle < CHUNK_CIRCLES; circle++) {
        struct chunk *chunk = chunk_circle_last(heap, circle), *before;

        for (; chunk != NULL; chunk = before) {
            before = chunk_circle_before(heap, circle, chunk);
            /* This thread's own goes on, below the signal handler that forked. */
            if (chunk->worker != NULL && chunk->worker != __builtin_thread_pointer())
                finish(heap, chunk);
        }
    }
}

void page_work_after_fork(struct page_heap *heap)
{
    atomic_store_explicit(&heap->populating, 0, memory_order_relaxed);
    page_work_take_in(heap);
    if (heap->chunks_in_work > 0) /* else a child of many chunks would look at each for nothing */
        finish_abandoned(heap);
}
