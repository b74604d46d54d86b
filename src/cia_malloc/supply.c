/*
 * SPDX-License-Identifier: MIT
 *
 * See supply.h. What follows is written once for both ways to work on a magazine: a grip says
 * which one it is.
 */
#include "cia_malloc/supply.h"

#include "base/clock.h"
#include "cia_malloc/grip.h"
#include "cia_malloc/heap_table.h"
#include "cia_malloc/housekeeping.h"
#include "cia_malloc/magazine_waits.h"
#include "cia_malloc/tiny.h"

/*
 * The sub-heap of this CPU, locked; NULL when another thread holds it. It is made if there is none
 * yet, for a thread that only frees: without magazines there, each block would go home alone.
 */
static struct subheap *lock_here(void)
{
    struct subheap *heap = heap_of_this_cpu();

    if (__builtin_expect(heap == NULL, 0))
        return heap_acquire();
    return subheap_try_lock(heap) ? heap : NULL;
}

/* Blocks of one span on their way home. */
struct batch {
    struct chunk *chunk; /* NULL: none yet */
    uint32_t span;
    uint64_t bits;
    size_t bytes;
};

/* held, unless NULL, is a sub-heap whose lock the caller has. */
static void send(struct subheap *held, const struct batch *batch)
{
    if (batch->chunk == NULL)
        return;
    struct subheap *owner = batch->chunk->owner;

    if (owner == held) {
        subheap_free_local(held, &batch->chunk->spans[batch->span], batch->bits);
        return;
    }
    subheap_free_remote(batch->chunk, batch->span, batch->bits);
    /* The chunk may be gone by now, if these were its last blocks; its owner is for ever. */
    subheap_freed_remotely(owner, batch->bytes, held);
}

static void send_block(struct subheap *held, const struct block *block)
{
    struct batch batch = {block->chunk, block->span, block->bit, block->bytes};

    send(held, &batch);
}

void supply_give_back(const struct block *block)
{
    struct subheap *heap = lock_here();

    send_block(heap, block);
    if (heap != NULL)
        subheap_unlock(heap);
}

/*
 * Puts back what waited in a magazine, where it belongs; blocks of one span that follow each other,
 * as they do when they were allocated and freed in a row, go together.
 */
static void unload(struct subheap *held, char *const *blocks, uint32_t count)
{
    struct batch batch = {.chunk = NULL};

    for (uint32_t i = 0; i < count; i++) {
        const void *address = magazine_block((uintptr_t)blocks[i]);
        struct chunk *chunk = page_source_owner(address);
        struct block_home home = block_home(chunk, address);

        if (chunk != batch.chunk || home.span != batch.span) {
            send(held, &batch);
            batch = (struct batch){.chunk = chunk, .span = home.span};
        }
        if (__builtin_expect((batch.bits & home.bit) != 0, 0))
            subheap_double_free(&chunk->spans[home.span], home.bit);
        batch.bits |= home.bit;
        batch.bytes += home.bytes;
    }
    send(held, &batch);
}

/* The same without a lock. */
static void unload_here(char *const *blocks, uint32_t count)
{
    struct subheap *heap = lock_here();

    unload(heap, blocks, count);
    if (heap != NULL)
        subheap_unlock(heap);
}

/* held as above; NULL where the caller has no lock. False: there was nothing. */
static bool unload_level(const struct grip *grip, struct subheap *held)
{
    char *blocks[MAGAZINE_LEVEL_MOST];
    uint32_t count = grip_unload(grip, blocks);

    if (count == 0)
        return false;
    if (held != NULL || grip->held != NULL) {
        unload(held, blocks, count);
    } else {
        unload_here(blocks, count);
        supply_housekeeping();
    }
    return true;
}

/*
 * A stack hands out its last place first: turned round, the blocks come out in the class heap's
 * order.
 */
static void turn_round(char **blocks, uint32_t count)
{
    for (uint32_t low = 0, high = count; low + 1 < high; low++) {
        char *block = blocks[low];

        blocks[low] = blocks[--high];
        blocks[high] = block;
    }
}

/*
 * Loads from the class heap, for the holder of the lock: blocks of different colours, the first one
 * to be served. 0 when out of memory.
 */
