/*
 * SPDX-License-Identifier: MIT
 *
 * From pairs of addresses of one bank to the functions that choose the bank.
 */
#ifndef MPLACE_DRAM_PROBE_SOLVER_H
#define MPLACE_DRAM_PROBE_SOLVER_H

#include "bank_malloc/dram_map.h"
#include "bank_malloc/gf2.h"

#include <stddef.h>
#include <stdint.h>

/* What the solver is to know besides: SOLVER_SPARE differences more than address bits vary. */
enum { SOLVER_SPARE = 64 };

/* A basis of the differences of all addresses: what of an address can vary in this sample. */
void solver_space(const uint64_t *addresses, size_t count, struct gf2_basis *space);

/* The bits of which functions can be: the values of a function on the space are told by its bits
 * among these, the lowest bits of the space's rows. Their number is the rank of the space. */
uint64_t solver_bits(const struct gf2_basis *space);

/*
 * Finds the functions, vectors of address bits, whose parity is 0 on the differences (XOR) of two
 * addresses in one bank. Some of the differences may be wrong, a random 15 % at most; count must
 * be at least SOLVER_SPARE more than the rank of the space, from which all differences are. Bits
 * that do not vary, or only as others do, are in no function.
 *
 * Returns their number, 0 if there are none; functions, of room for DRAM_FUNCTIONS_MOST, become a
 * basis of them with few bits, in ascending order of the highest one. If there were more functions
 * than room, returns 0. The differences are reordered. Deterministic for a
 * seed.
 */
uint32_t solver_solve(uint64_t *differences, size_t count, const struct gf2_basis *space,
                      uint64_t seed, uint64_t *functions);

#endif
