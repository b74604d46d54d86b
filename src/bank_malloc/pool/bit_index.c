/*
 * SPDX-License-Identifier: MIT
 *
 * See bit_index.h.
 */
#include "bank_malloc/pool/bit_index.h"

#include <string.h>

static uint32_t words_of(uint32_t bits)
{
    return bits / 64 + 1; /* the level above may look one bit beyond the last word */
}

/* Words of each level; returns the number of levels. */
static uint32_t measure(uint32_t bound, uint32_t words[BIT_INDEX_LEVELS])
{
    uint32_t level = 0;

    words[0] = words_of(bound);
    while (words[level] > 1 && level + 1 < BIT_INDEX_LEVELS) {
        words[level + 1] = words_of(words[level]);
        level++;
    }
    return level + 1;
}

size_t bit_index_bytes(uint32_t bound)
{
    uint32_t words[BIT_INDEX_LEVELS], levels = measure(bound, words);
    size_t total = 0;

    for (uint32_t i = 0; i < levels; i++)
        total += words[i];
    return total * sizeof(uint64_t);
}

void bit_index_init(struct bit_index *set, uint32_t bound, void *zeroed)
{
    uint32_t words[BIT_INDEX_LEVELS];
    uint64_t *at = zeroed;

    set->levels = measure(bound, words);
    for (uint32_t i = 0; i < set->levels; i++) {
        set->level[i] = at;
        at += words[i];
    }
}

void bit_index_fill(struct bit_index *set, uint32_t bound)
{
    for (uint32_t i = 0; i < set->levels && bound > 0; i++) {
        uint32_t whole = bound / 64, rest = bound % 64;

        memset(set->level[i], 0xff, whole * sizeof(uint64_t));
        if (rest != 0)
            set->level[i][whole] = ((uint64_t)1 << rest) - 1;
        bound = whole + (rest != 0);
    }
}

void bit_index_rebuild(struct bit_index *set, uint32_t bound)
{
    for (uint32_t i = 0; i + 1 < set->levels; i++) {
        uint32_t below = words_of(bound);

        memset(set->level[i + 1], 0, words_of(below) * sizeof(uint64_t));
        for (uint32_t word = 0; word < below; word++)
            set->level[i + 1][word / 64] |= (uint64_t)(set->level[i][word] != 0) << word % 64;
        bound = below;
    }
}

void bit_index_extend(struct bit_index *set, uint32_t bound, const struct bit_index *lower,
                      uint32_t lower_bound)
{
    bit_index_fill(set, bound);
    memcpy(set->level[0], lower->level[0], lower_bound / 64 * sizeof(uint64_t));
    if (lower_bound % 64 != 0)
        set->level[0][lower_bound / 64] &=
            lower->level[0][lower_bound / 64] | UINT64_MAX << lower_bound % 64;
    bit_index_rebuild(set, bound);
}

void bit_index_add(struct bit_index *set, uint32_t number)
{
    for (uint32_t i = 0; i < set->levels; i++) {
        uint64_t *word = &set->level[i][number / 64], before = *word;

        *word = before | (uint64_t)1 << number % 64;
        if (before != 0)
            return; /* the levels above know of this word */
        number /= 64;
    }
}

void bit_index_remove(struct bit_index *set, uint32_t number)
{
    for (uint32_t i = 0; i < set->levels; i++) {
        uint64_t *word = &set->level[i][number / 64];

        *word &= ~((uint64_t)1 << number % 64);
        if (*word != 0)
            return;
        number /= 64;
    }
}

/* Down from a member of that level to the least member below it. */
static uint32_t descend_first(const struct bit_index *set, uint32_t level, uint32_t number)
{
    for (; level > 0; level--)
        number = number * 64 + (uint32_t)__builtin_ctzll(set->level[level - 1][number]);
    return number;
}

static uint32_t descend_last(const struct bit_index *set, uint32_t level, uint32_t number)
{
    for (; level > 0; level--)
        number = number * 64 + 63 - (uint32_t)__builtin_clzll(set->level[level - 1][number]);
    return number;
}

uint32_t bit_index_next(const struct bit_index *set, uint32_t number)
{
    for (uint32_t i = 0; i < set->levels; i++) {
        uint64_t word = set->level[i][number / 64] >> number % 64;

        if (word != 0)
            return descend_first(set, i, number + (uint32_t)__builtin_ctzll(word));
        number = number / 64 + 1;
        if (i + 1 == set->levels)
            break;
    }
    return BIT_INDEX_NONE;
}

uint32_t bit_index_previous(const struct bit_index *set, uint32_t number)
{
    for (uint32_t i = 0; i < set->levels; i++) {
        uint64_t word = set->level[i][number / 64] << (63 - number % 64);

        if (word != 0)
            return descend_last(set, i, number - (uint32_t)__builtin_clzll(word));
        if (number < 64)
            break;
        number = number / 64 - 1;
    }
    return BIT_INDEX_NONE;
}
