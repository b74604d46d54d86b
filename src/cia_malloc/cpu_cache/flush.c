/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks on their way from magazines to the sub-heaps that own them; see flush.h.
 */
#include "cia_malloc/cpu_cache/flush.h"

#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/cpu_cache/housekeeping.h"
#include "cia_malloc/heap/remote_free.h"

/* Blocks of one span of a sub-heap whose lock the caller does not have. */
struct remote_batch {
    struct chunk *chunk; /* NULL: none yet */
    uint32_t span;
    uint64_t bits;
    size_t bytes;
};

/* locked: another sub-heap whose lock the caller has, or NULL. */
static void return_remote(struct subheap *locked, const struct remote_batch *batch)
{
    if (batch->chunk == NULL)
        return;
    struct subheap *owner = batch->chunk->owner;

    remote_free_blocks(batch->chunk, batch->span, batch->bits);
    /* The chunk may be gone by now, if these were its last blocks; its owner is for ever. */
    remote_free_count(owner, batch->bytes, locked);
}

void flush_block(struct subheap *locked, const struct block *block)
{
    struct remote_batch batch = {block->chunk, block->span, block->bit, block->bytes};

    if (block->chunk->owner == locked)
        subheap_free_local(locked, &block->chunk->spans[block->span], block->bit);
    else
        return_remote(locked, &batch);
}

void flush_block_here(const struct block *block)
{
    struct subheap *heap = heap_try_acquire();

    flush_block(heap, block);
    if (heap != NULL)
        subheap_unlock(heap);
}

/* One more. Those of one span that follow each other go together. */
static void add_remote(struct subheap *locked, struct remote_batch *batch, struct chunk *chunk,
                       const struct block_place *place)
{
    if (chunk != batch->chunk || place->span != batch->span) {
        return_remote(locked, batch);
        *batch = (struct remote_batch){.chunk = chunk, .span = place->span};
    }
    if (__builtin_expect((batch->bits & place->bit) != 0, 0))
        subheap_double_free(&chunk->spans[place->span], place->bit);
    batch->bits |= place->bit;
    batch->bytes += place->bytes;
}

/* Blocks of one span of the locked sub-heap. */
struct local_batch {
    struct span *span;
    uint64_t bits;
};

static void return_local(struct subheap *locked, unsigned size_class,
                         const struct local_batch *batches, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        subheap_put(locked, &locked->classes[size_class], batches[i].span, batches[i].bits);
}

/*
 * Blocks that follow each other and are of one span make one batch. Batches are collected first,
 * and their spans fetched: blocks that were freed in any order are of a span each, and its line is
 * not in the cache. So many at most, because they are on the stack, and a thread's stack may be
 * short.
 *
 * A block whose page is of another class was freed twice, and the first time its run went back.
 */
void flush_blocks(struct subheap *locked, unsigned size_class, char *const *blocks, uint32_t count)
{
    enum { AT_ONCE = 32 };
    /* A copy, so that the compiler knows that no store below changes it. */
    const struct class_layout layout = class_layouts[size_class];
    struct remote_batch remote = {.chunk = NULL};
    struct local_batch local[AT_ONCE + 1], *last = local;
    struct chunk *chunk = NULL;
    uintptr_t page = 0;

    local[0].span = NULL; /* no block's */
    for (uint32_t i = 0; i < count; i++) {
        const void *address = magazine_block((uintptr_t)blocks[i]);

        if ((uintptr_t)address >> PAGE_SHIFT != page) {
            page = (uintptr_t)address >> PAGE_SHIFT;
            chunk = page_source_owner(address);
        }
        if (__builtin_expect(chunk == NULL || block_page(chunk, address)->size_class != size_class,
                             0))
            block_is_wrong(address, "free already");
        struct block_place place = block_place(&layout, chunk, address);
        struct span *span = &chunk->spans[place.span];
        if (__builtin_expect(chunk->owner != locked, 0)) {
            add_remote(locked, &remote, chunk, &place);
        } else if (span == last->span) {
            if (__builtin_expect((last->bits & place.bit) != 0, 0))
                subheap_double_free(span, place.bit);
            last->bits |= place.bit;
        } else {
            if (last == local + AT_ONCE) {
                return_local(locked, size_class, local + 1, AT_ONCE);
                last = local;
            }
            *++last = (struct local_batch){span, place.bit};
            __builtin_prefetch(span, 1);
        }
    }
    return_remote(locked, &remote);
    return_local(locked, size_class, local + 1, (uint32_t)(last - local));
}

