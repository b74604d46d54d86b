/*
 * SPDX-License-Identifier: MIT
 */
#ifndef CHIP_DIVISOR_H
#define CHIP_DIVISOR_H

#include <stdint.h>

/* The greatest common divisor, by Euclid's algorithm; of 0 and a number, that number. */
static inline uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

#endif
