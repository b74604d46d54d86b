/*
 * SPDX-License-Identifier: MIT
 *
 * Which physical frame a page lies in. The trace tells it of some pages; any other one gets a frame
 * where it is first needed: pages go to the controllers in turn, in the order of their first use,
 * from the highest address downwards, so that they do not meet the frames of an allocator, which
 * begins at the lowest.
 *
 * A page that is used may get another frame. Messages about its blocks that are on their way to
 * memory then go to the controller of the old one, and those sent later must not overtake them: the
 * new frame counts when none is on its way.
 */
#ifndef CHIP_FRAMES_H
#define CHIP_FRAMES_H

#include "chip/engine/block_map.h"
#include "chip/machine/address_map.h"

enum { FRAME_BYTES = 4096 }; /* a page of x86-64, whose numbers the marks of a trace have */

struct frame {
    uint64_t address, next; /* the present one's, and that of the one to come */
    uint32_t on_the_way;
    bool known;
};

struct frames {
    struct block_map pages; /* the number of a page to its place in `frames` */
    struct frame *frames;
    size_t count, room;
    uint64_t first_uses; /* of pages without a frame */
    uint32_t address_bits;
    const struct address_map *map;
};

void frames_init(struct frames *frames, const struct address_map *map, uint32_t address_bits);
void frames_destroy(struct frames *frames);

/* The page lies in the frame of this number, from now on or as soon as it can. */
void frames_set(struct frames *frames, uint64_t page, uint64_t frame);

/* The address of the page's frame. */
uint64_t frames_address(struct frames *frames, uint64_t page);

/* A message about a block of the page leaves for memory, and arrives. */
void frames_leave(struct frames *frames, uint64_t page);
void frames_arrive(struct frames *frames, uint64_t page);

#endif
