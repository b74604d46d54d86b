/*
 * SPDX-License-Identifier: MIT
 *
 * In place of src/persist/persistence.c: records stores, flushes and fences, and builds what the
 * file would hold after a power cut.
 *
 * Assumed of the machine: 8 aligned bytes are written atomically, as x86-64 promises, and nothing
 * longer. Each store is cut into such words. A word is durable once its line was flushed after its
 * store and a fence came after the flush. Of all other stores any subset is durable: of a line that
 * was stored to three times, one word may be the first one's and the next word the third one's. A
 * real cache writes back whole lines, in the order of the stores to each: that is among these
 * images.
 */
#ifndef TESTS_UNIT_PERSIST_RECORDER_H
#define TESTS_UNIT_PERSIST_RECORDER_H

#include "persist/persistence.h"

#include <stddef.h>
#include <stdint.h>

enum { RECORDED_BYTES = 65536, RECORDED_STORES = 1 << 16 };

struct recorded_store {
    uint32_t word; /* in the file */
    uint64_t value;
};

struct recorder {
    struct persistence *persistence;
    uint8_t durable[RECORDED_BYTES];
    struct recorded_store pending[RECORDED_STORES]; /* not durable for certain, in order */
    uint32_t pending_count;
    uint32_t flushed[RECORDED_BYTES / 64]; /* stores to the line before this number are flushed */
    void (*after_event)(void); /* called after each store, flush and fence; may be NULL */
};

/* Who records now; NULL: stores are stores and nothing is recorded. */
extern struct recorder *recorder;

/* From this fence on, as persistence.fences counts them, all fail with ENOSPC, as msync may; 0:
 * none. */
extern uint64_t recorder_failing_fence;

/* Begins: what the file holds is durable. */
void recorder_start(struct recorder *started, struct persistence *persistence);

/* Builds in image one file that a power cut at this moment may leave, by random numbers from state.
 */
void recorder_cut(const struct recorder *cut, uint8_t *image, uint64_t *state);

#endif
