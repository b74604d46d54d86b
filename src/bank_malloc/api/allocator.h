/*
 * SPDX-License-Identifier: MIT
 *
 * The allocator behind the malloc family: its start, the fast paths, blocks of whole chunks,
 * alignments, realloc. NULL is "out of memory"; errno is interpose.c's business.
 */
#ifndef MPLACE_BANK_ALLOCATOR_H
#define MPLACE_BANK_ALLOCATOR_H

#include "bank_malloc/heap/heap.h"
#include "bank_malloc/api/settings.h"

extern struct bank_settings bank_settings;

/* Reads the settings and reserves the pool, once; each thread that comes meanwhile waits. */
void bank_start(void);

/* For the constructor. */
void bank_register_fork(void);

/* What the fast path has no class or no heap for. */
void *bank_allocate_slowly(size_t bytes);

static inline void *bank_allocate(size_t bytes)
{
    struct heap *heap = heap_of_thread;

    if (__builtin_expect(heap == NULL || bytes > size_classes.longest, 0))
        return bank_allocate_slowly(bytes);
    return heap_take(heap, size_class_of(bytes));
}

void *bank_allocate_zeroed(size_t bytes);

/* alignment: a power of two. */
void *bank_allocate_aligned(size_t alignment, size_t bytes);

/* Whole chunks of that controller and bank, which exist, or by the modes. */
void *bank_allocate_from(uint32_t controller, uint32_t bank, size_t bytes, unsigned modes);

/* The block is not NULL. */
void *bank_reallocate(void *block, size_t bytes);
size_t bank_usable(const void *block);

/* Of a block that is in no slab. */
void bank_free_slowly(void *block);

static inline void bank_release(void *block)
{
    size_t chunk = arena_find(block);

    if (__builtin_expect(chunk < arena.recorded, 1)) {
        struct chunk *slab = arena_chunk((uint32_t)chunk);

        if (__builtin_expect(slab->kind == CHUNK_SLAB, 1)) {
            heap_give(heap_of_thread, slab, block);
            return;
        }
    }
    if (block != NULL)
        bank_free_slowly(block);
}

/* Gives free memory back to the kernel; false: there was none, or BANK_POOL keeps it. */
bool bank_trim(void);

/* The colour of the memory at this address; FRAMES_NO_COLOUR: it is no block's, or no bank of it is
   known. */
uint16_t bank_colour_of(const void *address);

/* Whether the address is in a chunk that is in use. */
bool bank_has_memory(const void *address);

/* The calling thread's colours from now on; false: out of memory. */
bool bank_set_thread_colours(struct colour_set set);

#endif
