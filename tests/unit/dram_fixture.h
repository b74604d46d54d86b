/*
 * SPDX-License-Identifier: MIT
 *
 * Comparing maps: two lists of functions tell the same addresses apart if they span the same space.
 */
#ifndef TESTS_UNIT_DRAM_FIXTURE_H
#define TESTS_UNIT_DRAM_FIXTURE_H

#include "bank_malloc/dram_map.h"
#include "bank_malloc/gf2.h"
#include "base/random.h"

#include <check.h>

/* The functions of a map, those of the controller among them. */
static inline uint32_t all_functions(const struct dram_map *map,
                                     uint64_t functions[2 * DRAM_FUNCTIONS_MOST])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < map->banks; i++)
        functions[count++] = map->bank[i];
    for (uint32_t i = 0; i < map->controllers; i++)
        functions[count++] = map->controller[i];
    return count;
}

static inline struct gf2_basis span_of(const uint64_t *functions, uint32_t count)
{
    struct gf2_basis basis = {{0}};

    for (uint32_t i = 0; i < count; i++)
        (void)gf2_add(&basis, functions[i]);
    return basis;
}

static inline bool same_span(const uint64_t *one, uint32_t one_count, const uint64_t *other,
                             uint32_t other_count)
{
    struct gf2_basis of_one = span_of(one, one_count), of_other = span_of(other, other_count);

    for (uint32_t i = 0; i < one_count; i++) {
        if (gf2_reduce(&of_other, one[i]) != 0)
            return false;
    }
    for (uint32_t i = 0; i < other_count; i++) {
        if (gf2_reduce(&of_one, other[i]) != 0)
            return false;
    }
    return true;
}

static inline bool tells_the_same(const struct dram_map *one, const struct dram_map *other)
{
    uint64_t of_one[2 * DRAM_FUNCTIONS_MOST], of_other[2 * DRAM_FUNCTIONS_MOST];
    uint32_t one_count = all_functions(one, of_one), other_count = all_functions(other, of_other);

    return same_span(of_one, one_count, of_other, other_count);
}

/* Functions of the bits from 6 on and below bits, each of a quarter of them on average. */
static inline void make_random_map(struct dram_map *map, uint32_t functions, unsigned bits,
                                   uint64_t *state)
{
    uint64_t mask = (UINT64_C(1) << bits) - 64;
    struct gf2_basis basis = {{0}};

    *map = (struct dram_map){.banks = 0};
    while (map->banks < functions) {
        uint64_t function = random_next(state) & random_next(state) & mask;

        if (gf2_add(&basis, function))
            map->bank[map->banks++] = function;
    }
}

#endif
