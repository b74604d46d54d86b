/*
 * SPDX-License-Identifier: MIT
 *
 * In place of src/persist/persistence.c: records stores, flushes and fences, and builds what the
 * file would hold after a power cut.
 *
 * The rules are those of sim/powercut.
 */
#ifndef TESTS_UNIT_PERSIST_RECORDER_H
#define TESTS_UNIT_PERSIST_RECORDER_H

#include "persist/persistence.h"
#include "powercut/power_cut.h"

#include <stddef.h>
#include <stdint.h>

enum { RECORDED_BYTES = 65536 };

struct recorder {
    struct persistence *persistence;
    struct power_cut cut;
    void (*after_event)(void); /* called after each store, flush and fence; may be NULL */
};

/* Who records now; NULL: stores are stores and nothing is recorded. */
extern struct recorder *recorder;

/* From this fence on, as persistence.fences counts them, all fail with ENOSPC, as msync may; 0:
 * none. */
extern uint64_t recorder_failing_fence;

/* Begins: what the file holds is durable. What the recorder had before is freed. */
void recorder_start(struct recorder *started, struct persistence *persistence);

/* Begins with what is durable in another one, and what is not for certain; flushes are forgotten.
 */
void recorder_go_on(struct recorder *started, const struct recorder *from);

/* Frees what it has. */
void recorder_end(struct recorder *ended);

/* Builds in image one file that a power cut at this moment may leave, by random numbers from state.
 */
void recorder_cut(const struct recorder *cut, uint8_t *image, uint64_t *state);

#endif
