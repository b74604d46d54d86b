/*
 * SPDX-License-Identifier: MIT
 *
 * How long memory that nobody uses stays with the process: CIA_DECAY_MS, a clock, and the
 * arithmetic of giving it back little by little. Only that: purge.c chooses which pages go,
 * page_source.c calls the kernel.
 *
 * What became unused at one moment is due in equal parts over the decay time: DECAY_STEPS steps, at
 * each of which a little less may be kept. A program that wants it again within that time finds
 * most of it, one that has got smaller has given all of it back by the end. Nothing happens by
 * itself: the time is looked at when the program allocates or frees off the fast paths.
 */
#ifndef MPLACE_CIA_DECAY_H
#define MPLACE_CIA_DECAY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DECAY_STEPS = 16,
    DECAY_NEVER = -1,
    DECAY_AT_ONCE = 0,
    DECAY_DEFAULT = 300,
    DECAY_GREATEST = 24 * 60 * 60 * 1000,
};

/* Reads the setting. Before the first sub-heap is published; idempotent. */
void decay_read_setting(void);

/* The decay time in milliseconds, or one of the words above. */
int32_t decay_milliseconds(void);

/*
 * Milliseconds since some moment, as coarse as the kernel's tick: a read of shared memory where the
 * kernel provides one, no system call, which would abort a transaction.
 */
uint64_t decay_clock(void);

/* Whether the moment, by that clock, was less than 10 ms ago; 0: it was never. So long the kernel
   is not asked again for what it refused. */
bool decay_is_recent(uint64_t moment);

/* How long ago it was that a sum of pages became what it is. All zero to begin with. */
struct decay {
    uint64_t step;               /* the last one looked at */
    uint32_t known;              /* pages that the counts below account for */
    uint32_t due;                /* of those, to be given back now */
    uint32_t added[DECAY_STEPS]; /* pages that came in each of the last steps, by its number */
};

/*
 * Of so many unused pages, how many to give back now. Whoever gives them back says so by
 * decay_gave_back; what is not given back stays due.
 */
uint32_t decay_due(struct decay *decay, uint64_t now, uint32_t pages);
void decay_gave_back(struct decay *decay, uint32_t pages);

#endif
