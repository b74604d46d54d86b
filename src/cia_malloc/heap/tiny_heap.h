/*
 * SPDX-License-Identifier: MIT
 *
 * Pages of tiny blocks in one sub-heap, with CIA_TINY=1: blocks of 16 and of 32 B side by side,
 * several to a line. Each page has blocks of one length, begins with one and is full of them. All
 * of it under the sub-heap's lock, but for what tiny_heap_free_remote does.
 *
 * One file above, tiny.h, says who may get the blocks: one CPU, so that a line is one CPU's.
 *
 *     invariant    a page with a free block is listed
 *     invariant    a block that the program does not have carries TINY_FREE_MARK, unless the
 *                  program wrote to it since: free() asks no further where the mark is missing
 */
#ifndef MPLACE_CIA_TINY_HEAP_H
#define MPLACE_CIA_TINY_HEAP_H

#include "cia_malloc/heap/cached_block.h"
#include "cia_malloc/pages/page_heap.h"

enum {
    TINY_LEAST = 16,
    TINY_LARGEST = TINY_LEAST << (TINY_CLASSES - 1),
    /* Classes of pages, behind those of large blocks: page_info.size_class. */
    CLASS_TINY = CLASS_LARGE + 1,
    TINY_NO_CPU = UINT16_MAX, /* of pages of a spare sub-heap */
};

static_assert(CLASS_TINY + TINY_CLASSES <= CLASS_NONE, "a class is a byte");
static_assert(PAGE_BYTES / TINY_LEAST == 64 * TINY_WORDS, "a bit for each of the shortest blocks");

static inline size_t tiny_bytes(unsigned tiny)
{
    return (size_t)TINY_LEAST << tiny;
}

/* Whether it is a page of tiny blocks. */
static inline bool page_info_is_tiny(const struct page_info *info)
{
    /* Relaxed, not plain: where a huge block begins, see page_map_set_huge, whose address may have
       been another thread's block before. */
    return (unsigned)__atomic_load_n(&info->size_class, __ATOMIC_RELAXED) - CLASS_TINY <
           TINY_CLASSES;
}

/*
 * In the second word of a block. Any number will do: where a program has it there by chance, free()
 * looks into the matter, and finds nothing.
 */
#define TINY_FREE_MARK UINT64_C(0x9ae16a3b2f90404f)

typedef uint64_t __attribute__((may_alias)) tiny_word;

static inline tiny_word *tiny_mark(void *block)
{
    return (tiny_word *)block + 1;
}

struct tiny_class {
    struct span *partial; /* pages with free blocks: a circle; idle ones last */
    uint64_t allocations; /* but those that a magazine served */
    uint32_t live;        /* blocks handed out and not yet back */
    uint32_t pages;
    uint32_t idle; /* pages without a live block: at most one stays */
};

struct tiny_heap {
    struct page_heap *pages; /* constant */
    uint16_t cpu;            /* constant: whose blocks these are, or TINY_NO_CPU */
    struct tiny_class classes[TINY_CLASSES];

    /* Words of remote frees, newest first: as the inbox of the sub-heap, and for its reasons. An
       entry is the address of the page plus the number of the word; 0 is the end. */
    _Alignas(LINE_BYTES) _Atomic uintptr_t inbox;
};

void tiny_heap_initialise(struct tiny_heap *heap, struct page_heap *pages, uint32_t number);

/*
 * At least one block and at most so many, in the order of their addresses; new memory is taken for
 * the first one only. Returns how many; 0 when out of memory.
 */
uint32_t tiny_heap_take(struct tiny_heap *heap, unsigned tiny, char **blocks, uint32_t most);

/* Where a block is: the word of its page's bits, and its bit. */
struct tiny_place {
    struct chunk *chunk;
    uint32_t page, word;
    uint64_t bit;
};

static inline struct tiny_place tiny_place_of(struct chunk *chunk, unsigned tiny, const void *block)
{
    uint32_t number = (uint32_t)((uintptr_t)block % PAGE_BYTES / tiny_bytes(tiny));

    return (struct tiny_place){
        .chunk = chunk,
        .page = (uint32_t)((uintptr_t)block % CHUNK_BYTES >> PAGE_SHIFT),
        .word = number / 64,
        .bit = (uint64_t)1 << number % 64,
    };
}

/* Puts blocks of a word back, all that have a bit. The process ends if one is free already. */
void tiny_heap_put(struct tiny_heap *heap, const struct tiny_place *blocks);

/* The same without the lock, for the heap that owns them; lock-free. */
void tiny_heap_free_remote(struct tiny_heap *heap, const struct tiny_place *blocks);

/* Takes over what was freed so: reads a word where there is nothing. */
void tiny_heap_drain(struct tiny_heap *heap);

/* Gives back pages without a live block. */
void tiny_heap_trim(struct tiny_heap *heap);

/* Whether the block lies free, or was freed remotely. For any thread, about a block that no other
   one frees meanwhile. */
bool tiny_is_free(const struct tiny_place *block);

/* Says which block was freed twice, and aborts. */
_Noreturn void tiny_double_free(const void *block);

#endif
