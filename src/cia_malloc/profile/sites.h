/*
 * SPDX-License-Identifier: MIT
 *
 * What was sampled, added up: a site for each stack, class and colour. Lock-free, never given back;
 * nothing here allocates from the heap.
 */
#ifndef MPLACE_CIA_PROFILE_SITES_H
#define MPLACE_CIA_PROFILE_SITES_H

#include "cia_malloc/profile/kept.h"

#include <stdatomic.h>

enum { SITE_PARTS = 256 }; /* of an object: what objects are counted in */

/* What samples stand for. Relaxed: sums, each added to alone. */
struct site_sum {
    _Atomic uint64_t parts, bytes;
};

struct site {
    struct kept kept;         /* its key is stack, class_bytes and colour */
    const struct kept *stack; /* its key is return addresses, the caller of malloc first */
    uint64_t class_bytes;     /* of a block; above the classes, whole pages */
    uint64_t colour;
    struct site_sum allocated, freed;
};

/* For the constructor, see stack_walk.h. */
void sites_start(void);

/* That of a call of the malloc family. frame: __builtin_frame_address(0) of a function of this
   library. NULL when out of memory. */
struct site *site_of_call(const void *frame, size_t class_bytes, uint32_t colour);

/* What one sample of so many bytes stands for; with samples -1 it is taken off again. */
void site_add(struct site_sum *sum, int64_t samples, size_t bytes, uint64_t interval);

#endif
