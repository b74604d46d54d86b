/*
 * SPDX-License-Identifier: MIT
 *
 * The lines that a transaction has written to, in the order of their first write: which bytes, and
 * what was there before. In ordinary memory; one thread at a time.
 */
#ifndef MPLACE_PERSIST_WRITE_SET_H
#define MPLACE_PERSIST_WRITE_SET_H

#include "persist/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct written_line {
    uint64_t line;             /* of the memory area */
    uint64_t mask;             /* bytes written */
    uint32_t slot;             /* where in the table it is */
    uint8_t old[PERSIST_LINE]; /* what those bytes were */
};

struct write_set {
    struct written_line *lines;
    size_t count, capacity;
    uint32_t *slots;   /* hash table, open addressing: index in lines + 1, 0 empty */
    size_t slot_count; /* a power of two, more than twice the capacity; or 0 */
};

/* Room for so many lines in all. False: no memory, and the set is as it was. */
bool write_set_reserve(struct write_set *set, size_t lines);

/* The line's index in lines, or count. */
size_t write_set_find(const struct write_set *set, uint64_t line);

/* Notes that these bytes of the line are about to be written: those that were not yet are saved
   from view, the memory area. There is room for one more line. */
void write_set_add(struct write_set *set, uint64_t line, uint64_t mask, const uint8_t *view);

/* Puts all saved bytes back. */
void write_set_undo(const struct write_set *set, uint8_t *view);

/* Forgets the lines, and keeps the memory if it is not much. */
void write_set_clear(struct write_set *set);

void write_set_destroy(struct write_set *set);

#endif
