/*
 * SPDX-License-Identifier: MIT
 *
 * Choosing a chunk and keeping memory within bounds; see page_heap.h.
 */
#include "cia_malloc/page_heap.h"

#include "base/memory_nodes.h"
#include "base/settings.h"

enum {
    CHUNK_PROBES = 8, /* chunks with room looked at before a new one is mapped */
    /* A chunk with fewer free pages than this is not looked at until it has four times as many. */
    ROOM_PAGES = 16,
    /* Free pages kept populated for the next run: 32 MiB, or an eighth of what is in use. With 8
       MiB a program that frees 25 MB at the end of each phase takes four times as long. */
    DIRTY_PAGES_LEAST = 8192,
    /* Pages purged in one call: 4 MiB take the kernel some hundred microseconds. */
    PURGE_PAGES_MOST = CHUNK_PAGES,

    /*
     * Full halves of chunks are joined to huge pages when so much is in use in the process, and so
     * much of it here: a program with a little on each of many CPUs would get 2 MiB for each. When
     * so much is in use here that a chunk is little beside it, new ones get huge pages at once:
     * one fault in place of 512, and no copy, but the kernel fills in all that is never touched.
     */
    JOIN_BYTES_LEAST = 4 << 20,
    JOIN_PAGES_LEAST = HALF_PAGES,
    HUGE_CHUNKS_PAGES_LEAST = 8 * CHUNK_PAGES,
    /* How far what a sub-heap has in use may be from what is published of it. */
    UNPUBLISHED_PAGES = 256,
};

/* CIA_HUGE_PAGES. Relaxed, as in decay.c. */
enum huge_mode { HUGE_NEVER, HUGE_ALWAYS, HUGE_AUTO };
static _Atomic uint32_t huge_mode = HUGE_AUTO;

/*
 * Pages in runs of all sub-heaps. Each sub-heap adds what it has changed by when that is a MiB, so
 * that CPUs at work do not write a common line.
 */
static _Alignas(LINE_BYTES) atomic_size_t used_pages_published;

void page_heap_read_setting(void)
{
    static const char *const choices[] = {"0", "1", "auto"};

    atomic_store_explicit(&huge_mode,
                          (uint32_t)setting_choice("CIA_HUGE_PAGES", choices, 3, HUGE_AUTO),
                          memory_order_relaxed);
}

void page_heap_initialise(struct page_heap *heap, struct subheap *owner)
{
    heap->owner = owner;
    heap->node = MEMORY_NODE_UNKNOWN;
    heap->purge_at = DIRTY_PAGES_LEAST;
}

size_t page_heap_used_bytes(void)
{
    return atomic_load_explicit(&used_pages_published, memory_order_relaxed) * PAGE_BYTES;
}

static void publish(struct page_heap *heap)
{
    uint32_t change = heap->used_pages - heap->published_pages; /* modulo 2^32 when negative */

    if (change + UNPUBLISHED_PAGES <= 2 * UNPUBLISHED_PAGES)
        return;
    atomic_fetch_add_explicit(&used_pages_published, (size_t)(int32_t)change, memory_order_relaxed);
    heap->published_pages = heap->used_pages;
}

static void insert(struct page_heap *heap, struct chunk *chunk, enum chunk_circle circle)
{
    struct chunk **first = &heap->circle[circle];

    chunk->circle = (uint8_t)circle;
    if (*first == NULL) {
        chunk->next = chunk->previous = chunk;
    } else {
        chunk->next = *first;
        chunk->previous = (*first)->previous;
        chunk->previous->next = chunk;
        (*first)->previous = chunk;
    }
    *first = chunk;
}

static void take_out(struct page_heap *heap, struct chunk *chunk)
{
    struct chunk **first = &heap->circle[chunk->circle];

    if (chunk->next == chunk) {
        *first = NULL;
        return;
    }
    chunk->previous->next = chunk->next;
    chunk->next->previous = chunk->previous;
    if (*first == chunk)
        *first = chunk->next;
}

/* The circle that a chunk should be in, which is where it is while it is between two of them. */
static enum chunk_circle circle_for(const struct chunk *chunk)
{
    uint32_t room = CHUNK_PAGES - chunk->used_pages;

    if (room == CHUNK_PAGES)
        return CHUNKS_EMPTY;
    if (room < ROOM_PAGES)
        return CHUNKS_FULL;
    return chunk->circle == CHUNKS_FULL && room < 4 * ROOM_PAGES ? CHUNKS_FULL : CHUNKS_ROOMY;
}

static void move_to_its_circle(struct page_heap *heap, struct chunk *chunk)
{
    enum chunk_circle circle = circle_for(chunk);

    if (circle == chunk->circle)
        return;
    take_out(heap, chunk);
    insert(heap, chunk, circle);
}

/* Takes pages from one chunk, preferred ones or any that are allowed, and keeps the sums. */
static bool take_from_chunk(struct page_heap *heap, struct chunk *chunk,
                            const struct page_request *request, bool preferred,
                            struct page_run *run)
{
    uint32_t dirty_before = chunk->dirty_pages;
    int first = chunk_take_pages(
        chunk, request->pages, preferred ? request->preferred_modulus : request->modulus,
        preferred ? request->preferred_residue : request->residue, &run->clean);

