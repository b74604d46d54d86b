/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks that tell whether anybody else wrote to them: who holds a block writes a mark of its own
 * to the first and the last eight bytes and finds it there when it gives the block back. A block
 * that two hold at once, or that overlaps another, has the other one's mark. Costs two stores and
 * two loads, of lines that a program would touch as well.
 */
#ifndef BENCH_MALLOC_CONTENT_H
#define BENCH_MALLOC_CONTENT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A word at any address, of any type to others. */
typedef uint64_t __attribute__((may_alias, aligned(1))) content_word;

/* One line on standard error, exit 1; from any thread. */
_Noreturn void content_give_up(const char *text);
_Noreturn void content_lost(const void *block, size_t size);
_Noreturn void content_no_memory(size_t size);

/* Where a block is held. The mark is the slot's address, so slots that pass a block on must pass
 * themselves on, and not be copied. */
struct slot {
    void *block; /* NULL while the slot is empty */
    size_t size;
};

/* Keeps the compiler from pairing a malloc with its free and dropping both. */
static inline void *content_opaque(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

/* A product, so that two marks differ in all bytes and not in the last few alone. */
static inline uint64_t content_mark(const void *holder)
{
    return (uint64_t)(uintptr_t)holder * 0x9e3779b97f4a7c15u;
}

static inline content_word *content_last(const void *block, size_t size)
{
    return (content_word *)((char *)block + size - sizeof(content_word));
}

static inline void content_write(void *block, size_t size, uint64_t mark)
{
    if (size >= sizeof mark) {
        if (size >= 2 * sizeof mark) /* two words that do not overlap */
            *content_last(block, size) = mark;
        *(content_word *)block = mark;
    } else if (size > 0) {
        *(unsigned char *)block = (unsigned char)(mark >> 32);
    }
}

static inline void content_check(const void *block, size_t size, uint64_t mark)
{
    uint64_t wrong = 0;

    if (size >= sizeof mark) {
        wrong = *(const content_word *)block ^ mark;
        if (size >= 2 * sizeof mark)
            wrong |= *content_last(block, size) ^ mark;
    } else if (size > 0) {
        wrong = *(const unsigned char *)block ^ (unsigned char)(mark >> 32);
    }
    if (__builtin_expect(wrong != 0, 0))
        content_lost(block, size);
}

/* malloc that ends the run when there is none left. */
static inline void *content_malloc(size_t size)
{
    void *block = content_opaque(malloc(size));

    if (__builtin_expect(block == NULL, 0))
        content_no_memory(size);
    return block;
}

static inline void slot_fill(struct slot *slot, size_t size)
{
    slot->block = content_malloc(size);
    slot->size = size;
    content_write(slot->block, size, content_mark(slot));
}

/* Of a slot that holds a block. */
static inline void slot_empty(struct slot *slot)
{
    content_check(slot->block, slot->size, content_mark(slot));
    free(slot->block);
    slot->block = NULL;
}

/* Whether it holds a block or not. */
static inline void slot_replace(struct slot *slot, size_t size)
{
    if (slot->block != NULL)
        slot_empty(slot);
    slot_fill(slot, size);
}

static inline void slots_empty(struct slot *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (slots[i].block != NULL)
            slot_empty(&slots[i]);
    }
}

#endif
