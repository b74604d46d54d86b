/*
 * SPDX-License-Identifier: MIT
 *
 * A number in decimal digits, without stdio.
 */
#ifndef MPLACE_BASE_TEXT_DECIMAL_H
#define MPLACE_BASE_TEXT_DECIMAL_H

#include <stdint.h>

enum { DECIMAL_DIGITS = 20 }; /* of the greatest number */

/* Writes the digits before end, without a zero behind them. Returns the first one. */
static inline char *decimal_before(char *end, uint64_t number)
{
    do
        *--end = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    return end;
}

#endif
