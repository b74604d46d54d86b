/*
 * SPDX-License-Identifier: MIT
 *
 * Frames of pages; see frames.h.
 */
#include "chip/memory/frames.h"

#include "chip/engine/allocation.h"

#include <stdlib.h>

void frames_init(struct frames *frames, const struct address_map *map, uint32_t address_bits)
{
    *frames = (struct frames){.map = map, .address_bits = address_bits};
}

void frames_destroy(struct frames *frames)
{
    block_map_destroy(&frames->pages);
    free(frames->frames);
}

static struct frame *find(struct frames *frames, uint64_t page)
{
    uint64_t *place = block_map_add(&frames->pages, page);

    if (*place == 0) {
        if (frames->count == frames->room) {
            frames->room = frames->room == 0 ? 256 : 2 * frames->room;
            frames->frames =
                allocation_checked(realloc(frames->frames, frames->room * sizeof *frames->frames));
        }
        frames->frames[frames->count] = (struct frame){0};
        *place = ++frames->count;
    }
    return &frames->frames[*place - 1];
}

static struct frame *find_known(struct frames *frames, uint64_t page)
{
    struct frame *frame = find(frames, page);

    if (!frame->known) {
        frame->known = true;
        frame->address =
            address_map_page(frames->map, frames->first_uses++, FRAME_BYTES, frames->address_bits);
        frame->next = frame->address;
    }
    return frame;
}

void frames_set(struct frames *frames, uint64_t page, uint64_t number)
{
    struct frame *frame = find(frames, page);

    frame->known = true;
    frame->next = number * FRAME_BYTES;
    if (frame->on_the_way == 0)
        frame->address = frame->next;
}

uint64_t frames_address(struct frames *frames, uint64_t page)
{
    return find_known(frames, page)->address;
}

void frames_leave(struct frames *frames, uint64_t page)
{
    find_known(frames, page)->on_the_way++;
}

void frames_arrive(struct frames *frames, uint64_t page)
{
    struct frame *frame = find_known(frames, page);

    if (--frame->on_the_way == 0)
        frame->address = frame->next;
}
