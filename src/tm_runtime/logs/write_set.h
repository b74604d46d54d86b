/*
 * SPDX-License-Identifier: MIT
 *
 * The buffered writes of lazy and norec: an entry for each aligned word of 8 bytes, with a mask of
 * the bytes that were written, so that accesses of any size and place agree. Found by a hash table
 * of the entries' numbers, behind a filter of 64 bits.
 */
#ifndef TM_RUNTIME_LOGS_WRITE_SET_H
#define TM_RUNTIME_LOGS_WRITE_SET_H

#include "tm_runtime/thread.h"

#include <stdbool.h>
#include <stdint.h>

struct redo_entry {
    uint64_t *word;
    uint64_t value;
    uint64_t mask; /* 0xff for each byte that was written */
};

/* The word of an address, the place of a value in it, and the mask of so many bytes there. */
static inline uint64_t *word_of(const void *address)
{
    return (uint64_t *)((uintptr_t)address & ~(uintptr_t)7);
}

static inline unsigned shift_in_word(const void *address)
{
    return ((uintptr_t)address & 7) * 8;
}

static inline uint64_t mask_of(size_t size)
{
    return size == 8 ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1;
}

/* Whether all of it is in one word. */
static inline bool is_in_one_word(const void *address, size_t size)
{
    return ((uintptr_t)address & 7) + size <= 8;
}

/* How many of the bytes from address on are in its word. */
static inline size_t in_first_word(const void *address, size_t size)
{
    size_t rest = 8 - ((uintptr_t)address & 7);

    return size < rest ? size : rest;
}

static inline uint64_t write_set_filter_of(const uint64_t *word)
{
    return UINT64_C(1) << ((uint64_t)(uintptr_t)word * 0x9e3779b97f4a7c15u >> 58);
}

/* NULL: no byte of the word was written. */
struct redo_entry *write_set_find(struct tm_thread *self, const uint64_t *word);

/* value with the bytes that were written to the size bytes at address, which are in one word. */
static inline uint64_t write_set_overlay(struct tm_thread *self, const void *address, size_t size,
                                         uint64_t value)
{
    const struct redo_entry *entry;
    unsigned shift = shift_in_word(address);

    if (!(self->redo_filter & write_set_filter_of(word_of(address))))
        return value;
    entry = write_set_find(self, word_of(address));
    if (entry == NULL)
        return value;
    uint64_t mask = entry->mask >> shift & mask_of(size);
    return (value & ~mask) | (entry->value >> shift & mask);
}

/* Buffers the size bytes, which are in one word. False: no memory. */
bool write_set_put(struct tm_thread *self, void *address, size_t size, uint64_t value);

/* Writes all of it to memory. Repeating it changes nothing. */
void write_set_write_back(struct tm_thread *self);

void write_set_clear(struct tm_thread *self);

/* Writes all of it to memory and to the undo log, and clears it. False: no memory for the log. */
bool write_set_write_in_place(struct tm_thread *self);

#endif
