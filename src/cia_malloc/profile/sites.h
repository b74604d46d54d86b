/*
 * SPDX-License-Identifier: MIT
 *
 * What was sampled, added up: a site for each stack, class and colour. Lock-free, never given back.
 */
#ifndef MPLACE_CIA_PROFILE_SITES_H
#define MPLACE_CIA_PROFILE_SITES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct stack;

enum { SITE_PARTS = 256 }; /* of an object: what objects are counted in */

/* What samples stand for. Relaxed: sums, each added to alone. */
struct site_sum {
    _Atomic uint64_t parts, bytes;
};

struct site {
    struct site *next; /* of the same hash */
    const struct stack *stack;
    size_t class_bytes; /* of a block; above the classes, whole pages */
    uint32_t colour;
    struct site_sum allocated, freed;
};

/* NULL when out of memory. */
struct site *site_of(const struct stack *stack, size_t class_bytes, uint32_t colour);

/* What one sample of so many bytes stands for. */
void site_add(struct site_sum *sum, size_t bytes, uint64_t interval);

/* The next one after it, in no order; NULL: the first, and at the end. */
struct site *site_next(const struct site *site);

#endif
