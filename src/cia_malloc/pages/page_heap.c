/*
 * SPDX-License-Identifier: MIT
 *
 * Choosing a chunk and keeping memory within bounds; see page_heap.h.
 */
#include "cia_malloc/pages/page_heap.h"

#include "base/memory_nodes.h"
#include "base/settings.h"
#include "cia_malloc/pages/harden_mode.h"

enum {
    CHUNK_PROBES = 8, /* chunks with room looked at before a new one is mapped */
    /* A chunk with fewer free pages than this is not looked at until it has four times as many. */
    ROOM_PAGES = 16,
    /* Free pages kept populated for the next run: 32 MiB, or an eighth of what is in use. With 8
       MiB a program that frees 25 MB at the end of each phase takes four times as long. */
    DIRTY_PAGES_LEAST = 8192,
    /* Pages purged by a malloc or free: 4 MiB take the kernel some hundred microseconds. */
    PURGE_PAGES_AT_ONCE = CHUNK_PAGES,
    /* The first chunk of a sub-heap, and others where there is no memory for more: a program under
       a narrow limit of its address space, or one that locks all of it, may have no 4 MiB. */
    SMALL_CHUNK_PAGES = (256 << 10) / PAGE_BYTES,

    /*
     * Full halves of chunks are joined to huge pages when so much is in use in the process, and so
     * much of it here: a program with a little on each of many CPUs would get 2 MiB for each. New
     * chunks get none at once: the kernel would fill in the holes that runs leave between them.
     */
    JOIN_BYTES_LEAST = 4 << 20,
    JOIN_PAGES_LEAST = HALF_PAGES,
    /* How far what a sub-heap has in use may be from what is published of it. */
    UNPUBLISHED_PAGES = 256,
};

/* CIA_HUGE_PAGES. Relaxed, as in decay_policy.c. */
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

