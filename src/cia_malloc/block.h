/*
 * SPDX-License-Identifier: MIT
 *
 * From an address to its block: which chunk, span and bit, and whether it is an address that was
 * handed out at all. Needs no lock: reads what does not change while the block lives.
 */
#ifndef MPLACE_CIA_BLOCK_H
#define MPLACE_CIA_BLOCK_H

#include "cia_malloc/chunk.h"
#include "cia_malloc/magazine.h"
#include "cia_malloc/page_map.h"

/* One line on standard error that names the address, and the end of the process. */
_Noreturn void block_is_wrong(const void *address, const char *what);

/* What the address is in: a struct chunk or a struct huge, as owner_kind_of says; or the process
   ends. */
void *block_owner(const void *address);

/* Where a block is. */
struct block {
    struct chunk *chunk;
    uint32_t span; /* index in chunk->spans */
    uint64_t bit;
    char *start;         /* its first byte; the address looked up may lie behind it */
    size_t bytes;        /* from start on */
    unsigned size_class; /* or CLASS_LARGE */
};

/* The block that the address is in, or the process ends. Does not say whether it is handed out. */
struct block block_at(struct chunk *chunk, const void *address);

/* The process ends unless the address was handed out: the first byte, or an aligned one. */
void block_check_start(const struct block *block, const void *address);

#endif
