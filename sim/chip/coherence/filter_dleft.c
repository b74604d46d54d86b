/*
 * SPDX-License-Identifier: MIT
 *
 * The d-left counting Bloom filter; see filter_dleft.h.
 */
#include "chip/coherence/filter_dleft.h"

#include "chip/engine/block_map.h"
#include "chip/engine/divisor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTER_BITS_MOST = 8 };

/* A cell: the remainder above its counter; 0 is empty, for a counter in use is not 0. */
static uint32_t count_of(uint32_t cell)
{
    return cell & ((1u << COUNTER_BITS_MOST) - 1);
}

static uint64_t fingerprints(const struct filter *filter)
{
    return (uint64_t)filter->size << filter->bits;
}

/* The number that makes 1 of `value` modulo `modulus`, by the extended Euclidean algorithm. */
static uint64_t invert(uint64_t value, uint64_t modulus)
{
    int64_t rest = (int64_t)value, next = (int64_t)modulus, factor = 1, next_factor = 0;

    while (next != 0) {
        int64_t times = rest / next, swap = next;

        next = rest - times * next;
        rest = swap;
        swap = next_factor;
        next_factor = factor - times * next_factor;
        factor = swap;
    }
    return (uint64_t)(factor < 0 ? factor + (int64_t)modulus : factor);
}

/* The fingerprints that a table of so many bits tells apart. */
static double fingerprints_of(const struct filter *filter, uint64_t bits, uint32_t remainder,
                              uint32_t counter)
{
    double buckets = (double)bits / (filter->cells * (remainder + counter));

    return buckets * (double)(UINT64_C(1) << remainder);
}

/* The bits of a cell's counter. 3 are section IV-A's; with so many blocks to a fingerprint, a
 * counter reaches its highest value once in 10^5 (Poisson). */
static uint32_t counter_for(const struct filter *filter, uint64_t bits, double blocks,
                            uint32_t remainder)
{
    if (blocks <= fingerprints_of(filter, bits, remainder, 3))
        return 3;
    return blocks <= 4 * fingerprints_of(filter, bits, remainder, 4) ? 4 : 5;
}

/*
 * The shape of a cell, where none is set, for `blocks` blocks and tables of so many bits: the
 * longest remainder, at most the 9 bits of section IV-A, with which the fingerprints of all blocks
 * fill no more than 3/4 of the cells, as there. A remainder that is one bit shorter halves the
 * fingerprints, and more blocks share one. With 4 bits there are half as many fingerprints as cells
 * in four tables of 8 cells a bucket, so that no bucket is ever full.
 */
static void choose_cell(struct filter *filter, const struct machine *machine, uint64_t bits,
                        double blocks, uint32_t *counter)
{
    enum { REMAINDER_MOST = 9, REMAINDER_LEAST = 4 };
    uint32_t set = machine->filter.remainder_bits;

    for (uint32_t remainder = set != 0 ? set : REMAINDER_MOST;; remainder--) {
        double cells, fingerprints;

        filter->bits = remainder;
        *counter = machine->filter.counter_bits;
        if (*counter == 0)
            *counter = counter_for(filter, bits, blocks, remainder);
        fingerprints = fingerprints_of(filter, bits, remainder, *counter);
        cells = (double)filter->tables * (double)bits / (remainder + *counter);
        if (set != 0 || remainder == REMAINDER_LEAST ||
            fingerprints * -expm1(-blocks / fingerprints) <= 0.75 * cells)
            return;
    }
}

bool filter_dleft_init(struct filter *filter, const struct machine *machine, uint32_t rows)
{
    uint64_t bits = (uint64_t)rows * FILTER_ROW_BITS, modulus;
    double blocks = (double)(machine_private_blocks(machine) / machine->llc.banks);
    uint32_t counter;

    filter->cells = machine->filter.cells;
    choose_cell(filter, machine, bits, blocks, &counter);
    filter->most = (1u << counter) - 1;
    filter->size = (uint32_t)(bits / (filter->cells * (filter->bits + counter)));
    if (filter->size == 0)
        filter->size = 1;
    modulus = fingerprints(filter);
    for (uint32_t table = 0; table < filter->tables_most; table++) {
        uint64_t factor = block_map_hash(table + 1) % modulus | 1;

        while (greatest_divisor(factor, modulus) != 1)
            factor = (factor + 2) % modulus;
        filter->factor[table] = factor;
        filter->inverse[table] = modulus == 1 ? 0 : invert(factor, modulus);
    }
    filter->places =
        calloc((size_t)filter->tables_most * filter->size * filter->cells, sizeof *filter->places);
    return filter->places != NULL;
}

static uint64_t fingerprint(const struct filter *filter, uint64_t block)
{
    return block_map_hash(block >> filter->shift) % fingerprints(filter);
}

