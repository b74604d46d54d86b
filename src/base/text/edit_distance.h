/*
 * SPDX-License-Identifier: MIT
 *
 * How near one name is to another, for "did you mean". Restricted Damerau-Levenshtein distance
 * (optimal string alignment): an edit puts a letter in, leaves one out, changes one, or swaps one
 * with the next.
 */
#ifndef MPLACE_BASE_TEXT_EDIT_DISTANCE_H
#define MPLACE_BASE_TEXT_EDIT_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>

enum { EDIT_LENGTH_MOST = 63 };

static inline size_t edit_least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Edits that make b of a, both of at most EDIT_LENGTH_MOST letters. Allocates nothing. */
static inline size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    /* rows[i % 3][j]: from the first i letters of a to the first j of b. */
    size_t rows[3][EDIT_LENGTH_MOST + 1];

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *now = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3];

        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

            now[j] = edit_least(last[j - 1] + (a[i - 1] != b[j - 1]),
                                edit_least(last[j], now[j - 1]) + 1);
            if (swapped)
                now[j] = edit_least(now[j], rows[(i + 1) % 3][j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

#endif
