/*
 * SPDX-License-Identifier: MIT
 *
 * See private_blocks.h. A few blocks are searched one by one. More have a hash table: a block of
 * more than 2^(k-1) and at most 2^k bytes is of class k, and lies in one or two granules of 2^k
 * bytes that are aligned to their size. It is in the table under its first and its last byte's
 * granule, so that a search probes one chain for each class in use.
 *
 * The table has a power of two of 32-bit slots: 0, or a block's number plus one. It is zeroed when
 * it is built, not when it is cleared.
 */
#include "tm_runtime/logs/private_blocks.h"

#include <string.h>

enum { SEARCHED = 8, FIRST_CLASS = 6, SLOTS_PER_BLOCK = 8, SLOTS_PER_BLOCK_LEAST = 4 };

struct private_block {
    uintptr_t start, size;
};

static struct private_block *block_at(const struct tm_thread *self, size_t at)
{
    return LOG_AT(&self->blocks, struct private_block, at);
}

static size_t slots_of(const struct tm_thread *self)
{
    return self->blocks_table.used / sizeof(uint32_t);
}

static unsigned class_of(size_t size)
{
    unsigned class = FIRST_CLASS;

    while (class < 63 && (size_t)1 << class < size)
        class ++;
    return class;
}

static size_t slot_of(uintptr_t address, unsigned class, size_t slots)
{
    uint64_t key = (address >> class << 6) | class;

    return (size_t)(key * 0x9e3779b97f4a7c15u >> 30) & (slots - 1);
}

static void insert_under(struct tm_thread *self, uintptr_t address, unsigned class, uint32_t number)
{
    uint32_t *table = LOG_AT(&self->blocks_table, uint32_t, 0);
    size_t slots = slots_of(self);
    size_t at = slot_of(address, class, slots);

    while (table[at] != 0)
        at = (at + 1) & (slots - 1);
    table[at] = number;
}

static void insert(struct tm_thread *self, size_t at)
{
    const struct private_block *block = block_at(self, at);
    uintptr_t last = block->start + block->size - 1;
    unsigned class = class_of(block->size);

    insert_under(self, block->start, class, (uint32_t)at + 1);
    if (last >> class != block->start >> class)
        insert_under(self, last, class, (uint32_t)at + 1);
    self->blocks_classes |= UINT64_C(1) << class;
}

/* Makes a table for the blocks there are, and as many more again. */
static bool build_table(struct tm_thread *self, size_t count)
{
    size_t slots = 1;

    while (slots < count * SLOTS_PER_BLOCK)
        slots *= 2;
    self->blocks_table.used = 0;
    if (!log_reserve(&self->blocks_table, slots * sizeof(uint32_t)))
        return false;
    self->blocks_table.used = slots * sizeof(uint32_t);
    memset(self->blocks_table.bytes, 0, self->blocks_table.used);
    for (size_t at = 0; at < count; at++)
        insert(self, at);
    return true;
}

bool private_blocks_add(struct tm_thread *self, const void *block, size_t size)
{
    uintptr_t start = (uintptr_t)block;
    size_t count = LOG_COUNT(&self->blocks, struct private_block) + 1;

    if (size == 0)
        return true;
    if (!log_reserve(&self->blocks, sizeof(struct private_block)))
        return false;
    *(struct private_block *)log_append(&self->blocks, sizeof(struct private_block)) =
        (struct private_block){.start = start, .size = size};
    if (self->blocks_end == 0 || start < self->blocks_start)
        self->blocks_start = start;
    if (start + size > self->blocks_end)
        self->blocks_end = start + size;
    if (count <= SEARCHED)
        return true;
    if (count * SLOTS_PER_BLOCK_LEAST > slots_of(self))
        return build_table(self, count);
    insert(self, count - 1);
    return true;
}

static bool contains(const struct private_block *block, uintptr_t address)
{
    return address - block->start < block->size;
}

bool private_blocks_find(const struct tm_thread *self, uintptr_t address)
{
    const uint32_t *table = LOG_AT(&self->blocks_table, uint32_t, 0);
    size_t count = LOG_COUNT(&self->blocks, struct private_block);
    size_t slots = slots_of(self);

    if (count <= SEARCHED) {
        for (size_t at = 0; at < count; at++) {
            if (contains(block_at(self, at), address))
                return true;
        }
        return false;
    }
    for (uint64_t classes = self->blocks_classes; classes != 0; classes &= classes - 1) {
        size_t at = slot_of(address, (unsigned)__builtin_ctzll(classes), slots);

        for (; table[at] != 0; at = (at + 1) & (slots - 1)) {
            if (contains(block_at(self, table[at] - 1), address))
                return true;
        }
    }
    return false;
}

void private_blocks_clear(struct tm_thread *self)
{
    self->blocks.used = self->blocks_table.used = 0;
    self->blocks_classes = 0;
    self->blocks_start = self->blocks_end = 0;
}
