/*
 * SPDX-License-Identifier: MIT
 *
 * The checksum of headers and contents.
 */
#include "trace/format.h"

#include <pthread.h>

enum { POLYNOMIAL_REVERSED = (int)0xedb88320 };

static uint32_t table[256];

static void fill_table(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++)
            rest = rest >> 1 ^ (rest & 1 ? (uint32_t)POLYNOMIAL_REVERSED : 0);
        table[byte] = rest;
    }
}

uint32_t trace_checksum(uint32_t before, const void *bytes, size_t length)
{
    static pthread_once_t filled = PTHREAD_ONCE_INIT;
    const uint8_t *byte = bytes;
    uint32_t rest = ~before;

    pthread_once(&filled, fill_table);
    for (size_t i = 0; i < length; i++)
        rest = rest >> 8 ^ table[(rest ^ byte[i]) & 0xff];
    return ~rest;
}
