/*
 * SPDX-License-Identifier: MIT
 *
 * The calls of all samples while a profile is written: a set of return addresses, then in order.
 */
#ifndef MPLACE_CIA_PROFILE_CALLS_H
#define MPLACE_CIA_PROFILE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calls {
    uint64_t count, room; /* room: a power of two */
    size_t bytes;
    uint64_t *address; /* room of them. A hash table, 0: none; after calls_sort count, ascending */
};

/* An empty set for that many addresses and at least as many more. False: no memory. */
bool calls_make(struct calls *calls, uint64_t addresses);

void calls_drop(struct calls *calls);

static inline bool calls_have_room(const struct calls *calls, uint64_t addresses)
{
    return calls->count + addresses < calls->room;
}

/* Adds an address other than 0, if it is not there; there must be room. Not after calls_sort. */
void calls_add(struct calls *calls, uint64_t address);

void calls_sort(struct calls *calls);

#endif