    if (first < 0)
        return false;
    run->chunk = chunk;
    run->page = (uint32_t)first;
    heap->used_pages += request->pages;
    heap->dirty_pages -= dirty_before - chunk->dirty_pages;
    if (!request->populated_later)
        chunk_touch(chunk, run->page, request->pages);
    move_to_its_circle(heap, chunk);
    return true;
}

/* Goes round a circle for so many chunks. */
static bool take_from_circle(struct page_heap *heap, enum chunk_circle circle, uint32_t probes,
                             const struct page_request *request, bool preferred,
                             struct page_run *run)
{
    struct chunk *begin = heap->circle[circle];
    struct chunk *chunk = begin;

    for (; chunk != NULL && probes > 0; probes--) {
        if (take_from_chunk(heap, chunk, request, preferred, run))
            return true;
        chunk = chunk->next;
        if (chunk == begin)
            break;
    }
    heap->circle[circle] = chunk; /* the next search begins with others */
    return false;
}

static enum huge_mode mode(void)
{
    return (enum huge_mode)atomic_load_explicit(&huge_mode, memory_order_relaxed);
}

static bool wants_huge_chunks(const struct page_heap *heap)
{
    return mode() == HUGE_ALWAYS ||
           (mode() == HUGE_AUTO && heap->used_pages >= HUGE_CHUNKS_PAGES_LEAST &&
            page_source_huge_pages_are_given());
}

static bool wants_to_join(const struct page_heap *heap)
{
    return mode() == HUGE_ALWAYS ||
           (mode() == HUGE_AUTO && heap->used_pages >= JOIN_PAGES_LEAST &&
            page_heap_used_bytes() >= JOIN_BYTES_LEAST && page_source_huge_pages_are_given());
}

/* One chunk a call: a half takes the kernel a millisecond. */
static void join_one_more(struct page_heap *heap)
{
    for (uint32_t i = 0; i < CHUNKS_EMPTY; i++) {
        struct chunk *chunk = heap->circle[i];

        for (bool around = chunk == NULL; !around; around = chunk == heap->circle[i]) {
            if (chunk_join_full_halves(chunk))
                return;
            chunk = chunk->next;
        }
    }
    heap->joining = false;
}

/*
 * When the kernel last refused a chunk, or 0. Relaxed: a thread that reads an old value asks once
 * more, or once less.
 */
static _Atomic uint64_t refused_at;

void page_heap_ask_again(void)
{
    atomic_store_explicit(&refused_at, 0, memory_order_relaxed);
}

bool page_heap_may_trim(const struct page_heap *heap)
{
    return !decay_is_recent(heap->vain_at);
}

static bool take_from_new_chunk(struct page_heap *heap, const struct page_request *request,
                                struct page_run *run)
{
    struct chunk *chunk;

    if (decay_is_recent(atomic_load_explicit(&refused_at, memory_order_relaxed)))
        return false;
    chunk = chunk_create(heap->owner, heap->node, wants_huge_chunks(heap));
    if (chunk == NULL) {
        atomic_store_explicit(&refused_at, decay_clock(), memory_order_relaxed);
        return false;
    }
    insert(heap, chunk, CHUNKS_EMPTY);
    heap->chunk_count++;
    heap->joining = wants_to_join(heap); /* by now the chunks before it are full, and populated */
    return take_from_chunk(heap, chunk, request, true, run);
}

bool page_heap_take(struct page_heap *heap, const struct page_request *request,
                    struct page_run *run)
{
    bool taken = take_from_circle(heap, CHUNKS_ROOMY, CHUNK_PROBES, request, true, run) ||
                 (request->preferred_modulus != request->modulus &&
                  take_from_circle(heap, CHUNKS_ROOMY, CHUNK_PROBES, request, false, run)) ||
                 take_from_circle(heap, CHUNKS_EMPTY, 1, request, true, run) ||
                 take_from_new_chunk(heap, request, run) ||
                 /* No more chunks are to be had: look at all of them. */
                 take_from_circle(heap, CHUNKS_ROOMY, heap->chunk_count, request, false, run) ||
                 take_from_circle(heap, CHUNKS_FULL, heap->chunk_count, request, false, run);

    publish(heap);
    if (heap->joining)
        join_one_more(heap);
    heap->changed_at = decay_clock();
    page_heap_decay(heap, heap->changed_at);
    return taken;
}

bool page_heap_extend(struct page_heap *heap, struct chunk *chunk, uint32_t end, uint32_t pages)
{
    uint32_t dirty_before = chunk->dirty_pages;

    if (!chunk_take_at(chunk, end, pages))
        return false;
    chunk_touch(chunk, end, pages);
    heap->used_pages += pages;
    heap->dirty_pages -= dirty_before - chunk->dirty_pages;
    move_to_its_circle(heap, chunk);
    publish(heap);
    return true;
}

