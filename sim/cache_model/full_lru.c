/*
 * SPDX-License-Identifier: MIT
 *
 * See full_lru.h. Calls no library function.
 */
#include "cache_model/full_lru.h"

/* Twice as many buckets as lines, rounded up to a power of two: chains are short. */
static uint32_t bucket_bits(uint32_t lines)
{
    uint32_t bits = 1;

    while (((uint32_t)1 << bits) < 2 * lines)
        bits++;
    return bits;
}

size_t full_lru_bytes(uint32_t lines)
{
    /* Places first: they want the greater alignment. */
    return ((size_t)lines + 1) * sizeof(struct full_lru_place) +
           (sizeof(uint32_t) << bucket_bits(lines));
}

void full_lru_init(struct full_lru *cache, uint32_t lines, void *memory)
{
    struct full_lru_place *places = memory;
    uint32_t bits = bucket_bits(lines);

    *cache = (struct full_lru){
        .lines = lines,
        .shift = 64 - bits,
        .place = places,
        .bucket = (uint32_t *)(void *)(places + lines + 1),
    };
    places[0] = (struct full_lru_place){.line = 0};
    for (uint32_t i = 0; i < (uint32_t)1 << bits; i++)
        cache->bucket[i] = 0;
}

static uint32_t *bucket_of(const struct full_lru *cache, uint64_t line)
{
    return &cache->bucket[line * UINT64_C(0x9E3779B97F4A7C15) >> cache->shift];
}

static void take_off_list(struct full_lru_place *places, uint32_t number)
{
    places[places[number].newer].older = places[number].older;
    places[places[number].older].newer = places[number].newer;
}

static void put_newest(struct full_lru_place *places, uint32_t number)
{
    places[number].newer = 0;
    places[number].older = places[0].older;
    places[places[0].older].newer = number;
    places[0].older = number;
}

static void take_off_chain(const struct full_lru *cache, uint32_t number)
{
    uint32_t *link = bucket_of(cache, cache->place[number].line);

    while (*link != number)
        link = &cache->place[*link].next;
    *link = cache->place[number].next;
}

bool full_lru_access(struct full_lru *cache, uint64_t line)
{
    struct full_lru_place *places = cache->place;
    uint32_t *bucket = bucket_of(cache, line), number = *bucket;

    while (number != 0 && places[number].line != line)
        number = places[number].next;
    if (number != 0) {
        if (places[0].older != number) {
            take_off_list(places, number);
            put_newest(places, number);
        }
        return true;
    }
    if (cache->used < cache->lines) {
        number = ++cache->used;
    } else {
        number = places[0].newer;
        take_off_list(places, number);
        take_off_chain(cache, number);
    }
    places[number].line = line;
    places[number].next = *bucket;
    *bucket = number;
    put_newest(places, number);
    return false;
}