static uint32_t load_from(struct subheap *heap, unsigned size_class, uint32_t most,
                          char *blocks[MAGAZINE_LOAD_MOST])
{
    uint32_t count = subheap_load(heap, size_class, blocks, most);

    if (count > 1)
        turn_round(blocks + 1, count - 1);
    return count;
}

/* The magazine of the class, for the holder of the lock, where it is under the lock and the class
   has one; else NULL. Counts a use. */
static struct magazine *magazine_under_lock(struct subheap *heap, unsigned size_class)
{
    if (heap->magazines == NULL || size_class >= MAGAZINE_CLASSES ||
        !magazine_use(heap->magazines, size_class))
        return NULL;
    /* With sequences, this is a thread that may not use them. */
    return magazines_use_sequences() ? NULL : &heap->magazines->own[size_class];
}

/* All under the lock of this CPU's sub-heap. */
static __attribute__((noinline)) uintptr_t supply_under_lock(unsigned size_class)
{
    struct subheap *heap = heap_acquire();
    struct grip grip = {.held = NULL};
    char *blocks[MAGAZINE_LOAD_MOST];
    uintptr_t block = 0;
    bool waited = false;

    if (__builtin_expect(heap == NULL, 0))
        return 0;
    grip.held = magazine_under_lock(heap, size_class);
    if (grip.held != NULL) {
        block = grip_take_waiting(&grip);
        waited = block != 0;
    }
    if (!waited) {
        uint32_t most = grip.held != NULL ? (uint32_t)grip.held->load : 1;
        uint32_t count = load_from(heap, size_class, most, blocks);
        block = count > 0 ? (uintptr_t)blocks[0] : 0;
        if (count > 1) {
            /* Refused where the ceiling leaves no room for a load. */
            if (!magazine_load_held(grip.held, blocks + 1, count - 1))
                unload(heap, blocks + 1, count - 1);
            if (magazine_may_rise(heap->magazines, size_class))
                magazine_raise_ceiling_held(grip.held);
        }
    }
    subheap_unlock(heap);
    /* Each load, and each call of a class that never has one: a program may make no others. */
    if (!waited && (grip.held != NULL || size_class >= MAGAZINE_CLASSES))
        supply_housekeeping();
    return block;
}

static uintptr_t supply_by_sequences(ptrdiff_t area, unsigned size_class)
{
    char *blocks[MAGAZINE_LOAD_MOST];
    uint32_t count, most = 1;
    struct subheap *heap = heap_acquire();
    bool may_rise;

    if (__builtin_expect(heap == NULL, 0))
        return 0;
    if (heap->magazines != NULL && magazine_use(heap->magazines, size_class))
        most = (uint32_t)heap->magazines->own[size_class].load;
    count = load_from(heap, size_class, most, blocks);
    may_rise = most > 1 && count > 0 && magazine_may_rise(heap->magazines, size_class);
    subheap_unlock(heap);
    if (count == 0)
        return 0;
    /* By now this may be another CPU, perhaps of another node, or another thread's load be there.
     */
    if (count > 1 &&
        !magazine_load(area, magazine_offset(size_class, heap->pages.node), blocks + 1, count - 1))
        unload_here(blocks + 1, count - 1);
    if (may_rise)
        magazine_raise_ceiling(area, magazine_offset(size_class, 0));
    if (most > 1)
        supply_housekeeping();
    return (uintptr_t)blocks[0];
}

uintptr_t supply_block(unsigned size_class)
{
    ptrdiff_t area = magazine_area_here();

    if (size_class < MAGAZINE_CLASSES && magazine_area_is_usable(area)) {
        struct grip grip = grip_to_take(area, size_class);
        uintptr_t block = grip_take_waiting(&grip);

        return block != 0 ? block : supply_by_sequences(area, size_class);
    }
    return supply_under_lock(size_class);
}

static _Noreturn void freed_twice(const void *address)
{
    struct block block = block_at(page_source_owner(address), address);

    subheap_double_free(&block.chunk->spans[block.span], block.bit);
}

/* As on a CPU that frees what others allocate: then blocks go home a level at a time. */
static bool has_no_room_for_a_box(const struct magazine *now)
{
    union magazine_bounds bounds = magazine_bounds_of(now);

    return bounds.boxes >= MAGAZINE_BOXES ||
           bounds.floor + magazine_level_blocks(now) + MAGAZINE_COLOURS > bounds.ceiling;
}