static void destroy(struct page_heap *heap, struct chunk *chunk)
{
    take_out(heap, chunk);
    heap->chunk_count--;
    heap->dirty_pages -= chunk->dirty_pages;
    chunk_destroy(chunk);
}

/* Empty chunks, the one that has been so for longest first; one chunk stays. */
static uint32_t destroy_empty(struct page_heap *heap, uint32_t most)
{
    uint32_t pages = 0;

    while (heap->circle[CHUNKS_EMPTY] != NULL && heap->chunk_count > 1) {
        struct chunk *oldest = heap->circle[CHUNKS_EMPTY]->previous;

        if (oldest->dirty_pages > most - pages)
            break;
        pages += oldest->dirty_pages;
        destroy(heap, oldest);
    }
    return pages;
}

/* From its end: what came last is taken first. */
static uint32_t purge_circle(struct page_heap *heap, enum chunk_circle circle, uint32_t most,
                             enum chunk_split split)
{
    struct chunk *first = heap->circle[circle];
    struct chunk *chunk = first;
    uint32_t purged = 0;

    while (chunk != NULL && purged < most) {
        chunk = chunk->previous;
        if (chunk->dirty_pages > 0)
            purged += chunk_purge(chunk, most - purged, split);
        if (chunk == first)
            break;
    }
    heap->dirty_pages -= purged;
    return purged;
}

static uint32_t purge(struct page_heap *heap, uint32_t most, enum chunk_split split)
{
    static const enum chunk_circle order[] = {CHUNKS_EMPTY, CHUNKS_ROOMY, CHUNKS_FULL};
    uint32_t purged = destroy_empty(heap, most);

    if (heap->circle[CHUNKS_EMPTY] != NULL && heap->chunk_count > 1)
        return purged; /* less than the next chunk: wait until all of that is due */
    /* The last chunk stays although it is empty, but its pages need not. */
    for (size_t i = 0; i < CHUNK_CIRCLES && purged < most; i++)
        purged += purge_circle(heap, order[i], most - purged, split);
    return purged;
}

uint32_t page_heap_purge(struct page_heap *heap)
{
    uint32_t purged = purge(heap, UINT32_MAX, SPLIT_ANY);

    decay_gave_back(&heap->decay, purged);
    return purged;
}

/* So many pages, but a bounded number a call. Returns whether any went. */
static bool purge_some(struct page_heap *heap, uint32_t pages)
{
    uint32_t purged =
        purge(heap, pages < PURGE_PAGES_MOST ? pages : PURGE_PAGES_MOST, SPLIT_IF_HALF_FREE);

    decay_gave_back(&heap->decay, purged);
    return purged > 0;
}

void page_heap_decay(struct page_heap *heap, uint64_t now)
{
    uint32_t due = decay_due(&heap->decay, now, heap->dirty_pages);

    /* None go: an empty chunk is not due as a whole yet, the program has locked its memory, or what
       is free is part of huge pages that stay whole. Do not insist. */
    if (due > 0 && !purge_some(heap, due))
        decay_postpone(&heap->decay);
}

/* Keeps the dirty pages within bounds that hold at any time. */
static void keep_within_bounds(struct page_heap *heap)
{
    if (heap->dirty_pages <= heap->purge_at || heap->dirty_pages <= heap->used_pages / 8)
        return;
    if (purge_some(heap, PURGE_PAGES_MOST))
        heap->purge_at = DIRTY_PAGES_LEAST;
    else
        heap->purge_at = 2 * heap->dirty_pages; /* do not insist, as in page_heap_decay */
}

void page_heap_return(struct page_heap *heap, struct chunk *chunk, uint32_t page, uint32_t pages)
{
    uint32_t dirty_before = chunk->dirty_pages;

    heap->changed_at = decay_clock();
    page_heap_decay(heap, heap->changed_at); /* what was there before these is older */
    chunk_return_pages(chunk, page, pages);
    heap->used_pages -= pages;
    heap->dirty_pages += chunk->dirty_pages - dirty_before;
    publish(heap);
    move_to_its_circle(heap, chunk);
    if (decay_milliseconds() == DECAY_AT_ONCE)
        page_heap_decay(heap, heap->changed_at);
    else if (decay_milliseconds() != DECAY_NEVER)
        keep_within_bounds(heap);
}

static void visit_circle(struct chunk *chunk, void (*visit)(struct chunk *chunk))
{
    struct chunk *begin = chunk;
    uint32_t count = 0;

    /* Chunks leave the circle meanwhile: count them first, and read each one's next before. */
    for (; chunk != NULL; chunk = chunk->next) {
        count++;
        if (chunk->next == begin)
            break;
    }
    for (chunk = begin; count > 0; count--) {
        struct chunk *next = chunk->next;

        visit(chunk);
        chunk = next;
    }
}

void page_heap_visit(struct page_heap *heap, void (*visit)(struct chunk *chunk))
{
    visit_circle(heap->circle[CHUNKS_ROOMY], visit);
    visit_circle(heap->circle[CHUNKS_FULL], visit);
}
