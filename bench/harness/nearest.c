/*
 * SPDX-License-Identifier: MIT
 *
 * Edit distances, a row of the table at a time; see nearest.h.
 */
#include "harness/nearest.h"

#include <stdbool.h>

void nearest_begin(struct nearest *nearest, const char *word, size_t length)
{
    *nearest = (struct nearest){.word = word, .word_length = length, .edits = length > 3 ? 3 : 2};
}

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Of words of up to NEAREST_LENGTH_MOST letters. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    /* rows[i % 3][j]: edits that make the first j letters of b of the first i of a. */
    size_t rows[3][NEAREST_LENGTH_MOST + 1];

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *now = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3];

        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

            now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]), least(last[j], now[j - 1]) + 1);
            if (swapped)
                now[j] = least(now[j], rows[(i + 1) % 3][j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

void nearest_offer(struct nearest *nearest, const char *name, size_t length)
{
    if (length > NEAREST_LENGTH_MOST || nearest->word_length > NEAREST_LENGTH_MOST)
        return;
    size_t edits = edit_distance(nearest->word, nearest->word_length, name, length);
    if (edits < nearest->edits && (edits <= 1 || *name == *nearest->word)) {
        nearest->name = name;
        nearest->name_length = length;
        nearest->edits = edits;
    }
}