/* Whether the level has as many blocks as a load, or, if it is all that waits, nearly all there may
   be: a CPU that takes as many blocks as it gives back is not to be without any all the time. */
static bool is_worth_unloading(const struct magazine *now)
{
    union magazine_bounds bounds = magazine_bounds_of(now);

    return magazine_level_blocks(now) >=
           (bounds.boxes > 0 ? MAGAZINE_LOAD_MOST : bounds.ceiling * 3U / 4);
}

/*
 * Finds a place in a magazine whose level did not take a block. now says what the level holds,
 * roughly where it is worked on by sequences: after a box was closed over it; or, if there can be
 * no more, after its blocks went home. So blocks that are freed in the order of their allocation
 * come by here once in MAGAZINE_LEVEL_MOST times. Else false: the block goes home alone.
 */
static bool put_elsewhere(const struct grip *grip, struct magazine *now, struct subheap *held,
                          void *address)
{
    enum { LOOKED_AT = 8 };
    bool suspected;

    if (magazine_bounds_of(now).ceiling == 0)
        return false;
    suspected = magazine_freed_last(now, address);
    if (__builtin_expect(magazine_has(now, address, suspected ? UINT32_MAX : LOOKED_AT), 0))
        freed_twice(address);
    if (suspected && grip_push_anyway(grip, address))
        return true;
    if (grip_close_box(grip, BOX_LEAST))
        return grip_push_anyway(grip, address);
    /* Empty, and refused it: what is counted was left by a sequence that was interrupted. */
    if (magazine_level_blocks(now) != 0 && !(has_no_room_for_a_box(now) && is_worth_unloading(now)))
        return false;
    magazine_overflows(now);
    unload_level(grip, held);
    return grip_push_anyway(grip, address);
}

bool supply_put_elsewhere(ptrdiff_t area, const struct page_info *info, void *address)
{
    struct grip grip = {.area = area, .offset = info->magazine, .side = MAGAZINE_PUT};

    return put_elsewhere(&grip, magazine_here(info->magazine), NULL, address);
}

/* The sub-heap of this CPU if it has magazines; constant, not locked. */
static inline struct subheap *heap_here(void)
{
    struct subheap *heap = heap_of_this_cpu();

    return __builtin_expect(heap != NULL, 1) && heap->magazines != NULL ? heap : NULL;
}

/* Under locks a thread that slept cannot be told from one that did not: the clock is looked at once
   in so many mallocs; more where that is a system call, which aborts a transaction. */
enum { USES_BEFORE_A_LOOK = 32, USES_BEFORE_A_CALL = 4096 };

/* In both, what is constant is read before the exchange, which the loads after it wait for. */
uintptr_t supply_pop_under_lock(unsigned size_class)
{
    struct subheap *heap = heap_here();

    if (__builtin_expect(heap == NULL, 0))
        return 0;
    struct magazine *magazine = &heap->magazines->own[size_class];
    if (__builtin_expect(!subheap_try_lock(heap), 0))
        return 0;
    uintptr_t block = magazine_pop_held(magazine);
    bool look = ++heap->uses % USES_BEFORE_A_LOOK == 0 &&
                (clock_is_quick() || heap->uses % USES_BEFORE_A_CALL == 0);
    subheap_unlock(heap);
    if (__builtin_expect(look, 0))
        supply_housekeeping();
    return block;
}

bool supply_push_under_lock(const struct page_info *info, void *address)
{
    struct subheap *heap = heap_here();

    if (__builtin_expect(heap == NULL, 0))
        return false;
    struct magazine *magazine = magazine_from(heap->magazines->region, info->magazine);
    if (__builtin_expect(!subheap_try_lock(heap), 0))
        return false;
    bool pushed = magazine_push_held(magazine, address, true);
    subheap_unlock(heap);
    return pushed;
}

/* The same for the holder of the lock, where that is the way, with all the places there are. */
static bool put_under_lock(struct subheap *heap, const struct page_info *info, void *address)
{
    if (magazine_under_lock(heap, info->size_class) == NULL)
        return false;
    /* As free does by sequences: for a block of another node, one without room. */
    struct grip grip = {.held = magazine_from(heap->magazines->region, info->magazine)};
    return grip_push(&grip, address) || put_elsewhere(&grip, grip.held, heap, address);
}

