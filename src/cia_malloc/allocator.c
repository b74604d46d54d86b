/*
 * SPDX-License-Identifier: MIT
 *
 * What the fast paths of allocator.h leave: loading and unloading magazines, magazines under locks,
 * aligned and large blocks.
 */
#include "cia_malloc/allocator.h"

#include "cia_malloc/heap_table.h"
#include "cia_malloc/large.h"

#include <stdint.h>
#include <string.h>

enum {
    /* Alignments from here on get whole pages: taking a longer block would cost as much. */
    PAGE_RUN_ALIGNMENT = 2048,
};

static struct huge *huge_of(void *owner, const void *address)
{
    struct huge *huge = owner;

    if (huge->block != address)
        block_is_wrong(address, "inside a block");
    return huge;
}

/* The sub-heap of this CPU, locked; NULL when there is none yet or another thread holds it. */
static struct subheap *try_heap_here(void)
{
    struct subheap *heap =
        atomic_load_explicit(&heap_table[current_cpu() % CPU_HEAPS], memory_order_acquire);

    return heap != NULL && subheap_try_lock(heap) ? heap : NULL;
}

/* Puts a block back that is of the sub-heap whose lock the caller holds. */
static void give_back_locally(struct subheap *heap, const struct block *block)
{
    struct span *span = &block->chunk->spans[block->span];

    if (__builtin_expect((span->free & block->bit) != 0, 0))
        subheap_double_free(span, block->bit);
    subheap_free_local(heap, span, block->bit);
}

static void give_back_remotely(const struct block *block)
{
    subheap_free_remote(block->chunk, block->span, block->bit);
    subheap_freed_remotely(block->chunk->owner, block->bytes);
}

static char *address_of(const char *waiting)
{
    return (char *)((uintptr_t)waiting & ~(uintptr_t)MAGAZINE_UNTOUCHED);
}

/*
 * Puts back what waited in a magazine, each block where it belongs. held, unless NULL, is a
 * sub-heap whose lock the caller has. Others are told once how much came, not for each block.
 */
static void unload(struct subheap *held, char *const *blocks, uint32_t count)
{
    struct subheap *told = NULL;
    size_t bytes = 0;

    for (uint32_t i = 0; i < count; i++) {
        const char *address = address_of(blocks[i]);
        struct block block = block_at(page_source_owner(address), address);
        struct subheap *owner = block.chunk->owner;

        if (owner == held) {
            give_back_locally(held, &block);
            continue;
        }
        subheap_free_remote(block.chunk, block.span, block.bit);
        if (owner != told && told != NULL) {
            subheap_freed_remotely(told, bytes);
            bytes = 0;
        }
        told = owner;
        bytes += block.bytes;
    }
    if (told != NULL)
        subheap_freed_remotely(told, bytes);
}

static void unload_here(char *const *blocks, uint32_t count)
{
    struct subheap *heap = try_heap_here();

    unload(heap, blocks, count);
    if (heap != NULL)
        subheap_unlock(heap);
}

/* For the holder of a magazine; held as for give_back. */
static void empty_level(struct subheap *held, struct magazine *magazine, unsigned level)
{
    uintptr_t waiting;

    while ((waiting = magazine_pop_held(magazine, level, MAGAZINE_UNLOAD)) != 0) {
        char *block = (char *)waiting;

        unload(held, &block, 1);
    }
}

/*
 * Counts a use of the class by the holder of the lock. With sequences there is nothing more for it;
 * else returns the magazine to work on, or NULL.
 */
static struct magazine *magazine_under_lock(struct subheap *heap, unsigned size_class)
{
    struct magazine *magazine = NULL;

    if (heap->magazines != NULL && size_class < MAGAZINE_CLASSES)
        magazine = magazine_use(heap->magazines, size_class);
    return magazine_area == 0 ? magazine : NULL;
}

static uint32_t place_of(unsigned size_class, const char *waiting)
{
    const char *address = address_of(waiting);

    return magazine_place(size_class, block_slot_at(page_source_owner(address), address).slot);
}

