/*
 * SPDX-License-Identifier: MIT
 *
 * With CIA_HARDEN=1: the process's secret, random numbers from it, and patterns of bytes that are
 * written where the program must not write, and compared later.
 */
#ifndef MPLACE_CIA_CANARY_H
#define MPLACE_CIA_CANARY_H

#include <stddef.h>
#include <stdint.h>

struct subheap;

enum {
    /* Bytes behind those asked for, at least, that are no block's. */
    HARDEN_SLACK_LEAST = 8,
};

/* Of all bytes of a free block. As part of an address it is one that nothing can have. */
#define HARDEN_JUNK UINT64_C(0xd5d5d5d5d5d5d5d5)

/* Uniform in [0, bound), from the sub-heap's generator, which begins with the secret. Caller must
   hold the lock. */
uint32_t harden_random_below(struct subheap *heap, uint32_t bound);

/* What stands behind a block of the program, 8 bytes again and again: none of them is 0, so that a
   string's end is seen among them. Who reads one block's does not know that of any other. */
uint64_t harden_canary(const void *block);

/* Fills all bytes from one address to another with those of the word, again and again. */
void harden_fill(char *from, char *end, uint64_t word);

/* The first byte that is not so, or NULL. From the same address on; they are HARDEN_SLACK_LEAST at
   least. */
const char *harden_find_change(const char *from, const char *end, uint64_t word);

#endif
