/*
 * SPDX-License-Identifier: MIT
 *
 * The d-left counting Bloom filter of section IV-A, after Bonomi et al., "An Improved Construction
 * for Counting Bloom Filters" (ESA 2006). A block has a fingerprint; a permutation of a table makes
 * a bucket and a remainder of it. A fingerprint is in one table, the one whose bucket has the
 * fewest remainders, the leftmost of several, as a cell with its remainder and a counter.
 * Permutations are multiplications by a number without a common divisor with the fingerprints'
 * number, and so can be inverted: a cell tells its fingerprint. For filter.c only, where the
 * functions are explained.
 */
#ifndef CHIP_FILTER_DLEFT_H
#define CHIP_FILTER_DLEFT_H

#include "chip/coherence/filter_storage.h"

bool filter_dleft_init(struct filter *filter, const struct machine *machine, uint32_t rows);
bool filter_dleft_holds(const struct filter *filter, uint64_t block);
bool filter_dleft_has_room(const struct filter *filter, uint64_t block);
void filter_dleft_insert(struct filter *filter, uint64_t block);
void filter_dleft_remove(struct filter *filter, uint64_t block);
bool filter_dleft_shares(const struct filter *filter, uint64_t block, uint64_t other);
bool filter_dleft_shrink(struct filter *filter);

#endif