/* Takes a block, loading the magazine if it is empty; 0 when out of memory. */
static uintptr_t allocate_under_lock(struct subheap *heap, struct magazine *magazine,
                                     unsigned size_class)
{
    char *blocks[MAGAZINE_PLACES];
    uintptr_t block = magazine_pop_held(magazine, 0, MAGAZINE_SERVE);

    if (block == 0)
        block = magazine_pop_held(magazine, 1, MAGAZINE_SERVE);
    if (block != 0)
        return block;
    uint32_t count = subheap_load(heap, size_class, blocks, magazine_load(size_class));
    for (uint32_t i = 1; i < count; i++) {
        if (magazine_push_held(magazine, 0, place_of(size_class, blocks[i]), blocks[i]) !=
            MAGAZINE_TAKEN)
            unload(heap, &blocks[i], 1); /* two of a slot were due, or slots that share a place */
    }
    return count > 0 ? (uintptr_t)blocks[0] : 0;
}

/* The same with sequences, for who just held the lock: by now this may be another CPU, or another
   thread have loaded. */
static void load_by_sequences(unsigned size_class, char *const *blocks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (magazine_push(magazine_area, size_class, 0, place_of(size_class, blocks[i]),
                          blocks[i]) != MAGAZINE_TAKEN)
            unload_here(&blocks[i], 1);
    }
}

/* A block where the first level has none, with MAGAZINE_UNTOUCHED; 0 when out of memory. */
static uintptr_t allocate_waiting(unsigned size_class)
{
    bool sequences = magazine_area != 0 && size_class < MAGAZINE_CLASSES;
    char *blocks[MAGAZINE_PLACES];
    uintptr_t block = 0;
    uint32_t count;

    if (sequences)
        block = magazine_pop(magazine_area, size_class, 1, MAGAZINE_SERVE);
    if (block != 0)
        return block;

    struct subheap *heap = heap_acquire();
    if (__builtin_expect(heap == NULL, 0))
        return 0;
    struct magazine *magazine = magazine_under_lock(heap, size_class);
    if (magazine != NULL) {
        block = allocate_under_lock(heap, magazine, size_class);
        subheap_unlock(heap);
        return block;
    }
    /* Where there is nothing to load, one block. */
    sequences = sequences && magazine_here(size_class) != NULL;
    count = subheap_load(heap, size_class, blocks, sequences ? magazine_load(size_class) : 1);
    subheap_unlock(heap);
    if (count == 0)
        return 0;
    load_by_sequences(size_class, blocks + 1, count - 1);
    return (uintptr_t)blocks[0];
}

static void *allocate_large(size_t bytes, size_t alignment, bool *zeroed)
{
    struct subheap *heap = heap_acquire();

    return heap != NULL ? large_allocate_and_unlock(heap, bytes, alignment, zeroed) : NULL;
}

static void *allocate_once(size_t bytes, bool *zeroed)
{
    uintptr_t block;

    if (bytes > SIZE_CLASS_LARGEST)
        return allocate_large(bytes, LINE_BYTES, zeroed);
    block = allocate_waiting(size_class_of(bytes));
    *zeroed = (block & MAGAZINE_UNTOUCHED) != 0;
    return (void *)(block & ~(uintptr_t)MAGAZINE_UNTOUCHED);
}

/* After a failure: whether there is more memory now. */
static bool found_memory_for(size_t bytes)
{
    return bytes < page_source_mapped_bytes() && cia_trim();
}

static __attribute__((noinline)) void *allocate(size_t bytes, bool *zeroed)
{
    void *block = allocate_once(bytes, zeroed);

    if (__builtin_expect(block == NULL, 0) && found_memory_for(bytes))
        block = allocate_once(bytes, zeroed);
    return block;
}

void *cia_allocate_slow(size_t bytes)
{
    bool zeroed;

    /* Here, for all callers, because the fast path need not look. */
    return bytes <= PTRDIFF_MAX ? allocate(bytes, &zeroed) : NULL;
}

void *cia_allocate_zeroed(size_t bytes)
{
    bool zeroed = false;
    uintptr_t popped = 0;
    void *block;

    if (bytes <= MAGAZINE_LARGEST && magazine_area != 0)
        popped = magazine_pop(magazine_area, size_class_of(bytes), 0, MAGAZINE_SERVE);
    if (popped != 0) {
        zeroed = (popped & MAGAZINE_UNTOUCHED) != 0;
        block = (void *)(popped & ~(uintptr_t)MAGAZINE_UNTOUCHED);
    } else {
        block = allocate(bytes, &zeroed);
    }
    return block != NULL && !zeroed ? memset(block, 0, bytes) : block;
}

