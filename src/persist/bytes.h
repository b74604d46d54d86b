/*
 * SPDX-License-Identifier: MIT
 *
 * Some bytes of a line. Bytes that the mask leaves out are neither read nor written: they may be
 * another thread's.
 */
#ifndef MPLACE_PERSIST_BYTES_H
#define MPLACE_PERSIST_BYTES_H

#include <stdint.h>
#include <string.h>

/* The mask of size bytes from first on; first + size is at most 64, size at least 1. */
static inline uint64_t bytes_mask(unsigned first, unsigned size)
{
    return (~UINT64_C(0) >> (64 - size)) << first;
}

/* Copies byte i of a line for each bit i of the mask. */
static inline void bytes_copy_masked(uint8_t *target, const uint8_t *source, uint64_t mask)
{
    while (mask != 0) {
        unsigned first = (unsigned)__builtin_ctzll(mask);
        uint64_t from_first = ~(mask >> first);
        unsigned size = from_first == 0 ? 64 : (unsigned)__builtin_ctzll(from_first);

        memcpy(target + first, source + first, size);
        mask &= ~bytes_mask(first, size);
    }
}

#endif
