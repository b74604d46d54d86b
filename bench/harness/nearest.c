/*
 * SPDX-License-Identifier: MIT
 *
 * See nearest.h.
 */
#include "harness/nearest.h"

#include "base/text/edit_distance.h"

void nearest_begin(struct nearest *nearest, const char *word, size_t length)
{
    *nearest = (struct nearest){.word = word, .word_length = length, .edits = length > 3 ? 3 : 2};
}

void nearest_offer(struct nearest *nearest, const char *name, size_t length)
{
    if (length > EDIT_LENGTH_MOST || nearest->word_length > EDIT_LENGTH_MOST)
        return;
    size_t edits = edit_distance(nearest->word, nearest->word_length, name, length);
    if (edits < nearest->edits && (edits <= 1 || *name == *nearest->word)) {
        nearest->name = name;
        nearest->name_length = length;
        nearest->edits = edits;
    }
}
