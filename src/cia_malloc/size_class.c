/*
 * SPDX-License-Identifier: MIT
 *
 * The table of size classes, with the reason for each entry that is not a prime; see size_class.h.
 *
 * Primes from 2 to 31 lines, all of them. Prime multiples of the line are the "more radical" of the
 * two cures that Afek, Dice and Morrison give (Cache Index-Aware Memory Allocation, ISMM 2011): odd
 * multiples spread the blocks of one class, primes also keep two classes from walking in step.
 *
 * Four entries are not prime:
 *    1   the smallest block; coprime with everything.
 *    9   between 7 and 11: a request of 8 lines (512 B, the commonest round size there is) would
 *        waste 27 % of an 11-line block, and 11 % of this one.
 *   15   between 13 and 17: 14 lines would waste 18 %, now 7 %.
 *   33   between 31 and 37: 2049 B would waste 13.5 %, more than the 12.5 % allowed above 2 KiB; it
 *        also serves 2 KiB itself, which programs ask for.
 * docs/performance.md has the waste measured with and without them.
 *
 * Above 33 each entry is the largest prime b for which the smallest request it serves, one byte
 * more than the entry before, wastes at most 12.5 % of the block; the last one covers 64 KiB.
 */
#include "cia_malloc/size_class.h"

#include <assert.h>

const uint16_t size_class_lines[SIZE_CLASS_COUNT] = {
    1,   2,   3,   5,   7,   9,   11,  13,  15,  17,  19,  23,  29,  31,  33,
    37,  41,  43,  47,  53,  59,  67,  73,  83,  89,  101, 113, 127, 139, 157,
    179, 199, 227, 257, 293, 331, 373, 421, 479, 547, 619, 701, 797, 907, 1031,
};

/* clang-format off */
const uint8_t size_class_by_lines[SIZE_CLASS_LARGEST_LINES + 1] = {
    [0 ... 1] = 0,       [2] = 1,             [3] = 2,             [4 ... 5] = 3,
    [6 ... 7] = 4,       [8 ... 9] = 5,       [10 ... 11] = 6,     [12 ... 13] = 7,
    [14 ... 15] = 8,     [16 ... 17] = 9,     [18 ... 19] = 10,    [20 ... 23] = 11,
    [24 ... 29] = 12,    [30 ... 31] = 13,    [32 ... 33] = 14,    [34 ... 37] = 15,
    [38 ... 41] = 16,    [42 ... 43] = 17,    [44 ... 47] = 18,    [48 ... 53] = 19,
    [54 ... 59] = 20,    [60 ... 67] = 21,    [68 ... 73] = 22,    [74 ... 83] = 23,
    [84 ... 89] = 24,    [90 ... 101] = 25,   [102 ... 113] = 26,  [114 ... 127] = 27,
    [128 ... 139] = 28,  [140 ... 157] = 29,  [158 ... 179] = 30,  [180 ... 199] = 31,
    [200 ... 227] = 32,  [228 ... 257] = 33,  [258 ... 293] = 34,  [294 ... 331] = 35,
    [332 ... 373] = 36,  [374 ... 421] = 37,  [422 ... 479] = 38,  [480 ... 547] = 39,
    [548 ... 619] = 40,  [620 ... 701] = 41,  [702 ... 797] = 42,  [798 ... 907] = 43,
    [908 ... 1031] = 44,
};
/* clang-format on */

struct class_layout class_layouts[SIZE_CLASS_COUNT];
uint32_t colours = COLOURS_LEAST;

enum {
    TARGET_RUN_PAGES = 16,     /* small classes carve several spans at once: fewer trips here */
    TWO_LINES_RUN_PAGES = 64,  /* 63 spans of 65 lines fill it to one line, a tail of 0.02 % */
    LAST_CLASS_FULL_SPAN = 31, /* to here a span has 64 blocks: 64 x 31 lines are 124 KiB */
};

