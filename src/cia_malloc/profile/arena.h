/*
 * SPDX-License-Identifier: MIT
 *
 * Zeroed memory that is never given back, from any thread and from signal handlers: lock-free.
 */
#ifndef MPLACE_CIA_PROFILE_ARENA_H
#define MPLACE_CIA_PROFILE_ARENA_H

#include <stddef.h>

enum { ARENA_LARGEST = 4096 };

/* Aligned to 8 bytes; at most ARENA_LARGEST bytes. NULL when out of memory. errno stays. */
void *arena_take(size_t bytes);

#endif
