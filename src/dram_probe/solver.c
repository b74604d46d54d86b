/*
 * SPDX-License-Identifier: MIT
 *
 * Solving for functions over GF(2); see solver.h.
 *
 * The functions are the null space of the differences. One wrong difference takes a function out of
 * it, so the null space of all of them is of no use. Instead the solver draws as many differences
 * as address bits vary, many times, and asks of each function in their null space how many of the
 * other differences agree with it (RANSAC; Fischler and Bolles, CACM 1981). A true function agrees
 * with all but the wrong ones, any other with half of them. A draw that contains wrong differences,
 * but fewer than there are functions, still has some of the functions in its null space, so the
 * result is what all draws found together.
 */
#include "dram_probe/solver.h"

#include "base/random.h"

#include <stdbool.h>
#include <stdlib.h>

enum { DRAWS = 2000 };

/* Least part of the differences that agrees with a true function, in percent. */
enum { AGREE_PERCENT = 75 };

void solver_space(const uint64_t *addresses, size_t count, struct gf2_basis *space)
{
    *space = (struct gf2_basis){{0}};
    for (size_t i = 1; i < count; i++)
        (void)gf2_add(space, addresses[0] ^ addresses[i]);
}

uint64_t solver_bits(const struct gf2_basis *space)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < GF2_BITS; i++)
        bits |= space->row[i] != 0 ? UINT64_C(1) << i : 0;
    return bits;
}

/* Clears in each row the pivots of the others. */
static void reduce_rows(struct gf2_basis *basis)
{
    for (unsigned i = GF2_BITS; i-- > 0;) {
        for (unsigned j = i + 1; basis->row[i] != 0 && j < GF2_BITS; j++) {
            if ((basis->row[i] >> j & 1) != 0)
                basis->row[i] ^= basis->row[j];
        }
    }
}

/* Of the reduced basis: a function for each of these bits that is no pivot. Returns their number.
 */
static unsigned null_space(const struct gf2_basis *basis, uint64_t bits, uint64_t null[GF2_BITS])
{
    unsigned count = 0;

    for (uint64_t rest = bits & ~solver_bits(basis); rest != 0; rest &= rest - 1) {
        uint64_t function = rest & -rest;
        unsigned bit = (unsigned)__builtin_ctzll(rest);

        for (unsigned i = 0; i < GF2_BITS; i++)
            function |= (basis->row[i] >> bit & 1) << i;
        null[count++] = function;
    }
    return count;
}

static bool agrees(uint64_t function, const uint64_t *differences, size_t count)
{
    size_t agreeing = 0;

    for (size_t i = 0; i < count; i++)
        agreeing += __builtin_parityll(function & differences[i]) == 0;
    return agreeing * 100 >= count * AGREE_PERCENT;
}

/* Moves a random choice of them to the front. */
static void draw(uint64_t *differences, size_t count, size_t drawn, uint64_t *state)
{
    for (size_t i = 0; i < drawn; i++) {
        size_t j = i + random_below(state, (uint32_t)(count - i));
        uint64_t other = differences[j];

        differences[j] = differences[i];
        differences[i] = other;
    }
}

/* What one draw tells goes to found. */
static void learn(uint64_t *differences, size_t count, uint64_t bits, uint64_t *state,
                  struct gf2_basis *found)
{
    size_t drawn = (size_t)__builtin_popcountll(bits);
    struct gf2_basis basis = {{0}};
    uint64_t null[GF2_BITS];
    unsigned nulls;

    draw(differences, count, drawn, state);
    for (size_t i = 0; i < drawn; i++)
        (void)gf2_add(&basis, differences[i]);
    reduce_rows(&basis);
    nulls = null_space(&basis, bits, null);
    for (unsigned i = 0; i < nulls; i++) {
        if (gf2_reduce(found, null[i]) != 0 && agrees(null[i], differences + drawn, count - drawn))
            (void)gf2_add(found, null[i]);
    }
}

static int by_highest_bit(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

/* Of all bases the one whose functions have the fewest bits, which the greedy choice gives. */
static uint32_t choose_sparse(const struct gf2_basis *found, uint64_t *functions)
{
    uint64_t rows[DRAM_FUNCTIONS_MOST];
    struct gf2_basis chosen = {{0}};
    uint32_t rank = 0, count = 0;

    for (unsigned i = 0; i < GF2_BITS; i++) {
        if (found->row[i] == 0)
            continue;
        if (rank == DRAM_FUNCTIONS_MOST)
            return 0;
        rows[rank++] = found->row[i];
    }
    for (int weight = 1; count < rank; weight++) {
        for (uint32_t chosen_rows = 1; chosen_rows < UINT32_C(1) << rank; chosen_rows++) {
            uint64_t function = 0;

            for (uint32_t i = 0; i < rank; i++)
                function ^= (chosen_rows >> i & 1) != 0 ? rows[i] : 0;
            if (__builtin_popcountll(function) == weight && gf2_add(&chosen, function))
                functions[count++] = function;
        }
    }
    qsort(functions, count, sizeof functions[0], by_highest_bit);
    return count;
}

uint32_t solver_solve(uint64_t *differences, size_t count, const struct gf2_basis *space,
                      uint64_t seed, uint64_t *functions)
{
    uint64_t bits = solver_bits(space);
    struct gf2_basis found = {{0}};

    if (count < (size_t)__builtin_popcountll(bits) + SOLVER_SPARE)
        return 0;
    for (unsigned i = 0; i < DRAWS; i++)
        learn(differences, count, bits, &seed, &found);
    return choose_sparse(&found, functions);
}
