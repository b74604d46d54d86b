/*
 * SPDX-License-Identifier: MIT
 *
 * The checksum of headers and contents.
 */
#include "trace/format.h"

#include <pthread.h>

enum { POLYNOMIAL_REVERSED = (int)0xedb88320 };

enum { STEP = 8 }; /* bytes at a time */

/* Of a byte which so many zeroes follow. */
static uint32_t table[STEP][256];

static void fill_table(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++)
            rest = rest >> 1 ^ (rest & 1 ? (uint32_t)POLYNOMIAL_REVERSED : 0);
        table[0][byte] = rest;
    }
    for (int zeroes = 1; zeroes < STEP; zeroes++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t rest = table[zeroes - 1][byte];
            table[zeroes][byte] = rest >> 8 ^ table[0][rest & 0xff];
        }
    }
}

uint32_t trace_checksum(uint32_t before, const void *bytes, size_t length)
{
    static pthread_once_t filled = PTHREAD_ONCE_INIT;
    const uint8_t *byte = bytes;
    uint32_t rest = ~before;

    pthread_once(&filled, fill_table);
    for (; length >= STEP; length -= STEP, byte += STEP) {
        uint32_t low = rest ^ trace_get32(byte);
        rest = 0;
        for (int i = 0; i < 4; i++)
            rest ^= table[7 - i][low >> 8 * i & 0xff] ^ table[3 - i][byte[4 + i]];
    }
    for (; length > 0; length--, byte++)
        rest = rest >> 8 ^ table[0][(rest ^ *byte) & 0xff];
    return ~rest;
}
