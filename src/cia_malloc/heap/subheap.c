/*
 * SPDX-License-Identifier: MIT
 *
 * The lock and the runs of one sub-heap; see subheap.h. Every path here is off the fast one: once a
 * span or a run.
 */
#include "cia_malloc/heap/subheap.h"

#include "base/probes.h"
#include "base/report.h"
#include "base/spin.h"
#include "cia_malloc/heap/colours/populate.h"
#include "cia_malloc/pages/purge.h"

/* L2 sets in pages, a power of two. */
static uint32_t l2_pages = 1;

void subheap_initialise(uint32_t l2_sets)
{
    uint32_t pages = l2_sets / LINES_PER_PAGE;

    /* A larger L2 is spread over as well by 64 pages. */
    l2_pages = pages < 1 ? 1 : pages > 64 ? 64 : pages;
}

/* Returns how many are left. The child of a fork forgets all sleepers, its own thread too, if a
   signal handler forked above it: the count stays at 0 then. */
static uint32_t leave_sleepers(struct subheap *heap)
{
    uint32_t count = atomic_load_explicit(&heap->sleepers, memory_order_relaxed);

    while (count > 0 &&
           !atomic_compare_exchange_weak_explicit(&heap->sleepers, &count, count - 1,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    return count > 0 ? count - 1 : 0;
}

/* Marks the lock for whoever holds it now; returns what it then is, or 0: the holder has just
   changed. */
static uint32_t mark_as_awaited(struct subheap *heap)
{
    uint32_t held = atomic_load_explicit(&heap->lock, memory_order_relaxed);

    if (held == 0)
        return 0;
    if ((held & SUBHEAP_AWAITED) == 0 &&
        !atomic_compare_exchange_strong_explicit(&heap->lock, &held, held | SUBHEAP_AWAITED,
                                                 memory_order_relaxed, memory_order_relaxed))
        return 0;
    return held | SUBHEAP_AWAITED;
}

bool subheap_lock_by_spinning(struct subheap *heap)
{
    enum { SPINS = 200 };

    for (int spins = 0; spins < SPINS; spins++) {
        if (subheap_try_lock(heap))
            return true;
        if ((atomic_load_explicit(&heap->lock, memory_order_relaxed) & SUBHEAP_AWAITED) != 0)
            return false;
        spin_pause();
    }
    (void)mark_as_awaited(heap);
    return false;
}

/*
 * in_turn: of however many threads sleep, at most LOOKS_PER_PAUSE or so look again in the time of
 * one pause. If all of them did, thousands would take the processors from who holds the lock.
 *
 * A release wakes one sleeper, and leaves no mark. Who was woken sets it again for the next one, on
 * the lock that it takes or that another thread took before it. So each sleep costs those who
 * release the lock one system call, however long it is until who was woken runs.
 */
bool subheap_lock_soon(struct subheap *heap, bool in_turn)
{
    enum { LOOKS_PER_PAUSE = 8, PAUSES_MAX = 500 };
    struct timespec pause = {.tv_nsec = SUBHEAP_SLEEP_NS};

    if (subheap_lock_by_spinning(heap))
        return true;
    uint32_t others = atomic_fetch_add_explicit(&heap->sleepers, 1, memory_order_relaxed);
    if (in_turn && others >= LOOKS_PER_PAUSE)
        pause.tv_nsec *=
            others < LOOKS_PER_PAUSE * PAUSES_MAX ? others / LOOKS_PER_PAUSE : PAUSES_MAX;
    uint32_t held = mark_as_awaited(heap);
    /* Returns at once if the holder has changed meanwhile. */
    if (held != 0)
        (void)futex_call((int *)(void *)&heap->lock, FUTEX_WAIT_PRIVATE, (int)held, &pause, 0);
    bool others_sleep = leave_sleepers(heap) > 0;
    while (!subheap_try_lock(heap)) {
        if (!others_sleep || mark_as_awaited(heap) != 0)
            return false;
    }
    if (others_sleep)
        atomic_fetch_or_explicit(&heap->lock, SUBHEAP_AWAITED, memory_order_relaxed);
    return true;
}

void subheap_unlock_and_work(struct subheap *heap)
{
    struct page_work work;
    struct subheap *full = heap->full_inbox;

    heap->full_inbox = NULL;
    page_work_take(&heap->pages, &work);
    subheap_release(heap);
    page_work_do(&heap->pages, &work);
    /* If another has the lock, chunks wait for whoever next asks for pages. */
    if (work.chunks != NULL && subheap_try_lock(heap)) {
        page_work_take_in(&heap->pages);
        subheap_release(heap);
    }
    if (full != NULL)
        subheap_drain_soon(full);
}

static void give_up(struct subheap *heap)
{
    heap->relocking++;
    heap->relocker = __builtin_thread_pointer();
    subheap_unlock(heap);
}

static void take_again(struct subheap *heap)
{
    while (!subheap_lock_soon(heap, true))
        ;
    heap->relocking -= heap->relocking > 0; /* a child of fork forgets those of other threads */
    if (heap->relocker == __builtin_thread_pointer())
        heap->relocker = NULL;
}

static const struct page_heap_lock lock_of_pages = {.give_up = give_up, .take = take_again};

struct subheap *subheap_create(uint32_t number, uint8_t node)
{
    struct subheap *heap = page_source_map_metadata(sizeof *heap);

    if (heap == NULL)
        return NULL;
    heap->number = number;
    heap->pages.owner = heap;
    heap->pages.lock = &lock_of_pages;
    heap->pages.node = node;
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
        class_heap_initialise(&heap->classes[i], i);
    return heap;
}

/* The bits of the numbers below 64 that are first modulo step. */
static uint64_t every(uint32_t step, uint32_t first)
{
    uint64_t bits = 0;

    for (uint32_t bit = first % step; bit < 64; bit += step)
        bits |= (uint64_t)1 << bit;
    return bits;
}

/* The pages that are the same one modulo the L2 as that of the chunk. */
static uint64_t pages_like(const struct chunk *chunk, uint32_t page)
{
    return every(l2_pages, (uint32_t)((uintptr_t)chunk->base >> PAGE_SHIFT) + page);
}

/*
 * Where runs lie in the L2. The blocks of a cycle have all colours of the L1, so that no two of
 * them share an L2 set. The same slot of another run is in another set if that run begins at
 * another page modulo the L2. So runs that begin with the same type begin at all of those pages
 * before one comes again: which of them is free next needs no gap in the chunk.
 */
static bool add_run(struct subheap *heap, struct class_heap *class_heap)
{
    const struct class_layout *layout = &class_layouts[class_heap->size_class];
    uint32_t type = class_heap_wanted_type(class_heap);
    struct page_request request = {
        .pages = class_layout_run_pages(layout, type),
        .modulus = class_layout_modulus(layout),
        .residue = class_layout_run_offset(layout, type) / class_layout_page_units(layout),
        .populated_later = true,
    };
    uint64_t *begun = &class_heap->run_pages[type];
    struct page_run run;

    if ((every(request.modulus, request.residue) & ~*begun) == 0)
        *begun = 0;
    request.avoid = *begun;
    if (!page_heap_take(&heap->pages, &request, &run))
        return false;
    *begun |= pages_like(run.chunk, run.page);
    heap->pages.dense_pages += populates_whole(class_heap->size_class) ? request.pages : 0;
    class_heap_add_run(class_heap, run.chunk, run.page, type, run.clean);
    PROBE3(span_refill, heap->number, class_heap->block_bytes, request.pages);
    return true;
}

bool subheap_find(struct subheap *heap, unsigned size_class)
{
    struct class_heap *class_heap = &heap->classes[size_class];

    subheap_drain(heap);
    if (class_heap_find(class_heap, false))
        return true;
    if (!add_run(heap, class_heap)) {
        if (class_heap_find(class_heap, true))
            return true;
        if (!subheap_gather_pages(heap) || !add_run(heap, class_heap))
            return false;
    }
    return class_heap_find(class_heap, true);
}

uint32_t subheap_load(struct subheap *heap, unsigned size_class, char **end, uint32_t most)
{
    struct class_heap *class_heap = &heap->classes[size_class];
    uint8_t of_colour[MAGAZINE_COLOURS] = {0};
    uint32_t count = 0, more;

    /* What waits in the inbox still counts as live, of whatever colours it is, and the load asks
       for what is eligible. A relaxed load where there is nothing. */
    if (most > 1)
        subheap_drain(heap);
    if (class_heap_eligible(class_heap) == 0 && !subheap_find(heap, size_class))
        return 0;
    do {
        more = class_heap_take_many(class_heap, end - count, most - count, of_colour);
        count += more;
        /* What is still eligible in this span has a colour that was taken, or nothing is. */
    } while (count < most && more > 0 && class_heap_find(class_heap, false));
    /* The caller serves one; the magazine will count the others. */
    class_heap->allocations -= count - 1;
    return count;
}

void *subheap_allocate(struct subheap *heap, unsigned size_class, bool *untouched)
{
    char *block;

    if (subheap_load(heap, size_class, &block + 1, 1) == 0)
        return NULL;
    *untouched = ((uintptr_t)block & MAGAZINE_UNTOUCHED) != 0;
    return magazine_block((uintptr_t)block);
}

/* The class has the run no more; its pages still count as used. */
static void remove_run(struct subheap *heap, struct class_heap *class_heap, struct chunk *chunk,
                       uint32_t page)
{
    class_heap->run_pages[chunk->pages[page].run_type] &= ~pages_like(chunk, page);
    if (populates_whole(class_heap->size_class))
        heap->pages.dense_pages -= chunk->spans[page].run_pages;
    class_heap_remove_run(class_heap, chunk, page);
}

void subheap_reconcile(struct subheap *heap, struct span *span)
{
    struct class_heap *class_heap = &heap->classes[span->size_class];

    if (class_heap_reconcile(class_heap, span)) {
        remove_run(heap, class_heap, span->chunk, span->run_page);
        page_heap_return(&heap->pages, span->chunk, span->run_page, span->run_pages);
    }
}

void subheap_free_large(struct subheap *heap, struct span *span)
{
    heap->large_live--;
    heap->large_pages_live -= span->run_pages;
    page_heap_return(&heap->pages, span->chunk, span->run_page, span->run_pages);
}

/* Pages of the run that begins there; 1 where none does. */
static uint32_t pages_of_run(const struct chunk *chunk, uint32_t page)
{
    return chunk->pages[page].size_class <= CLASS_LARGE ? chunk->spans[page].run_pages : 1;
}

static void release_idle_runs(struct subheap *heap, struct chunk *chunk)
{
    uint32_t page = 0;

    while (page < chunk->mapped_pages) {
        unsigned size_class = chunk->pages[page].size_class;
        uint32_t pages = pages_of_run(chunk, page);

        if (size_class < SIZE_CLASS_COUNT &&
            class_heap_run_is_idle(&heap->classes[size_class], chunk, page)) {
            remove_run(heap, &heap->classes[size_class], chunk, page);
            page_heap_put(&heap->pages, chunk, page, pages);
        }
        page += pages;
    }
}

static void gather(struct subheap *heap)
{
    struct chunk *chunk;

    subheap_drain(heap);
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
        class_heap_retire_current(&heap->classes[i]);
    while ((chunk = chunk_that_may_have_idle_run(&heap->pages)) != NULL) {
        chunk_forget_idle_run(chunk);
        release_idle_runs(heap, chunk);
    }
}

/* Of all runs of size classes, see populate_give_back. Returns how many pages went. */
static uint32_t give_back_inside_runs(struct subheap *heap)
{
    uint32_t went = 0;

    for (enum chunk_circle circle = 0; circle < CHUNK_CIRCLES; circle++) {
        struct chunk *chunk = chunk_circle_last(&heap->pages, circle), *before;

        for (; chunk != NULL; chunk = before) {
            uint32_t dirty = chunk->dirty_pages;

            before = chunk_circle_before(&heap->pages, circle, chunk);
            for (uint32_t page = 0; page < chunk->mapped_pages; page += pages_of_run(chunk, page)) {
                unsigned size_class = chunk->pages[page].size_class;

                if (size_class < SIZE_CLASS_COUNT)
                    went += populate_give_back(chunk, page, &heap->classes[size_class].untouched);
            }
            heap->pages.dirty_pages += chunk->dirty_pages - dirty;
            chunk_circle_update(&heap->pages, chunk);
        }
    }
    return went;
}

bool subheap_trim(struct subheap *heap, bool inside_runs)
{
    gather(heap);
    uint32_t purged = inside_runs ? give_back_inside_runs(heap) : 0;
    /* A sub-heap of a CPU has one chunk at least, unless it was never used; a spare one need not.
     */
    purged += purge_all(&heap->pages, heap->magazines == NULL);
    /* Also of chunks that gather found due: what came to those later waits for another round. */
    return purged > 0 || heap->pages.work.chunks != NULL;
}

bool subheap_gather_pages(struct subheap *heap)
{
    if (decay_is_recent(heap->pages.gather_failed_at))
        return false;
    uint32_t used_before = heap->pages.used_pages;

    gather(heap);
    purge_after_return(&heap->pages);
    heap->pages.gather_failed_at = heap->pages.used_pages < used_before ? 0 : decay_clock();
    return true;
}

_Noreturn void subheap_double_free(const struct span *span, uint64_t bits)
{
    uint32_t bit = (uint32_t)__builtin_ctzll(bits);
    const struct class_layout *layout = &class_layouts[span->size_class];
    const char *block = span->base;

    if (span->size_class != CLASS_LARGE)
        block += (size_t)((bit - span->phase) & (layout->span_blocks - 1u)) *
                 size_class_bytes(span->size_class);
    report_fatal("libcia_malloc: double free of the block at %p", (const void *)block);
}
