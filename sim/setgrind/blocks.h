/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which heap block is at an address: asked at every visit, so by table and not by search.
 *
 * A page has the number of the block that covers it whole, or a table with a number for every eight
 * bytes, which is the least distance of two blocks of any allocator.
 */
#ifndef SETGRIND_BLOCKS_H
#define SETGRIND_BLOCKS_H

#include "origins.h"

struct block {
    Addr start;
    SizeT size; /* as asked for; a block of 0 bytes counts as one byte */
    struct origin *origin;
    struct tally *of_size;
    UInt window; /* in which its first line was visited last */
    Bool hot;    /* in that window */
};

void blocks_appeared(Addr start, SizeT size, struct origin *origin);
void blocks_gone(Addr start);

/* The number of the block that has this byte; 0 if none is known. */
UInt blocks_number_at(Addr address);

/* Good until the program allocates. */
struct block *blocks_by_number(UInt number);

#endif