void supply_take_back(const struct page_info *info, void *address)
{
    /* The sub-heap of this CPU: anyone else's line would be taken away from them. */
    struct subheap *heap = lock_here();
    if (heap == NULL || !put_under_lock(heap, info, address)) {
        struct block block = block_at(page_source_owner(address), address);

        send_block(heap, &block);
    }
    if (heap != NULL)
        subheap_unlock(heap);
}

/* Empties the magazine; held: a sub-heap whose lock the caller has, or NULL. */
static void empty(const struct grip *grip, struct subheap *held)
{
    while (unload_level(grip, held) || grip_open_box(grip))
        ;
}

/* The magazine of that index, of a class or of tiny blocks. */
static void empty_magazine(const struct grip *grip, unsigned index, struct subheap *held)
{
    if (index < TINY_MAGAZINES)
        empty(grip, held);
    else
        tiny_empty_magazine(grip, index - TINY_MAGAZINES, held);
}

/* The same of magazines that the caller has alone. */
static void empty_held(struct magazines *magazines, unsigned index, struct subheap *held)
{
    struct grip grip = {.held = &magazines->own[index]};

    empty_magazine(&grip, index, held);
}

/*
 * The magazines of one sub-heap's CPU, emptied four times in a decay time, whether they are used or
 * not: a run of which one block waits in a magazine does not go back. A class at a time under the
 * lock, to which most of the blocks belong. now: of decay_clock.
 */
static void flush(struct subheap *heap, uint64_t now)
{
    struct magazines *magazines = heap->magazines;
    struct magazines_withdrawn withdrawn;
    bool by_sequences = magazines_use_sequences(), counted = false;

    if (by_sequences && !magazines_withdraw(&withdrawn))
        return;
    /* A CPU whose magazines are being published is not among the withdrawn. */
    for (unsigned i = 0;
         i < ALL_MAGAZINES && (!by_sequences || magazines_is_withdrawn(&withdrawn, heap->number));
         i++) {
        if (!subheap_try_lock(heap))
            continue; /* the next time */
        if (!counted)
            magazines_count_ceilings(magazines);
        counted = true;
        empty_held(magazines, i, heap);
        magazine_begin_anew(magazines, i);
        subheap_unlock(heap);
    }
    atomic_store_explicit(&magazines->flushed_at, now, memory_order_relaxed);
    if (by_sequences)
        magazines_return(&withdrawn);
}

static void flush_if_due(struct subheap *heap, uint64_t now)
{
    enum { LEAST_MS = 100, PARTS = 4 };
    uint64_t period = (uint64_t)decay_milliseconds() / PARTS;
    uint64_t flushed_at = atomic_load_explicit(&heap->magazines->flushed_at, memory_order_relaxed);

    if (flushed_at == 0)
        atomic_store_explicit(&heap->magazines->flushed_at, now, memory_order_relaxed);
    else if (now - flushed_at >= (period < LEAST_MS ? LEAST_MS : period))
        flush(heap, now);
}

void supply_housekeeping(void)
{
    housekeeping_tick(flush_if_due);
}

static void empty_all(struct magazines *magazines, struct subheap *held)
{
    for (unsigned i = 0; i < ALL_MAGAZINES; i++)
        empty_held(magazines, i, held);
}

void supply_empty_magazines(void)
{
    struct magazines_withdrawn withdrawn;
    uint32_t index = 0, passed_over = 0;

    if (magazines_withdraw(&withdrawn)) {
        struct magazines *magazines;

        while ((magazines = magazines_withdrawn_next(&withdrawn, &index)) != NULL)
            empty_all(magazines, NULL);
        magazines_return(&withdrawn);
    } else if (magazines_use_sequences()) {
        ptrdiff_t area = magazine_area_here();

        /* At least this CPU's. */
        for (unsigned i = 0; magazine_area_is_usable(area) && i < ALL_MAGAZINES; i++) {
            struct grip grip = grip_to_take(area, i);

            empty_magazine(&grip, i, NULL);
        }
    } else {
        struct subheap *heap;

        while ((heap = heap_lock_next(&index, CPU_HEAPS, &passed_over)) != NULL) {
            empty_all(heap->magazines, heap);
            subheap_unlock(heap);
        }
    }
}
