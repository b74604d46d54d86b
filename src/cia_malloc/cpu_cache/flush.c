/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks on their way from magazines to the sub-heaps that own them; see flush.h.
 */
#include "cia_malloc/cpu_cache/flush.h"

#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/cpu_cache/housekeeping.h"
#include "cia_malloc/heap/remote_free.h"

/* Blocks of one span, to be returned together. */
struct batch {
    struct chunk *chunk; /* NULL: none yet */
    uint32_t span;
    uint64_t bits;
    size_t bytes;
};

static void return_batch(struct subheap *locked, const struct batch *batch)
{
    if (batch->chunk == NULL)
        return;
    struct subheap *owner = batch->chunk->owner;

    if (owner == locked) {
        subheap_free_local(locked, &batch->chunk->spans[batch->span], batch->bits);
        return;
    }
    remote_free_blocks(batch->chunk, batch->span, batch->bits);
    /* The chunk may be gone by now, if these were its last blocks; its owner is for ever. */
    remote_free_count(owner, batch->bytes, locked);
}

void flush_block(struct subheap *locked, const struct block *block)
{
    struct batch batch = {block->chunk, block->span, block->bit, block->bytes};

    return_batch(locked, &batch);
}

void flush_block_here(const struct block *block)
{
    struct subheap *heap = heap_try_acquire();

    flush_block(heap, block);
    if (heap != NULL)
        subheap_unlock(heap);
}

void flush_blocks(struct subheap *locked, char *const *blocks, uint32_t count)
{
    struct batch batch = {.chunk = NULL};

    for (uint32_t i = 0; i < count; i++) {
        const void *address = magazine_block((uintptr_t)blocks[i]);
        struct chunk *chunk = page_source_owner(address);
        struct block_home home = block_home(chunk, address);

        if (chunk != batch.chunk || home.span != batch.span) {
            return_batch(locked, &batch);
            batch = (struct batch){.chunk = chunk, .span = home.span};
        }
        if (__builtin_expect((batch.bits & home.bit) != 0, 0))
            subheap_double_free(&chunk->spans[home.span], home.bit);
        batch.bits |= home.bit;
        batch.bytes += home.bytes;
    }
    return_batch(locked, &batch);
}

void flush_blocks_here(char *const *blocks, uint32_t count)
{
    struct subheap *heap = heap_try_acquire();

    flush_blocks(heap, blocks, count);
    if (heap != NULL)
        subheap_unlock(heap);
}

bool flush_loaded(const struct magazine_access *access, struct subheap *locked)
{
    char *blocks[MAGAZINE_LOADED_MOST];
    uint32_t count = access_unload(access, blocks);

    if (count == 0)
        return false;
    if (locked != NULL || access->exclusive != NULL) {
        flush_blocks(locked, blocks, count);
    } else {
        flush_blocks_here(blocks, count);
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
    struct magazine_access access = {.exclusive = &magazines->own[size_class]};

    flush_magazine(&access, locked);
}

/*
 * The magazines of one sub-heap's CPU, emptied four times in a decay time, whether they are used or
 * not: a run of which one block waits in a magazine does not go back. A class at a time under the
 * lock, to which most of the blocks belong. now: of decay_clock.
 */
static void flush_cpu(struct subheap *heap, uint64_t now)
{
    struct magazines *magazines = heap->magazines;
    struct magazines_revoked revoked;
    bool by_sequences = magazines_use_sequences(), counted = false;

    if (by_sequences && !magazines_revoke(&revoked))
        return;
    /* A CPU whose magazines are being published is not among the revoked. */
    for (unsigned i = 0;
         i < SIZE_CLASS_COUNT && (!by_sequences || magazines_is_revoked(&revoked, heap->number));
         i++) {
        if (!subheap_try_lock(heap))
            continue; /* the next time */
        if (!counted)
            magazines_count_ceilings(magazines);
        counted = true;
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
    else if (now - flushed_at >= (period < LEAST_MS ? LEAST_MS : period))
        flush_cpu(heap, now);
}

void flush_housekeeping(void)
{
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
        struct magazines *magazines;

        while ((magazines = magazines_revoked_next(&revoked, &index)) != NULL)
            flush_cpu_exclusive(magazines, NULL);
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
