/*
 * SPDX-License-Identifier: MIT
 *
 * See write_set.h.
 */
#include "persist/write_set.h"

#include "persist/bytes.h"

#include <stdlib.h>

enum { LEAST_CAPACITY = 32, KEPT_CAPACITY = 4096 };

/* Where the line is in the table, or the empty slot where it would be. Fibonacci hashing (Knuth,
   TAOCP 6.4). */
static size_t slot_of(const struct write_set *set, uint64_t line)
{
    size_t slot = (size_t)((line * 0x9e3779b97f4a7c15u) >> 32) & (set->slot_count - 1);

    while (set->slots[slot] != 0 && set->lines[set->slots[slot] - 1].line != line)
        slot = (slot + 1) & (set->slot_count - 1);
    return slot;
}

bool write_set_reserve(struct write_set *set, size_t lines)
{
    size_t capacity = set->capacity == 0 ? LEAST_CAPACITY : set->capacity;
    struct written_line *new_lines;
    uint32_t *new_slots;

    if (lines <= set->capacity)
        return true;
    while (capacity < lines)
        capacity *= 2;
    new_slots = calloc(capacity * 4, sizeof *new_slots);
    if (new_slots == NULL)
        return false;
    new_lines = realloc(set->lines, capacity * sizeof *new_lines);
    if (new_lines == NULL) {
        free(new_slots);
        return false;
    }
    free(set->slots);
    set->lines = new_lines;
    set->slots = new_slots;
    set->capacity = capacity;
    set->slot_count = capacity * 4;
    for (size_t i = 0; i < set->count; i++) {
        size_t slot = slot_of(set, set->lines[i].line);

        set->slots[slot] = (uint32_t)i + 1;
        set->lines[i].slot = (uint32_t)slot;
    }
    return true;
}

size_t write_set_find(const struct write_set *set, uint64_t line)
{
    uint32_t index = set->slot_count == 0 ? 0 : set->slots[slot_of(set, line)];

    return index == 0 ? set->count : index - 1;
}

void write_set_add(struct write_set *set, uint64_t line, uint64_t mask, const uint8_t *view)
{
    size_t slot = slot_of(set, line);
    struct written_line *written;

    if (set->slots[slot] == 0) {
        set->lines[set->count].line = line;
        set->lines[set->count].mask = 0;
        set->lines[set->count].slot = (uint32_t)slot;
        set->slots[slot] = (uint32_t)++set->count;
    }
    written = &set->lines[set->slots[slot] - 1];
    bytes_copy_masked(written->old, view + line * PERSIST_LINE, mask & ~written->mask);
    written->mask |= mask;
}

void write_set_undo(const struct write_set *set, uint8_t *view)
{
    for (size_t i = 0; i < set->count; i++)
        bytes_copy_masked(view + set->lines[i].line * PERSIST_LINE, set->lines[i].old,
                          set->lines[i].mask);
}

void write_set_clear(struct write_set *set)
{
    if (set->capacity > KEPT_CAPACITY) {
        write_set_destroy(set);
        return;
    }
    for (size_t i = 0; i < set->count; i++)
        set->slots[set->lines[i].slot] = 0;
    set->count = 0;
}

void write_set_destroy(struct write_set *set)
{
    free(set->lines);
    free(set->slots);
    *set = (struct write_set){0};
}
