/*
 * SPDX-License-Identifier: MIT
 *
 * What memory holds after a power cut, of a program whose stores, flushes and fences are known.
 *
 * Assumed of the machine: 8 aligned bytes are written atomically, as x86-64 promises, and nothing
 * longer. Each store is cut into such words. A word is durable once its line was flushed after its
 * store and a fence of the flushing thread came after the flush. Of all other stores any subset is
 * durable: of a line that was stored to three times, one word may be the first one's and the next
 * word the third one's. A real cache writes back whole lines, in the order of the stores to each:
 * that is among these images.
 */
#ifndef POWERCUT_POWER_CUT_H
#define POWERCUT_POWER_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A word as a store left it, not durable for certain. */
struct power_cut_word {
    uint64_t word; /* its offset, in words */
    uint64_t value;
    uint64_t number; /* of the store, from 1 */
    uint32_t site;   /* the caller's: where the store is in the program */
};

/* Words of the line that were stored up to this number are durable with the thread's fence. */
struct power_cut_flush {
    uint64_t line, number;
    uint32_t thread;
};

struct power_cut {
    size_t bytes;                   /* of the memory, a multiple of 8 */
    uint8_t *durable;               /* what it holds for certain */
    struct power_cut_word *pending; /* in the order of the stores */
    struct power_cut_flush *flushes;
    uint64_t *flushed; /* by line; only within power_cut_fence, else 0 */
    size_t pending_count, pending_room, flush_count, flush_room;
    uint64_t stored; /* words so far */
};

/* Begins: content is durable. False: out of memory. */
bool power_cut_init(struct power_cut *cut, const void *content, size_t bytes);
void power_cut_destroy(struct power_cut *cut);

/* The same pending words and durable memory, without the flushes; `to` is new. False: out of
   memory. */
bool power_cut_copy(struct power_cut *to, const struct power_cut *from);

/* memory, all of it, after a store to size bytes from begin on. False: out of memory. */
bool power_cut_store(struct power_cut *cut, const uint8_t *memory, size_t begin, size_t size,
                     uint32_t site);

/* False: out of memory. */
bool power_cut_flush(struct power_cut *cut, size_t offset, uint32_t thread);
void power_cut_fence(struct power_cut *cut, uint32_t thread);

/*
 * Builds in image, of cut->bytes, what a power cut at this moment may leave, by random numbers from
 * state. Calls lost, unless it is NULL, for each pending word that the image has not.
 */
void power_cut_image(const struct power_cut *cut, uint8_t *image, uint64_t *state,
                     void (*lost)(void *context, const struct power_cut_word *word), void *context);

#endif
