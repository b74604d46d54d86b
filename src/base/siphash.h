/*
 * SPDX-License-Identifier: MIT
 *
 * SipHash-1-3 of one word (Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT
 * 2012; one and three rounds in place of two and four, as CPython and Rust hash strings): who knows
 * any number of words with their hashes can tell neither the key nor the hash of another word.
 */
#ifndef MPLACE_BASE_SIPHASH_H
#define MPLACE_BASE_SIPHASH_H

#include <stdint.h>

struct siphash_key {
    uint64_t low, high; /* its bytes 0 to 7 and 8 to 15, little-endian */
};

static inline uint64_t siphash_rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void siphash_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = siphash_rotate(v[1], 13) ^ v[0];
    v[0] = siphash_rotate(v[0], 32);
    v[2] += v[3];
    v[3] = siphash_rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = siphash_rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = siphash_rotate(v[1], 17) ^ v[2];
    v[2] = siphash_rotate(v[2], 32);
}

/* Of the word's eight bytes, the lowest first. */
static inline uint64_t siphash_of_word(struct siphash_key key, uint64_t word)
{
    uint64_t length =
        UINT64_C(8) << 56; /* the last block: no more bytes, and how many there were */
    uint64_t v[4] = {
        key.low ^ UINT64_C(0x736f6d6570736575), /* "somepseudorandomlygeneratedbytes" */
        key.high ^ UINT64_C(0x646f72616e646f6d),
        key.low ^ UINT64_C(0x6c7967656e657261),
        key.high ^ UINT64_C(0x7465646279746573),
    };

    v[3] ^= word;
    siphash_round(v);
    v[0] ^= word;
    v[3] ^= length;
    siphash_round(v);
    v[0] ^= length;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        siphash_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
