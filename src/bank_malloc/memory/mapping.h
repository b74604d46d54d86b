/*
 * SPDX-License-Identifier: MIT
 *
 * What the kernel is asked for: memory at addresses that it does not choose itself, and to move
 * pages from some to others. Nothing is reserved, for what is reserved counts where memory is
 * locked (mlockall) or addresses are limited (RLIMIT_AS). Every range is whole pages. errno stays
 * as it is.
 */
#ifndef MPLACE_BANK_MAPPING_H
#define MPLACE_BANK_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Addresses that begin at a huge page, far from where the kernel puts what it places itself, and as
 * random as that. Nothing is there, nor anywhere up to the next ones that this gives. NULL: there
 * are none. Called at the start, by one thread.
 */
char *mapping_far(size_t bytes);

enum mapping_answer {
    MAPPING_OPEN,
    MAPPING_REFUSED, /* nothing is there */
    MAPPING_TAKEN,   /* another's mapping is there */
    MAPPING_STUCK,   /* refused, and a mapping of ours is there */
};

/*
 * Gives addresses zeroed memory. is_ours: a mapping of ours is there; its pages go. With
 * frames_matter the memory is there at once, in huge pages if there are some, because the pages of
 * a chunk are then of one bank; huge pages are not made later, because that would move it; and it
 * is locked, as far as the limit of locked memory lets (one line says so when it does not).
 */
enum mapping_answer mapping_open(char *from, size_t bytes, bool is_ours, bool frames_matter);

/* Nothing is there any more. False: the kernel refused, and all is as it was. */
bool mapping_close(char *from, size_t bytes);

/* The pages go, as far as the kernel lets; what mapping_open gives next is zero. */
void mapping_empty(char *from, size_t bytes);

/* In the child of a fork: the parent has the pages for itself again. What mapping_open gives next
   is zero. */
void mapping_drop_shared(char *from, size_t bytes);

/* Addresses where there is nothing become ours, without access. Never MAPPING_STUCK. */
enum mapping_answer mapping_claim(char *from, size_t bytes);

/* Moves pages, frames and all, to claimed addresses; there is nothing at `from` then. False: the
   kernel refused. */
bool mapping_move(char *from, char *to, size_t bytes);

/* A table that grows in place: only its beginning has memory. */
struct mapping_table {
    char *base;
    size_t bytes;   /* have memory, all zero at first */
    size_t planned; /* a thread may have been getting memory up to there when it was forked */
};

/* Memory for that many bytes at least, in all; false: the kernel refused. */
bool mapping_table_grow(struct mapping_table *table, size_t bytes);

/* In the child of a fork. */
void mapping_table_start_child(struct mapping_table *table);

#endif
