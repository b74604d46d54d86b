/*
 * SPDX-License-Identifier: MIT
 *
 * A bit for each page of a chunk.
 */
#ifndef MPLACE_CIA_PAGE_BITS_H
#define MPLACE_CIA_PAGE_BITS_H

#include "cia_malloc/pages/geometry.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHUNK_WORDS = CHUNK_PAGES / 64 };

/* The bits of word w that belong to pages [first, first + pages). */
static inline uint64_t page_bits_mask(uint32_t w, uint32_t first, uint32_t pages)
{
    uint32_t low = first > w * 64 ? first - w * 64 : 0;
    uint32_t end = first + pages - w * 64;
    uint64_t mask = ~(uint64_t)0 << low;

    return end >= 64 ? mask : mask & ~(~(uint64_t)0 << end);
}

/* How many bits of a range are set. */
static inline uint32_t page_bits_count(const uint64_t *bits, uint32_t first, uint32_t pages)
{
    uint32_t count = 0;

    for (uint32_t w = first / 64; w <= (first + pages - 1) / 64; w++)
        count += (uint32_t)__builtin_popcountll(bits[w] & page_bits_mask(w, first, pages));
    return count;
}

static inline void page_bits_set(uint64_t *bits, uint32_t first, uint32_t pages, bool value)
{
    for (uint32_t w = first / 64; w <= (first + pages - 1) / 64; w++) {
        uint64_t mask = page_bits_mask(w, first, pages);

        bits[w] = value ? bits[w] | mask : bits[w] & ~mask;
    }
}

/* The first page from the given one on whose bit has the value, or CHUNK_PAGES. */
static inline uint32_t page_bits_next(const uint64_t *map, uint32_t from, bool value)
{
    for (uint32_t w = from / 64; w < CHUNK_WORDS; w++) {
        uint64_t bits = value ? map[w] : ~map[w];

        if (w == from / 64)
            bits &= ~(uint64_t)0 << (from % 64);
        if (bits != 0)
            return w * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return CHUNK_PAGES;
}

#endif
