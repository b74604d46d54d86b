/*
 * SPDX-License-Identifier: MIT
 *
 * The blocks that a transaction has allocated, found by any address inside. Until the commit no
 * other thread knows them, and a roll-back frees them. Kept by lazy and norec alone (in_place.h).
 */
#ifndef TM_RUNTIME_LOGS_PRIVATE_BLOCKS_H
#define TM_RUNTIME_LOGS_PRIVATE_BLOCKS_H

#include "tm_runtime/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: no memory. */
bool private_blocks_add(struct tm_thread *self, const void *block, size_t size);

bool private_blocks_find(const struct tm_thread *self, uintptr_t address);

/* Whether a byte is in one of the blocks: two comparisons for most that are not. */
static inline bool private_blocks_have(const struct tm_thread *self, uintptr_t address)
{
    return address >= self->blocks_start && address < self->blocks_end &&
           private_blocks_find(self, address);
}

void private_blocks_clear(struct tm_thread *self);

#endif