/* Blocks of a span: fewer where blocks are long, so that a span is some 35 pages, at most 129. */
static uint32_t span_blocks_for(uint32_t lines)
{
    if (lines == 2)
        return colours / 2;
    if (lines <= LAST_CLASS_FULL_SPAN)
        return 64;
    if (lines <= 67)
        return 32;
    return lines <= 139 ? 16 : 8;
}

static uint64_t reciprocal_of(uint32_t divisor)
{
    return (((uint64_t)1 << 32) + divisor - 1) / divisor;
}

/* The slot s of [0, C) with s * lines = colour mod C; lines is odd. */
static uint32_t slot_of_colour(uint32_t lines, uint32_t colour)
{
    uint32_t slot = 0;

    while (((slot * lines) & (colours - 1)) != colour)
        slot++;
    return slot;
}

uint32_t size_class_colour(unsigned size_class, uint32_t slot)
{
    const struct class_layout *layout = &class_layouts[size_class];

    if (layout->lines == 2) /* slots of type 0 are the even colours in order, then the odd ones */
        return (slot % layout->span_blocks) * 2 + slot / layout->span_blocks;
    return (slot * layout->lines) & (colours - 1);
}

uint32_t class_layout_page_in_cycle(const struct class_layout *layout, uint32_t type)
{
    uint32_t unit = colours / LINES_PER_PAGE;
    uint32_t page = 0;

    for (uint32_t t = 0; t < type; t++) {
        page += class_layout_run_pages(layout, t);
        /* The next run starts at the first page with its residue. */
        uint32_t residue = class_layout_run_offset(layout, (t + 1) & (layout->types - 1u));
        page += (residue / LINES_PER_PAGE - page) & (unit - 1);
    }
    return page;
}

static uint32_t cycle_pages_of(const struct class_layout *layout)
{
    uint32_t unit = colours / LINES_PER_PAGE;
    uint32_t units = class_layout_page_in_cycle(layout, layout->types) / unit;

    /* Where packing makes them even, one unit is left out each cycle, for other classes to use. */
    return (units | 1) * unit;
}

void size_class_initialise(uint32_t l1_sets)
{
    colours = l1_sets > COLOURS_LEAST ? COLOURS_GREATEST : COLOURS_LEAST;

    for (uint32_t i = 0; i < SIZE_CLASS_COUNT; i++) {
        struct class_layout *layout = &class_layouts[i];
        uint32_t lines = size_class_lines[i];
        uint32_t blocks = span_blocks_for(lines);
        /* 29 is odd, so that classes 0 to 44 begin in 45 different colours. */
        uint32_t first_colour = (i * 29) & (colours - 1);

        layout->lines = (uint16_t)lines;
        layout->span_blocks = (uint8_t)blocks;
        layout->span_shift = (uint8_t)__builtin_ctz(blocks);
        layout->types = (uint8_t)(colours / blocks);
        if (lines == 2) {
            layout->span_lines = (uint16_t)(2 * blocks + 1);
            layout->run_spans =
                (uint8_t)((TWO_LINES_RUN_PAGES * LINES_PER_PAGE - 1) / layout->span_lines);
            layout->reciprocal = reciprocal_of(layout->span_lines);
            layout->first_slot = (uint8_t)(first_colour / 2 + (first_colour & 1) * blocks);
        } else {
            layout->span_lines = (uint16_t)(blocks * lines);
            layout->run_spans = (uint8_t)(lines < TARGET_RUN_PAGES ? TARGET_RUN_PAGES / lines : 1);
            layout->reciprocal = reciprocal_of(lines);
            layout->first_slot = (uint8_t)slot_of_colour(lines, first_colour);
        }
        layout->cycle_pages = (uint16_t)cycle_pages_of(layout);
    }
}

static_assert(SIZE_CLASS_LARGEST >= 64 * 1024, "every request up to 64 KiB has a class");