static uint64_t permuted(const struct filter *filter, uint32_t table, uint64_t print)
{
    return (uint64_t)((unsigned __int128)print * filter->factor[table] % fingerprints(filter));
}

static uint32_t *bucket(const struct filter *filter, uint32_t table, uint64_t print)
{
    uint64_t at = permuted(filter, table, print) >> filter->bits;

    return &filter->places[((size_t)table * filter->size + at) * filter->cells];
}

static uint32_t remainder_of(const struct filter *filter, uint32_t table, uint64_t print)
{
    return (uint32_t)(permuted(filter, table, print) & ((1u << filter->bits) - 1))
           << COUNTER_BITS_MOST;
}

/* The cell that has the fingerprint, or NULL: at most one of all tables has. */
static uint32_t *find(const struct filter *filter, uint64_t print)
{
    for (uint32_t table = 0; table < filter->tables; table++) {
        uint32_t *cells = bucket(filter, table, print);
        uint32_t wanted = remainder_of(filter, table, print);

        for (uint32_t i = 0; i < filter->cells; i++)
            if (cells[i] != 0 && cells[i] - count_of(cells[i]) == wanted)
                return &cells[i];
    }
    return NULL;
}

/* An empty cell of the fingerprint's emptiest bucket among the first `tables`, or NULL. */
static uint32_t *empty_cell(const struct filter *filter, uint32_t tables, uint64_t print,
                            uint32_t *chosen)
{
    uint32_t least = filter->cells, *cell = NULL;

    for (uint32_t table = 0; table < tables; table++) {
        uint32_t *cells = bucket(filter, table, print), load = 0, *empty = NULL;

        for (uint32_t i = 0; i < filter->cells; i++) {
            if (cells[i] != 0)
                load++;
            else if (empty == NULL)
                empty = &cells[i];
        }
        if (load < least) {
            least = load;
            cell = empty;
            *chosen = table;
        }
    }
    return cell;
}

bool filter_dleft_holds(const struct filter *filter, uint64_t block)
{
    return find(filter, fingerprint(filter, block)) != NULL;
}

bool filter_dleft_has_room(const struct filter *filter, uint64_t block)
{
    uint64_t print = fingerprint(filter, block);
    const uint32_t *cell = find(filter, print);
    uint32_t table = 0;

    if (cell != NULL)
        return count_of(*cell) < filter->most;
    return empty_cell(filter, filter->tables, print, &table) != NULL;
}

void filter_dleft_insert(struct filter *filter, uint64_t block)
{
    uint64_t print = fingerprint(filter, block);
    uint32_t *cell = find(filter, print), table = 0;

    if (cell != NULL) {
        ++*cell;
        return;
    }
    cell = empty_cell(filter, filter->tables, print, &table);
    *cell = remainder_of(filter, table, print) + 1;
}

void filter_dleft_remove(struct filter *filter, uint64_t block)
{
    uint32_t *cell = find(filter, fingerprint(filter, block));

    *cell = count_of(*cell) == 1 ? 0 : *cell - 1;
}

bool filter_dleft_shares(const struct filter *filter, uint64_t block, uint64_t other)
{
    uint64_t print = fingerprint(filter, block);

    /* What is in the bucket of table 0 has a fingerprint that leads there; so has the block's own.
     */
    return bucket(filter, 0, print) == bucket(filter, 0, fingerprint(filter, other));
}

bool filter_dleft_shrink(struct filter *filter)
{
    size_t table_cells = (size_t)filter->size * filter->cells;
    size_t all = table_cells * filter->tables;
    uint32_t last = filter->tables - 1, chosen = 0;
    uint32_t *before;
    bool moved = true;

    if (last == 0)
        return false;
    before = malloc(all * sizeof *before);
    if (before == NULL)
        return false;
    memcpy(before, filter->places, all * sizeof *before);
    for (size_t i = 0; i < table_cells && moved; i++) {
        uint32_t cell = before[last * table_cells + i], *to;
        uint64_t place, print;

        if (cell == 0)
            continue;
        place = ((uint64_t)(i / filter->cells) << filter->bits) + (cell >> COUNTER_BITS_MOST);
        print = (uint64_t)((unsigned __int128)place * filter->inverse[last] % fingerprints(filter));
        to = empty_cell(filter, last, print, &chosen);
        moved = to != NULL;
        if (moved)
            *to = remainder_of(filter, chosen, print) + count_of(cell);
    }
    if (moved) {
        memset(&filter->places[last * table_cells], 0, table_cells * sizeof *before);
        filter->tables--;
    } else {
        memcpy(filter->places, before, all * sizeof *before);
    }
    free(before);
    return moved;
}
