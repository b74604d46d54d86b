/*
 * SPDX-License-Identifier: MIT
 *
 * What the kernel is asked for: addresses without access, memory at them, and to move pages from
 * some to others. Every range is whole pages. errno stays as it is.
 */
#ifndef MPLACE_BANK_MAPPING_H
#define MPLACE_BANK_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Addresses without access that begin at a huge page; NULL: there are none. Not MAP_NORESERVE: the
 * kernel is to refuse what it never commits, once they get memory.
 */
char *mapping_reserve(size_t bytes);

/*
 * Gives closed addresses zeroed memory; false: there is none. is_fresh: they never had any. With
 * frames_matter the memory is there at once, in huge pages if there are some, because the pages of
 * a chunk are then of one bank; huge pages are not made later, because that would move it; and it
 * is locked, as far as the limit of locked memory lets (one line says so when it does not).
 */
bool mapping_open(char *from, size_t bytes, bool is_fresh, bool frames_matter);

/* No access any more; pages go. False: the kernel refused. */
bool mapping_close(char *from, size_t bytes);

/* The pages go, and what is there next is zero; accessible or not. */
void mapping_empty(char *from, size_t bytes);

/* Moves pages, frames and all; there is nothing at `from` then. False: the kernel refused. */
bool mapping_move(char *from, char *to, size_t bytes);

/* Closes addresses where there is nothing; false: another mapping has taken the place. */
bool mapping_close_hole(char *from, size_t bytes);

/* The limit of the process's addresses, RLIMIT_AS; UINT64_MAX: there is none. */
uint64_t mapping_limit(void);

#endif
