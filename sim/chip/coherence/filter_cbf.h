/*
 * SPDX-License-Identifier: MIT
 *
 * The counting Bloom filter of section IV-A: each hash function has counters of its own (a parallel
 * filter), and a block adds one to a counter of each. For filter.c only, where the functions are
 * explained.
 */
#ifndef CHIP_FILTER_CBF_H
#define CHIP_FILTER_CBF_H

#include "chip/coherence/filter_storage.h"

bool filter_cbf_init(struct filter *filter, const struct machine *machine, uint32_t rows);
bool filter_cbf_holds(const struct filter *filter, uint64_t block);
bool filter_cbf_has_room(const struct filter *filter, uint64_t block);
void filter_cbf_insert(struct filter *filter, uint64_t block);
void filter_cbf_remove(struct filter *filter, uint64_t block);
bool filter_cbf_shares(const struct filter *filter, uint64_t block, uint64_t other);

#endif
