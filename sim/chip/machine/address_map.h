/*
 * SPDX-License-Identifier: MIT
 *
 * Which bits of a physical address choose the controller, the rank, the bank and the row.
 *
 * A bit of an index (of the controller, the rank or the bank) is the exclusive or of some address
 * bits: a function. A machine file lists functions by their bits, the lowest bit of the index
 * first: "13 14 15", or "13^17 14^18 15^19" where rows are mixed in. The functions have to be
 * linearly independent over GF(2). Then each of them can be given an address bit of its own, its
 * pivot, such that the indices and the other bits together still determine the address. Of those
 * other bits, the lowest are the column, and the rest is the row.
 */
#ifndef CHIP_ADDRESS_MAP_H
#define CHIP_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADDRESS_BITS_MOST = 52, ADDRESS_FUNCTIONS_MOST = 6 };

enum address_kind {
    ADDRESS_AUTO, /* the lowest bits that are free, see address_map_make */
    ADDRESS_NONE, /* no function: the index is always 0 */
    ADDRESS_LIST
};

/* The functions of one index as a machine file has them. All zeroes is ADDRESS_AUTO. */
struct address_bits {
    uint64_t mask[ADDRESS_FUNCTIONS_MOST];
    uint32_t kind, count;
};

/* Reads "auto", "none" or a list. False: the text is none of these. */
bool address_bits_parse(struct address_bits *bits, const char *text);

/* The same as text, which fits into `length` of at least 1024 bytes. */
void address_bits_print(const struct address_bits *bits, char *text, size_t length);

struct address_index {
    uint64_t mask[ADDRESS_FUNCTIONS_MOST];
    unsigned count;
};

struct address_map {
    struct address_index controller, rank, bank;
    /* The functions of the controller, each without the pivots of those before it. */
    uint64_t reduced[ADDRESS_FUNCTIONS_MOST], pivot[ADDRESS_FUNCTIONS_MOST];
    uint64_t row; /* the bits of an address that are its row */
};

struct address_shape {
    struct address_bits controller_bits, rank_bits, bank_bits;
    uint32_t controllers, ranks, banks, row_bytes, block;
    uint32_t address_bits;
    unsigned controller_from; /* controllers, if automatic, by the free bits from this one on */
};

/*
 * Resolves a shape. Automatic functions take single bits: the controller those from
 * `controller_from` on, then the bank the lowest above the column, then the rank the next. False:
 * `problem` says which list is wrong, and why.
 */
bool address_map_make(struct address_map *map, const struct address_shape *shape, char *problem,
                      size_t length);

/* The value of an index at an address. */
static inline unsigned address_index_of(const struct address_index *index, uint64_t address)
{
    unsigned value = 0;

    for (unsigned i = 0; i < index->count; i++)
        value |= (unsigned)__builtin_parityll(address & index->mask[i]) << i;
    return value;
}

/*
 * The address of the number-th page of `page` bytes: pages go to the controllers in turn as far as
 * a page lies at one controller, and within a controller from the highest address downwards.
 */
uint64_t address_map_page(const struct address_map *map, uint64_t number, uint32_t page,
                          uint32_t address_bits);

#endif
