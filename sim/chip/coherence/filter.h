/*
 * SPDX-License-Identifier: MIT
 *
 * Which blocks of a home are in private caches, approximately: a block that is held is always
 * found, one that is not may be found, too. The FLASK paper's section IV; its two kinds are behind
 * the same functions. Its storage is `tables` times `rows` times 64 bits, a row being the place of
 * an entry of a way of the directory.
 */
#ifndef CHIP_FILTER_H
#define CHIP_FILTER_H

#include "chip/coherence/filter_storage.h"

/* False: out of memory. `tables` of at most `tables_most` are in use at first. */
bool filter_init(struct filter *filter, const struct machine *machine, uint32_t tables,
                 uint32_t tables_most, uint32_t rows);
void filter_destroy(struct filter *filter);

/* True if the block was inserted, and not removed as often; may be true of others. */
bool filter_holds(const struct filter *filter, uint64_t block);

/* Whether the block can be inserted without a counter or a bucket flowing over. */
bool filter_has_room(const struct filter *filter, uint64_t block);

/* Only where there is room. */
void filter_insert(struct filter *filter, uint64_t block);

/* Only a block that was inserted. */
void filter_remove(struct filter *filter, uint64_t block);

/*
 * Whether removing `other` helps to make room for `block`, for which there is none. If all blocks
 * of which this holds are removed, there is room.
 */
bool filter_shares(const struct filter *filter, uint64_t block, uint64_t other);

/*
 * dleft: gives up the last table; what it holds moves to the others, since each table's permutation
 * can be inverted. False, and nothing changed, if it is the last one or there is no room.
 */
bool filter_shrink(struct filter *filter);

/* dleft: takes one more table into use, empty. */
void filter_grow(struct filter *filter);

#endif
