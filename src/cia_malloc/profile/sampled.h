/*
 * SPDX-License-Identifier: MIT
 *
 * From the address of a sampled block to what is known of it. Lock-free: any thread, signal handler
 * or child of a fork may use it at any moment. Only who has a block adds or takes it.
 */
#ifndef MPLACE_CIA_PROFILE_SAMPLED_H
#define MPLACE_CIA_PROFILE_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct site;

struct sample {
    struct site *site;
    size_t bytes; /* asked for */
    bool hidden;  /* its page does not say that a block begins there */
};

/* False when out of memory. */
bool sampled_add(const void *block, const struct sample *sample);

/* Takes the block out; false if it is not sampled. Looks at one line in each level of the table; a
   level is four times as large as the one before. */
bool sampled_take(const void *block, struct sample *sample);

#endif
