/*
 * SPDX-License-Identifier: MIT
 *
 * Keys and values of the load.
 */
#ifndef BENCH_CACHE_SERVER_CONTENT_H
#define BENCH_CACHE_SERVER_CONTENT_H

#include "harness/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CONTENT_KEY_LEAST = 16, CONTENT_KEY_MOST = 64, CONTENT_NUMBER_SIZE = 24 };

/* What a key is for is its first letter. */
enum content_kind { CONTENT_VALUE = 'v', CONTENT_NUMBER = 'n', CONTENT_OLD = 'o' };

/* Writes the key; returns its length. */
static inline size_t content_key(char *key, enum content_kind kind, uint64_t number)
{
    uint64_t state = number ^ (uint64_t)kind << 56, random = random_next(&state);
    size_t length =
        CONTENT_KEY_LEAST + random_below(&state, CONTENT_KEY_MOST - CONTENT_KEY_LEAST + 1);

    key[0] = (char)kind;
    for (size_t i = 1; i < CONTENT_KEY_LEAST; i++)
        key[i] = "0123456789abcdef"[(number >> 4 * (CONTENT_KEY_LEAST - 1 - i)) & 15];
    for (size_t i = CONTENT_KEY_LEAST; i < length; i++)
        key[i] = (char)('a' + (random >> (i % 8 * 8)) % 26);
    return length;
}

/* The number of a key that content_key wrote. */
static inline uint64_t content_number(const char *key)
{
    uint64_t number = 0;

    for (size_t i = 1; i < CONTENT_KEY_LEAST; i++)
        number = number << 4 | (uint64_t)(key[i] <= '9' ? key[i] - '0' : key[i] - 'a' + 10);
    return number;
}

/* Values have a multiple of 8 bytes: a random word first, those after it follow from it and the
 * key. */
static inline void content_write(char *value, size_t size, uint64_t number, uint64_t random)
{
    uint64_t state = number * 0x9e3779b97f4a7c15u ^ random;

    memcpy(value, &random, sizeof random);
    for (size_t at = sizeof random; at + sizeof state <= size; at += sizeof state) {
        state += 0x9e3779b97f4a7c15u;
        memcpy(value + at, &state, sizeof state);
    }
}

static inline bool content_is_whole(const char *value, size_t size, uint64_t number)
{
    uint64_t state, word, random;

    memcpy(&random, value, sizeof random);
    state = number * 0x9e3779b97f4a7c15u ^ random;
    for (size_t at = sizeof random; at + sizeof state <= size; at += sizeof state) {
        state += 0x9e3779b97f4a7c15u;
        memcpy(&word, value + at, sizeof word);
        if (word != state)
            return false;
    }
    return true;
}

#endif
