/*
 * SPDX-License-Identifier: MIT
 *
 * Persistent memory as a power cut leaves it: what had persisted until then. Recovery sees this and
 * nothing else.
 */
#ifndef CHIP_IMAGE_H
#define CHIP_IMAGE_H

#include "chip/engine/block_map.h"
#include "chip/persistence/mutants.h"
#include "chip/persistence/records.h"

struct image {
    struct block_map places; /* address to a place in home[], from 1 */
    uint64_t *home;          /* versions */
    size_t home_count, home_room;
    struct record *log; /* all that is no home write, in the order in which it persisted */
    size_t log_count, log_room;
    uint64_t head_order, head_sid; /* of the log's head */
    enum persistence_mutant mutant;
};

void image_init(struct image *image);
void image_destroy(struct image *image);

/* The place of an address; contents 0 if nothing was written there yet. */
size_t image_place(struct image *image, uint64_t address);

void image_apply(struct image *image, const struct record *record);

#endif