static void *allocate_aligned_once(size_t alignment, size_t bytes)
{
    bool untouched;

    if (bytes > SIZE_CLASS_LARGEST - alignment || alignment >= PAGE_RUN_ALIGNMENT)
        return allocate_large(bytes, alignment, &untouched);

    struct subheap *heap = heap_acquire();
    if (heap == NULL)
        return NULL;
    /* Blocks of all colours, each long enough for an aligned address: the aligned ones then take in
       turn all sets that their alignment leaves. */
    char *block = subheap_allocate(heap, size_class_of(bytes + alignment - LINE_BYTES), &untouched);
    char *aligned = NULL;
    if (block != NULL) {
        aligned = block + (-(uintptr_t)block & (alignment - 1));
        if (aligned != block) {
            struct block at = block_at(page_source_owner(block), block);
            uint64_t *interior = &at.chunk->spans[at.span].interior;

            __atomic_store_n(interior, *interior | at.bit, __ATOMIC_RELAXED);
        }
    }
    subheap_unlock(heap);
    return aligned;
}

void *cia_allocate_aligned(size_t alignment, size_t bytes)
{
    void *block;

    if (alignment <= LINE_BYTES)
        return cia_allocate(bytes);
    if (bytes == 0)
        bytes = 1;
    block = allocate_aligned_once(alignment, bytes);
    if (__builtin_expect(block == NULL, 0) && found_memory_for(bytes))
        block = allocate_aligned_once(alignment, bytes);
    return block;
}

/*
 * The second level has more than this of its places taken when it is emptied; else one block goes
 * back by itself. Where frees and mallocs of all slots are about as many it is nearly empty, and
 * what is in it will be wanted; where blocks are freed one after the other it is full at once.
 */
static bool is_nearly_full(unsigned size_class, uint32_t taken)
{
    return taken > magazine_place_mask[size_class] * 3u / 4;
}

static void check_twice(enum magazine_answer answer, const struct block *block)
{
    if (__builtin_expect(answer == MAGAZINE_TWICE, 0))
        subheap_double_free(&block->chunk->spans[block->span], block->bit);
}

/* Into the magazine of this CPU. False: no place. */
static bool put_into_magazine(const struct block *block)
{
    unsigned size_class = block->size_class;
    uint32_t place = place_of(size_class, block->start);
    const struct magazine *here = magazine_here(size_class);
    enum magazine_answer answer;

    if (here == NULL)
        return false;
    answer = magazine_push(magazine_area, size_class, 0, place, block->start);
    check_twice(answer, block);
    if (answer == MAGAZINE_OCCUPIED)
        answer = magazine_push(magazine_area, size_class, 1, place, block->start);
    check_twice(answer, block);
    if (answer == MAGAZINE_TAKEN)
        return true;
    if (is_nearly_full(size_class, magazine_second_level(here))) {
        char *blocks[MAGAZINE_PLACES];
        uint32_t count = 0;
        uintptr_t waiting;

        while (count < MAGAZINE_PLACES &&
               (waiting = magazine_pop(magazine_area, size_class, 1, MAGAZINE_UNLOAD)) != 0)
            blocks[count++] = (char *)waiting;
        unload_here(blocks, count);
    }
    return false;
}

/* The same for the holder of the lock. */
static bool put_into_magazine_under_lock(struct subheap *heap, const struct block *block)
{
    struct magazine *magazine = magazine_under_lock(heap, block->size_class);
    uint32_t place;
    enum magazine_answer answer;

    if (magazine == NULL)
        return false;
    place = place_of(block->size_class, block->start);
    answer = magazine_push_held(magazine, 0, place, block->start);
    check_twice(answer, block);
    if (answer == MAGAZINE_OCCUPIED)
        answer = magazine_push_held(magazine, 1, place, block->start);
    check_twice(answer, block);
    if (answer == MAGAZINE_TAKEN)
        return true;
    if (is_nearly_full(block->size_class, magazine_second_level(magazine)))
        empty_level(heap, magazine, 1);
    return false;
}

