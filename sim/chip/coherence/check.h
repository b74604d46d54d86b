/*
 * SPDX-License-Identifier: MIT
 *
 * The checker of --check. It knows nothing of a protocol: after each event on a block it looks into
 * all caches for it.
 *  - Tokens: those of private caches, of the home and on their way are all of the block's or, where
 *    memory has the rest, none (under token, with those that memory has, all); one is the owner's.
 *  - One writer or many readers: a store happens only where no other core has a valid copy.
 *  - Each load sees the last store: a store gives the data a new version.
 * The first finding is kept as one line.
 */
#ifndef CHIP_CHECK_H
#define CHIP_CHECK_H

#include "chip/coherence/fabric.h"

struct check;

/* NULL: out of memory. */
struct check *check_new(struct fabric *fabric);
void check_free(struct check *check);

/* The first finding, or NULL. */
const char *check_finding(const struct check *check);

/* Keeps a finding that another part has. */
void check_report(struct check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Tokens go on their way, and come in. */
void check_sent(struct check *check, const struct message *message);
void check_received(struct check *check, const struct message *message);

void check_load(struct check *check, unsigned core, uint64_t block, const struct line *line);
void check_store(struct check *check, unsigned core, uint64_t block, struct line *line);

/* The version of memory's data. */
uint64_t check_memory(struct check *check, uint64_t block);
void check_memory_written(struct check *check, uint64_t block, uint64_t version);

/* All invariants of a block, of which `at_home` is what its home has of it beside its array, and
 * `in_memory` and `owner_in_memory` what memory has under token. */
void check_block(struct check *check, uint64_t block, const struct line *at_home,
                 unsigned in_memory, bool owner_in_memory);

#endif
