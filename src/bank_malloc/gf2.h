/*
 * SPDX-License-Identifier: MIT
 *
 * Vectors over GF(2), 64 bits each: addition is XOR. A basis in echelon form.
 */
#ifndef MPLACE_BANK_MALLOC_GF2_H
#define MPLACE_BANK_MALLOC_GF2_H

#include <stdbool.h>
#include <stdint.h>

enum { GF2_BITS = 64 };

/* row[i] is 0 or a vector whose lowest bit is i; the rows that are not 0 are independent. All 0 is
 * the empty basis. */
struct gf2_basis {
    uint64_t row[GF2_BITS];
};

/* Adds rows to the vector until its lowest bit is none of theirs: 0 if and only if the basis spans
 * it. */
static inline uint64_t gf2_reduce(const struct gf2_basis *basis, uint64_t vector)
{
    while (vector != 0) {
        uint64_t row = basis->row[__builtin_ctzll(vector)];

        if (row == 0)
            break;
        vector ^= row;
    }
    return vector;
}

/* False, and nothing added: the basis spans it already. */
static inline bool gf2_add(struct gf2_basis *basis, uint64_t vector)
{
    vector = gf2_reduce(basis, vector);
    if (vector == 0)
        return false;
    basis->row[__builtin_ctzll(vector)] = vector;
    return true;
}

#endif