bool flush_loaded(const struct magazine_access *access, struct subheap *locked)
{
    char *blocks[MAGAZINE_LOADED_MOST];
    uint32_t count = access_unload(access, blocks);

    if (count == 0)
        return false;
    if (locked != NULL || access->exclusive != NULL) {
        flush_blocks(locked, access->size_class, blocks, count);
    } else {
        struct subheap *heap = heap_try_acquire();

        flush_blocks(heap, access->size_class, blocks, count);
        if (heap != NULL)
            subheap_unlock(heap);
        flush_housekeeping();
    }
    return true;
}

/* Empties the magazine; locked: a sub-heap whose lock the caller has, or NULL. */
static void flush_magazine(const struct magazine_access *access, struct subheap *locked)
{
    while (flush_loaded(access, locked) || access_reload(access))
        ;
}

/* The same of magazines that the caller has alone. */
static void flush_exclusive(struct magazines *magazines, unsigned size_class,
                            struct subheap *locked)
{
    struct magazine_access access = {.exclusive = &magazines->own[size_class],
                                     .size_class = size_class};

    flush_magazine(&access, locked);
}

/*
 * The magazines of one sub-heap's CPU, emptied whether they are used or not: a run of which one
 * block waits in a magazine does not go back. A class at a time under the lock, to which most of
 * the blocks belong. now: of decay_clock.
 */
static void flush_cpu(struct subheap *heap, uint64_t now)
{
    struct magazines *magazines = heap->magazines;
    struct magazines_revoked revoked;
    bool by_sequences = magazines_use_sequences();

    if (by_sequences && !magazines_revoke(&revoked))
        return;
    /* A CPU whose magazines are being published is not among the revoked. */
    for (unsigned i = 0;
         i < SIZE_CLASS_COUNT && (!by_sequences || magazines_is_revoked(&revoked, heap->number));
         i++) {
        if (!subheap_try_lock(heap))
            continue; /* the next time */
        flush_exclusive(magazines, i, heap);
        magazine_begin_anew(magazines, i);
        subheap_unlock(heap);
    }
    atomic_store_explicit(&magazines->flushed_at, now, memory_order_relaxed);
    if (by_sequences)
        magazines_restore(&revoked);
}

static void flush_if_due(struct subheap *heap, uint64_t now)
{
    enum { LEAST_MS = 100, PARTS = 4 };
    uint64_t period = (uint64_t)decay_milliseconds() / PARTS;
    uint64_t flushed_at = atomic_load_explicit(&heap->magazines->flushed_at, memory_order_relaxed);

    if (flushed_at == 0)
        atomic_store_explicit(&heap->magazines->flushed_at, now, memory_order_relaxed);
    /* Another thread may have flushed them since this one looked at the clock. */
    else if (now >= flushed_at + (period < LEAST_MS ? LEAST_MS : period))
        flush_cpu(heap, now);
}

void flush_housekeeping(void)
{
    if (!magazine_thread_is_vforked())
        housekeeping_tick(flush_if_due);
}

static void flush_cpu_exclusive(struct magazines *magazines, struct subheap *locked)
{
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
        flush_exclusive(magazines, i, locked);
}

void flush_all(void)
{
    struct magazines_revoked revoked;
    uint32_t index = 0, passed_over = 0;

    if (magazines_revoke(&revoked)) {
        for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++) {
            if (magazines_is_revoked(&revoked, cpu))
                flush_cpu_exclusive(magazines_of(cpu), NULL);
        }
        magazines_restore(&revoked);
    } else if (magazines_use_sequences()) {
        ptrdiff_t area = magazine_area_here();

        /* At least this CPU's. */
        for (unsigned i = 0; magazine_area_is_usable(area) && i < SIZE_CLASS_COUNT; i++) {
            struct magazine_access access = access_to_take(area, i);

            flush_magazine(&access, NULL);
        }
    } else {
        struct subheap *heap;

        while ((heap = heap_lock_next(&index, CPU_HEAPS, &passed_over)) != NULL) {
            flush_cpu_exclusive(heap->magazines, heap);
            subheap_unlock(heap);
        }
    }
}