void cia_free_slow(void *address)
{
    void *found = page_source_owner(address);

    if (__builtin_expect(found == NULL, 0))
        block_is_wrong(address, "not from this allocator");
    if (owner_kind_of(found) == OWNER_HUGE) {
        huge_free(huge_of(found, address));
        return;
    }
    struct block block = block_at(found, address);
    block_check_start(&block, address);
    /* One handed out from its inside goes back to its span, which knows that it was. */
    bool plain = block.size_class < MAGAZINE_CLASSES && block.start == address;

    if (plain && magazine_area != 0 && put_into_magazine(&block))
        return;
    /* The sub-heap of this CPU: anyone else's line would be taken away from them. */
    struct subheap *heap = try_heap_here();
    if (heap == NULL) {
        give_back_remotely(&block);
        return;
    }
    if (!plain || !put_into_magazine_under_lock(heap, &block)) {
        if (block.chunk->owner == heap)
            give_back_locally(heap, &block);
        else
            give_back_remotely(&block);
    }
    subheap_unlock(heap);
}

size_t cia_usable(const void *address)
{
    void *found = page_source_owner(address);

    if (found == NULL)
        block_is_wrong(address, "not from this allocator");
    if (owner_kind_of(found) == OWNER_HUGE)
        return huge_usable(huge_of(found, address));
    struct block block = block_at(found, address);
    block_check_start(&block, address);
    return block.bytes - (size_t)((const char *)address - block.start);
}

void *cia_reallocate(void *block, size_t bytes)
{
    size_t usable = cia_usable(block);
    void *owner = page_source_owner(block);

    /* A mapping follows its block's length to the page. */
    if (owner_kind_of(owner) == OWNER_HUGE && bytes > (size_t)LARGE_GREATEST_PAGES * PAGE_BYTES) {
        void *resized = huge_resize(owner, bytes);

        if (resized != NULL)
            return resized;
    }
    /* In place while at least half of the block stays in use, or none could be shorter. */
    if (bytes <= usable && (bytes >= usable / 2 || usable <= LINE_BYTES))
        return block;
    void *moved = cia_allocate(bytes);
    if (moved == NULL)
        return bytes <= usable ? block : NULL; /* shrinking never fails */
    memcpy(moved, block, bytes < usable ? bytes : usable);
    cia_free(block);
    return moved;
}

static void empty_all(struct magazines *magazines, struct subheap *held)
{
    for (unsigned i = 0; i < MAGAZINE_CLASSES; i++) {
        for (unsigned level = 0; level < 2; level++)
            empty_level(held, &magazines->storage[i], level);
    }
}

static void empty_magazines(void)
{
    struct magazines_withdrawn withdrawn;
    uint32_t index = 0, passed_over = 0;

    if (magazines_withdraw(&withdrawn)) {
        struct magazines *magazines;

        while ((magazines = magazines_withdrawn_next(&withdrawn, &index)) != NULL)
            empty_all(magazines, NULL);
        magazines_return(&withdrawn);
    } else if (magazine_area != 0) {
        /* At least this CPU's. */
        for (unsigned i = 0; i < 2 * MAGAZINE_CLASSES; i++) {
            uintptr_t waiting;

            for (uint32_t n = 0; n < MAGAZINE_PLACES; n++) {
                waiting = magazine_pop(magazine_area, i / 2, i % 2, MAGAZINE_UNLOAD);
                if (waiting == 0)
                    break;
                char *block = (char *)waiting;
                unload_here(&block, 1);
            }
        }
    } else {
        struct subheap *heap;

        while ((heap = heap_lock_next(&index, CPU_HEAPS, &passed_over)) != NULL) {
            empty_all(heap->magazines, heap);
            subheap_unlock(heap);
        }
    }
}

bool cia_trim(void)
{
    uint32_t index = 0, passed_over = 0;
    bool trimmed = false;
    struct subheap *heap;

    empty_magazines(); /* of all, before any heap is looked at: blocks belong to any of them */
    while ((heap = heap_lock_next(&index, ALL_HEAPS, &passed_over)) != NULL) {
        trimmed |= subheap_trim(heap);
        subheap_unlock(heap);
    }
    return trimmed;
}
