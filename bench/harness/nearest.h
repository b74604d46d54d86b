/*
 * SPDX-License-Identifier: MIT
 *
 * The name that somebody probably meant: of those that are offered, the one that the fewest edits
 * make of the word. Allocates nothing.
 */
#ifndef BENCH_HARNESS_NEAREST_H
#define BENCH_HARNESS_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word;
    size_t word_length;
    /* NULL: none is near: one edit, or two in words of four letters or more that begin alike. */
    const char *name;
    size_t name_length;
    size_t edits;
};

void nearest_begin(struct nearest *nearest, const char *word, size_t length);

/* Edits: see base/text/edit_distance.h. Words and names of more than EDIT_LENGTH_MOST letters are
   like nothing. */
void nearest_offer(struct nearest *nearest, const char *name, size_t length);

#endif
