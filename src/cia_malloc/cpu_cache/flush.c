/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks on their way from magazines to the sub-heaps that own them; see flush.h.
 */
#include "cia_malloc/cpu_cache/flush.h"

#include "cia_malloc/cpu_cache/heap_table.h"

void flush_block(struct subheap *locked, const struct block *block)
{
    struct chunk *chunk = block->chunk;

    if (chunk->owner == locked)
        subheap_free_local(locked, &chunk->spans[block->span], block->bit);
    else
        subheap_free_remote(locked, chunk, block->span, block->bit, block->bytes);
}

void flush_block_here(const struct block *block)
{
    struct subheap *heap = heap_try_acquire();

    flush_block(heap, block);
    if (heap != NULL)
        subheap_unlock(heap);
}

/* Blocks of one span. */
struct batch {
    struct chunk *chunk;
    struct span *span;
    uint64_t bits;
};

static void return_batches(struct subheap *locked, unsigned size_class, const struct batch *batches,
                           const struct batch *end)
{
    for (const struct batch *batch = batches; batch < end; batch++) {
        struct chunk *chunk = batch->chunk;

        if (__builtin_expect(chunk->owner == locked, 1))
            subheap_put(locked, &locked->classes[size_class], batch->span, batch->bits);
        else
            subheap_free_remote(locked, chunk, (uint32_t)(batch->span - chunk->spans), batch->bits,
                                (size_t)__builtin_popcountll(batch->bits) *
                                    size_class_bytes(size_class));
    }
}

/*
 * Blocks that follow each other and are of one span make one batch. Batches are collected first,
 * and the spans of the locked sub-heap fetched: blocks that were freed in any order are of a span
 * each, and its line is not in the cache. So many at most, because they are on the stack, and a
 * thread's stack may be short.
 *
 * A block whose page is of another class was freed twice, and the first time its run went back.
 */
void flush_blocks(struct subheap *locked, unsigned size_class, char *const *blocks, uint32_t count)
{
    enum { AT_ONCE = 32 };
    /* A copy, so that the compiler knows that no store below changes it. */
    const struct class_layout layout = class_layouts[size_class];
    struct batch batches[AT_ONCE], *end = batches;
    struct chunk *chunk = NULL;
    struct span *last = NULL;
    uintptr_t page = 0;

    for (uint32_t i = 0; i < count; i++) {
        const void *address = magazine_block((uintptr_t)blocks[i]);

        if ((uintptr_t)address >> PAGE_SHIFT != page) {
            page = (uintptr_t)address >> PAGE_SHIFT;
            chunk = page_map_chunk(address);
        }
        if (__builtin_expect(chunk == NULL || block_page(chunk, address)->size_class != size_class,
                             0))
            block_is_wrong(address, "free already");
        struct block_place place = block_place(&layout, chunk, address);
        struct span *span = &chunk->spans[place.span];
        if (span != last) {
            if (end == batches + AT_ONCE) {
                return_batches(locked, size_class, batches, end);
                end = batches;
            }
            *end++ = (struct batch){chunk, span, 0};
            last = span;
            if (__builtin_expect(chunk->owner == locked, 1))
                __builtin_prefetch(span, 1);
        }
        if (__builtin_expect((end[-1].bits & place.bit) != 0, 0))
            subheap_double_free(span, place.bit);
        end[-1].bits |= place.bit;
    }
    return_batches(locked, size_class, batches, end);
}

bool flush_loaded(const struct magazine_access *access, struct subheap *locked)
{
    char *blocks[MAGAZINE_LOADED_MOST];
    uint32_t count = access_unload(access, blocks);

    if (count == 0)
        return false;
    /* Who revoked magazines waits for no lock meanwhile. */
    struct subheap *heap =
        locked != NULL || access->exclusive != NULL ? locked : heap_try_acquire();
    flush_blocks(heap, access->size_class, blocks, count);
    if (heap != locked)
        subheap_unlock(heap);
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
    struct magazine_access access = {.exclusive = &magazines->own->of_class[size_class],
                                     .size_class = size_class};

    flush_magazine(&access, locked);
}

/*
 * The magazines of one sub-heap's CPU, emptied whether they are used or not: a run of which one
 * block waits in a magazine does not go back. A class at a time under the lock, to which most of
 * the blocks belong. now: of decay_clock. False: they cannot be had now.
 */
static bool flush_cpu(struct subheap *heap, uint64_t now)
{
    struct magazines *magazines = heap->magazines;
    bool by_sequences = magazines_use_sequences();

    if (by_sequences && !magazines_revoke((int32_t)heap->number))
        return false;
    /* A CPU whose magazines are being published is not among the revoked. */
    for (unsigned i = 0; i < SIZE_CLASS_COUNT && (!by_sequences || magazines->revoked); i++) {
        if (!subheap_try_lock(heap))
            continue; /* the next time */
        flush_exclusive(magazines, i, heap);
        magazine_begin_anew(magazines, i);
        subheap_unlock(heap);
    }
    atomic_store_explicit(&magazines->flushed_at, now, memory_order_relaxed);
    if (by_sequences)
        magazines_restore();
    return true;
}

bool flush_if_due(struct subheap *heap, uint64_t now)
{
    enum { LEAST_MS = 100, PARTS = 4 };
    uint64_t period = (uint64_t)decay_milliseconds() / PARTS;
    uint64_t flushed_at = atomic_load_explicit(&heap->magazines->flushed_at, memory_order_relaxed);

    if (flushed_at == 0)
        atomic_store_explicit(&heap->magazines->flushed_at, now, memory_order_relaxed);
    /* Another thread may have flushed them since this one looked at the clock. */
    else if (now >= flushed_at + (period < LEAST_MS ? LEAST_MS : period))
        return flush_cpu(heap, now);
    return false;
}

void flush_all(void)
{
    uint32_t index = 0, passed_over = 0;

    if (magazines_revoke(ALL_CPUS)) {
        for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++) {
            struct magazines *magazines = magazines_of(cpu);

            for (unsigned i = 0; magazines != NULL && magazines->revoked && i < SIZE_CLASS_COUNT;
                 i++)
                flush_exclusive(magazines, i, NULL);
        }
        magazines_restore();
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
            for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
                flush_exclusive(heap->magazines, i, heap);
            subheap_unlock(heap);
        }
    }
}