void page_heap_initialise(struct page_heap *heap, struct subheap *owner,
                          const struct page_heap_lock *lock)
{
    heap->owner = owner;
    heap->lock = lock;
    heap->node = MEMORY_NODE_UNKNOWN;
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

static uint32_t chunks_in_circle(const struct chunk *first)
{
    uint32_t count = 0;

    for (const struct chunk *chunk = first; chunk != NULL; chunk = chunk->next) {
        count++;
        if (chunk->next == first)
            break;
    }
    return count;
}

/* The circle that a chunk should be in, which is where it is while it is between two of them. */
static enum chunk_circle circle_for(const struct chunk *chunk)
{
    uint32_t room = chunk->mapped_pages - chunk->used_pages;

    if (chunk->used_pages == 0)
        return CHUNKS_EMPTY;
    if (room < ROOM_PAGES)
        return CHUNKS_FULL;
    return chunk->circle == CHUNKS_FULL && room < 4 * ROOM_PAGES ? CHUNKS_FULL : CHUNKS_WITH_SLACK;
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

static bool wants_to_join(const struct page_heap *heap)
{
    return mode() == HUGE_ALWAYS ||
           (mode() == HUGE_AUTO && heap->used_pages >= JOIN_PAGES_LEAST &&
            page_heap_used_bytes() >= JOIN_BYTES_LEAST && page_source_huge_pages_are_given());
}

/* The chunk is in work until page_heap_take_in. */
static void add_work(struct page_heap *heap, struct chunk *chunk)
{
    chunk->work_next = heap->work.chunks;
    heap->work.chunks = chunk;
    heap->chunks_in_work++;
}

/* Once the lock is given up. The chunk is in no circle. */
static void give_back_later(struct page_heap *heap, struct chunk *chunk)
{
    chunk->work_next = heap->work.destroy;
    heap->work.destroy = chunk;
}

/* One chunk a call: a half takes the kernel a millisecond. */
static void join_one_more(struct page_heap *heap)
{
    for (uint32_t i = 0; i < CHUNKS_EMPTY; i++) {
        struct chunk *chunk = heap->circle[i];

        for (bool around = chunk == NULL; !around; around = chunk == heap->circle[i]) {
            if (chunk->worker == NULL && chunk_begin_join(chunk)) {
                add_work(heap, chunk);
                return;
            }
            chunk = chunk->next;
        }
    }
    heap->joining = false;
}

void page_heap_take_work(struct page_heap *heap, struct page_work *work)
{
    *work = heap->work;
    if (work->populate.count > 0)
        atomic_fetch_add_explicit(&heap->populating, 1, memory_order_relaxed);
    heap->work.chunks = heap->work.destroy = NULL;
    heap->work.populate.count = 0;
}

void page_work_do(struct page_heap *heap, struct page_work *work)
{
    struct chunk *next;

    populate_now(&work->populate);
    /* Release pairs with the acquire in remove_empty. 0: this thread forked meanwhile, in a signal
       handler, and this is the child. */
    if (work->populate.count > 0 &&
        atomic_load_explicit(&heap->populating, memory_order_relaxed) > 0)
        atomic_fetch_sub_explicit(&heap->populating, 1, memory_order_release);
    for (struct chunk *chunk = work->destroy; chunk != NULL; chunk = next) {
        next = chunk->work_next;
        chunk_destroy(chunk);
    }
    for (struct chunk *chunk = work->chunks; chunk != NULL; chunk = next) {
        struct chunk *head = atomic_load_explicit(&heap->done, memory_order_relaxed);

        next = chunk->work_next;
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
    move_to_its_circle(heap, chunk);
}

void page_heap_take_in(struct page_heap *heap)
{
    if (atomic_load_explicit(&heap->done, memory_order_relaxed) == NULL)
        return;
    struct chunk *chunk = atomic_exchange_explicit(&heap->done, NULL, memory_order_acquire), *next;
    for (; chunk != NULL; chunk = next) {
        next = chunk->work_next;
        finish(heap, chunk);
    }
}

void page_heap_after_fork(struct page_heap *heap)
{
    atomic_store_explicit(&heap->populating, 0, memory_order_relaxed);
    page_heap_take_in(heap);
    for (uint32_t i = 0; i < CHUNK_CIRCLES && heap->chunks_in_work > 0; i++) {
        struct chunk *chunk = heap->circle[i];

        for (uint32_t count = chunks_in_circle(chunk); count > 0; count--) {
            struct chunk *next = chunk->next;

            /* This thread's own goes on, below the signal handler that forked. */
            if (chunk->worker != NULL && chunk->worker != __builtin_thread_pointer())
                finish(heap, chunk);
            chunk = next;
        }
    }
}

/*
 * When the kernel last refused a chunk, or 0. Relaxed: a thread that reads an old value asks once
 * more, or once less.
 */
static _Atomic uint64_t refused_at;

/* This thread asks all the same, once: others may be refused meanwhile. */
static __attribute__((tls_model("initial-exec"))) _Thread_local bool asks_again;

void page_heap_ask_again(void)
{
    asks_again = true;
}

bool page_heap_may_trim(const struct page_heap *heap)
{
    return !decay_is_recent(heap->gather_failed_at);
}

/* The least that serves the request at any residue. */
static uint32_t small_chunk_pages(const struct page_request *request)
{
    uint32_t least = request->pages + request->preferred_modulus;

    return least <= SMALL_CHUNK_PAGES ? SMALL_CHUNK_PAGES : CHUNK_PAGES;
}

static bool take_from_new_chunk(struct page_heap *heap, const struct page_request *request,
                                struct page_run *run)
{
    if (!asks_again && decay_is_recent(atomic_load_explicit(&refused_at, memory_order_relaxed)))
        return false;
    asks_again = false;
    bool huge = mode() == HUGE_ALWAYS;
    /* Hardened, a chunk has guard pages at its ends: it is to fill its 4 MiB. */
    uint32_t small = harden_is_on() ? CHUNK_PAGES : small_chunk_pages(request);
    uint32_t pages = heap->chunk_count == 0 && !huge ? small : CHUNK_PAGES;

    heap->lock->give_up(heap->owner);
    struct chunk *chunk = chunk_create(pages, heap->node, huge);
    if (chunk == NULL && small < pages)
        chunk = chunk_create(small, heap->node, false);
    heap->lock->take(heap->owner);
    /* Other threads may have found no room either, and some may be before this one. Else each of
       them would add a chunk for one run. */
    bool found = take_from_circle(heap, CHUNKS_WITH_SLACK, CHUNK_PROBES, request, true, run) ||
                 take_from_circle(heap, CHUNKS_EMPTY, CHUNK_PROBES, request, true, run);
    if (chunk == NULL && !found)
        atomic_store_explicit(&refused_at, decay_clock(), memory_order_relaxed);
    if (chunk == NULL)
        return found;
    chunk->owner = heap->owner;
    chunk->pending = &heap->work.populate;
    if (found) {
        give_back_later(heap, chunk);
        return true;
    }
    insert(heap, chunk, CHUNKS_EMPTY);
    heap->chunk_count++;
    heap->joining = wants_to_join(heap); /* by now the chunks before it are full, and populated */
    return take_from_chunk(heap, chunk, request, true, run);
}

/* For the paths that allocate and free: a little at a time. */
static void decay_some(struct page_heap *heap)
{
    heap->changed_at = decay_clock();
    page_heap_decay(heap, heap->changed_at, PURGE_PAGES_AT_ONCE);
}

bool page_heap_take(struct page_heap *heap, const struct page_request *request,
                    struct page_run *run)
{
    decay_some(heap); /* before: what comes and goes all the time is not new each time */
    bool taken =
        take_from_circle(heap, CHUNKS_WITH_SLACK, CHUNK_PROBES, request, true, run) ||
        (request->preferred_modulus != request->modulus &&
         take_from_circle(heap, CHUNKS_WITH_SLACK, CHUNK_PROBES, request, false, run)) ||
        take_from_circle(heap, CHUNKS_EMPTY, CHUNK_PROBES, request, true, run) ||
        take_from_new_chunk(heap, request, run) ||
        /* No more chunks are to be had: look at all of them. */
        take_from_circle(heap, CHUNKS_WITH_SLACK, heap->chunk_count, request, false, run) ||
        take_from_circle(heap, CHUNKS_FULL, heap->chunk_count, request, false, run);

    publish(heap);
    if (heap->joining)
        join_one_more(heap);
    return taken;
}

static void remove_chunk(struct page_heap *heap, struct chunk *chunk)
{
    take_out(heap, chunk);
    heap->chunk_count--;
    heap->dirty_pages -= chunk->dirty_pages;
    give_back_later(heap, chunk);
}

/* Empty chunks, the one that has been so for longest first, but so many chunks stay. */
static uint32_t remove_empty(struct page_heap *heap, uint32_t most, uint32_t stay)
{
    uint32_t pages = 0;

    /* Blocks of a load may be freed by others before their pages are populated. */
    if (atomic_load_explicit(&heap->populating, memory_order_acquire) != 0)
        return 0;
    while (heap->circle[CHUNKS_EMPTY] != NULL && heap->chunk_count > stay) {
        struct chunk *oldest = heap->circle[CHUNKS_EMPTY]->previous;

        if (oldest->dirty_pages > most - pages || oldest->worker != NULL)
            break;
        pages += oldest->dirty_pages;
        remove_chunk(heap, oldest);
    }
    return pages;
}

/* From its end: what came last is taken first. May choose more than most, see chunk_begin_purge. */
static uint32_t purge_circle(struct page_heap *heap, enum chunk_circle circle, uint32_t most)
{
    struct chunk *chunk = heap->circle[circle] != NULL ? heap->circle[circle]->previous : NULL;
    uint32_t purged = 0;

    for (uint32_t count = chunks_in_circle(chunk); count > 0 && purged < most; count--) {
        struct chunk *next = chunk->previous;

        if (chunk->dirty_pages > 0 && chunk->worker == NULL) {
            uint32_t chosen = chunk_begin_purge(chunk, most - purged);

            purged += chosen;
            heap->dirty_pages -= chosen;
            if (chosen > 0)
                add_work(heap, chunk);
            move_to_its_circle(heap, chunk);
        }
        chunk = next;
    }
    return purged;
}

static uint32_t purge(struct page_heap *heap, uint32_t most, uint32_t stay)
{
    static const enum chunk_circle order[] = {CHUNKS_EMPTY, CHUNKS_WITH_SLACK, CHUNKS_FULL};
    uint32_t purged = remove_empty(heap, most, stay);

    for (size_t i = 0; i < CHUNK_CIRCLES && purged < most; i++)
        purged += purge_circle(heap, order[i], most - purged);
    decay_gave_back(&heap->decay, purged);
    return purged;
}

uint32_t page_heap_purge(struct page_heap *heap, bool last_too)
{
    page_heap_take_in(heap);
    return purge(heap, UINT32_MAX, last_too ? 0 : 1);
}

void page_heap_decay(struct page_heap *heap, uint64_t now, uint32_t most)
{
    page_heap_take_in(heap);
    uint32_t due = decay_due(&heap->decay, now, heap->dirty_pages);

    /* None go: all is in work, or the program has locked its memory. Do not insist. */
    if (due > 0 && purge(heap, due < most ? due : most, 1) == 0)
        decay_postpone(&heap->decay);
}

/* Keeps the dirty pages within bounds that hold at any time. Where the kernel refused to take them
   it is asked again when there are twice as many. */
static void keep_within_bounds(struct page_heap *heap)
{
    uint32_t bound = heap->used_pages / 8;

    if (bound < DIRTY_PAGES_LEAST)
        bound = DIRTY_PAGES_LEAST;
    if (bound < 2 * heap->refused_pages)
        bound = 2 * heap->refused_pages;
    if (heap->dirty_pages > bound)
        (void)purge(heap, PURGE_PAGES_AT_ONCE, 1);
}

void page_heap_return(struct page_heap *heap, struct chunk *chunk, uint32_t page, uint32_t pages)
{
    decay_some(heap); /* what was there before these is older */
    uint32_t dirty_before = chunk->dirty_pages;

    chunk_return_pages(chunk, page, pages);
    heap->used_pages -= pages;
    heap->dirty_pages += chunk->dirty_pages - dirty_before;
    publish(heap);
    move_to_its_circle(heap, chunk);
    if (decay_milliseconds() == DECAY_AT_ONCE)
        page_heap_decay(heap, heap->changed_at, UINT32_MAX);
    else if (decay_milliseconds() != DECAY_NEVER)
        keep_within_bounds(heap);
}

static void visit_circle(struct chunk *chunk, void (*visit)(struct chunk *chunk))
{
    /* Chunks leave the circle meanwhile: count them first, and read each one's next before. */
    for (uint32_t count = chunks_in_circle(chunk); count > 0; count--) {
        struct chunk *next = chunk->next;

        visit(chunk);
        chunk = next;
    }
}

void page_heap_visit(struct page_heap *heap, void (*visit)(struct chunk *chunk))
{
    visit_circle(heap->circle[CHUNKS_WITH_SLACK], visit);
    visit_circle(heap->circle[CHUNKS_FULL], visit);
}
