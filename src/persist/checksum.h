/*
 * SPDX-License-Identifier: MIT
 *
 * A checksum of 64 bits over an even number of words: NH of UMAC (Black, Halevi, Krawczyk, Krovetz
 * and Rogaway, CRYPTO 1999), a sum of products of pairs, each word first added to a constant of its
 * place, and a final mix. Two different texts of one length have the same with probability about
 * 2^-64. Not against an adversary, whom the file's permissions keep out.
 */
#ifndef MPLACE_PERSIST_CHECKSUM_H
#define MPLACE_PERSIST_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The finaliser of SplitMix64. */
static inline uint64_t checksum_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Of words 64-bit words, even, at data, which need not be aligned. */
static inline uint64_t checksum_words(const void *data, size_t words, uint64_t seed)
{
    unsigned __int128 sum = 0;
    uint64_t key = seed;

    for (size_t i = 0; i < words; i += 2) {
        uint64_t pair[2];

        memcpy(pair, (const char *)data + i * sizeof(uint64_t), sizeof pair);
        key += 0x9e3779b97f4a7c15u;
        sum += (unsigned __int128)(pair[0] + key) * (pair[1] + (key ^ 0x5851f42d4c957f2du));
    }
    return checksum_mix((uint64_t)sum ^ checksum_mix((uint64_t)(sum >> 64) + seed));
}

#endif
