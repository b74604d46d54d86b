/*
 * SPDX-License-Identifier: MIT
 *
 * The table of size classes, with the reason for each entry that is not a prime; see size_class.h.
 *
 * Primes from 2 to 31 lines, all of them. Prime multiples of the line are the "more radical" of the
 * two cures that Afek, Dice and Morrison give (Cache Index-Aware Memory Allocation, ISMM 2011): odd
 * multiples spread the blocks of one class, primes also keep two classes from walking in step.
 *
 * Five entries are not prime:
 *    1   the smallest block; coprime with everything.
 *    4   between 3 and 5: 193 to 256 B would waste 20 % or more of a block of five lines, and
 *        pages with it: a tree of 32,767 nodes of 224 B had 0.71 of jemalloc's rate, and has 0.93.
 *    9   between 7 and 11: a request of 8 lines (512 B, the commonest round size there is) would
 *        waste 27 % of an 11-line block, and 11 % of this one.
 *   15   between 13 and 17: 14 lines would waste 18 %, now 7 %.
 *   33   between 31 and 37: 2049 B would waste 13.5 %, more than the 12.5 % allowed above 2 KiB; it
 *        also serves 2 KiB itself, which programs ask for.
 * docs/performance.md has the waste measured with and without them.
 *
 * Above 33 each entry is the largest prime b for which the smallest request it serves, one byte
 * more than the entry before, wastes at most 12.5 % of the block; the last one covers 64 KiB.
 *
 * Compact classes: together with the exclusive ones of 4 (one line), 8, 12, 20, 28, 36, 52, 92 and
 * 132 granules a step of a granule up to 240 B, then steps that waste at most 12.5 %. None is a
 * multiple of four granules, see struct class_layout.
 */
#include "cia_malloc/heap/size_classes/size_class.h"

#include <assert.h>

#define LINES(n) ((n) * (LINE_BYTES / GRANULE_BYTES))

/* clang-format off */
const uint16_t size_class_granules[SIZE_CLASS_COUNT] = {
    LINES(1),   LINES(2),   LINES(3),   LINES(4),   LINES(5),   LINES(7),   LINES(9),   LINES(11),
    LINES(13),  LINES(15),  LINES(17),  LINES(19),  LINES(23),  LINES(29),  LINES(31),  LINES(33),
    LINES(37),  LINES(41),  LINES(43),  LINES(47),  LINES(53),  LINES(59),  LINES(67),  LINES(73),
    LINES(83),  LINES(89),  LINES(101), LINES(113), LINES(127), LINES(139), LINES(157), LINES(179),
    LINES(199), LINES(227), LINES(257), LINES(293), LINES(331), LINES(373), LINES(421), LINES(479),
    LINES(547), LINES(619), LINES(701), LINES(797), LINES(907), LINES(1031),
    1,  2,  3,  5,  6,  7,  9,  10, 11, 13, 14, 15, 17, 18, 22, 25, 31, 33, 41, 46, 57, 65, 73, 82, 105, 117,
};
/* clang-format on */

/* clang-format off */
uint8_t size_class_by_lines[SIZE_CLASS_LARGEST_LINES + 1] = {
    [0 ... 1] = 0,       [2] = 1,             [3] = 2,             [4] = 3,             [5] = 4,
    [6 ... 7] = 5,       [8 ... 9] = 6,       [10 ... 11] = 7,     [12 ... 13] = 8,
    [14 ... 15] = 9,     [16 ... 17] = 10,     [18 ... 19] = 11,    [20 ... 23] = 12,
    [24 ... 29] = 13,    [30 ... 31] = 14,    [32 ... 33] = 15,    [34 ... 37] = 16,
    [38 ... 41] = 17,    [42 ... 43] = 18,    [44 ... 47] = 19,    [48 ... 53] = 20,
    [54 ... 59] = 21,    [60 ... 67] = 22,    [68 ... 73] = 23,    [74 ... 83] = 24,
    [84 ... 89] = 25,    [90 ... 101] = 26,   [102 ... 113] = 27,  [114 ... 127] = 28,
    [128 ... 139] = 29,  [140 ... 157] = 30,  [158 ... 179] = 31,  [180 ... 199] = 32,
    [200 ... 227] = 33,  [228 ... 257] = 34,  [258 ... 293] = 35,  [294 ... 331] = 36,
    [332 ... 373] = 37,  [374 ... 421] = 38,  [422 ... 479] = 39,  [480 ... 547] = 40,
    [548 ... 619] = 41,  [620 ... 701] = 42,  [702 ... 797] = 43,  [798 ... 907] = 44,
    [908 ... 1031] = 45,
};
/* clang-format on */

struct class_layout class_layouts[SIZE_CLASS_COUNT];
uint32_t size_class_multiplier[UINT8_MAX + 1];
static_assert(COMPACT_LARGEST <= 1 << 14, "see size_class_divides");
uint32_t colours = COLOURS_LEAST;

enum {
    TARGET_RUN_PAGES = 16,     /* small classes carve several spans at once: fewer trips here */
    TWO_LINES_RUN_PAGES = 32,  /* 31 spans of 65 lines, a tail of 1.6 %; 64 pages would leave less,
                                  and not fit a sub-heap's first chunk of 256 KiB */
    FOUR_LINES_RUN_PAGES = 16, /* 15 spans, a tail of 5 %: runs of an odd number of spans begin with
                                  each type in turn, and so fall into all sets of the L2 */
    FOUR_LINES = 3,            /* the class */
    LAST_CLASS_FULL_SPAN = 31, /* to here a span has 64 blocks: 64 x 31 lines are 124 KiB */
};

/* Blocks of a span: fewer where blocks are long, so that a span is some 35 pages, at most 129. */
static uint32_t span_blocks_for(uint32_t lines)
{
    if (lines % 2 == 0)
        return colours / lines;
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

static void lay_out_exclusive(struct class_layout *layout, uint32_t number)
{
    uint32_t lines = size_class_granules[number] / (LINE_BYTES / GRANULE_BYTES);
    uint32_t blocks = span_blocks_for(lines);
    /* 29 is odd, so that classes 0 to 45 begin in 46 different colours. */
    uint32_t first_colour = (number * 29) & (colours - 1);

    layout->unit_shift = LINE_SHIFT;
    layout->units = (uint16_t)lines;
    layout->span_blocks = (uint8_t)blocks;
    layout->types = (uint8_t)(colours / blocks);
    layout->even_shift = (uint8_t)__builtin_ctz(lines); /* even ones are powers of two */
    if (layout->even_shift != 0) {
        layout->span_units = (uint16_t)(lines * blocks + 1);
        uint32_t pages = lines == 2 ? TWO_LINES_RUN_PAGES : FOUR_LINES_RUN_PAGES;
        layout->run_spans = (uint8_t)((pages * LINES_PER_PAGE - (lines - 1)) / layout->span_units);
        layout->reciprocal = reciprocal_of(layout->span_units);
        layout->first_slot = (uint8_t)(first_colour / lines + first_colour % lines * blocks);
    } else {
        layout->span_units = (uint16_t)(blocks * lines);
        layout->run_spans = (uint8_t)(lines < TARGET_RUN_PAGES ? TARGET_RUN_PAGES / lines : 1);
        layout->reciprocal = reciprocal_of(lines);
        layout->first_slot = (uint8_t)slot_of_colour(lines, first_colour);
    }
}

/* A run is as many whole cycles as come near the pages of other short classes, or one; of long
   blocks a half or a quarter of one. */
static void lay_out_compact(struct class_layout *layout, uint32_t number)
{
    uint32_t granules = size_class_granules[number];
    uint32_t types = granules % 2 != 0 ? 4 : 2;
    uint32_t cycle_pages = granules * 64 * types / GRANULES_PER_PAGE;
    uint32_t spans = types;

    layout->unit_shift = GRANULE_SHIFT;
    layout->units = (uint16_t)granules;
    layout->span_blocks = 64;
    layout->types = (uint8_t)types;
    layout->span_units = (uint16_t)(64 * granules);
    if (cycle_pages < TARGET_RUN_PAGES)
        spans = TARGET_RUN_PAGES / cycle_pages * types;
    else
        while (spans > 1 && granules * spans / 4 > LAST_CLASS_FULL_SPAN + 2)
            spans /= 2;
    layout->run_spans = (uint8_t)spans; /* once: threads that race store the same */
    layout->reciprocal = reciprocal_of(granules);
    /* At the first block of a span, so that blocks in a row lie in a row; of different spans. */
    layout->first_slot = (uint8_t)(number % types * 64);
}

unsigned size_class_packed(size_t bytes)
{
    unsigned best = size_class_of(bytes);

    for (unsigned i = EXCLUSIVE_CLASSES; bytes <= COMPACT_LARGEST && i < SIZE_CLASS_COUNT; i++) {
        if (size_class_bytes(i) >= bytes && size_class_granules[i] < size_class_granules[best])
            best = i;
    }
    return best;
}

void size_class_initialise(uint32_t l1_sets)
{
    colours = l1_sets > COLOURS_LEAST ? COLOURS_GREATEST : COLOURS_LEAST;
    /* With 128 colours, four spans of four lines come round in an L2 of 512 sets, to where they
     * were.
     */
    size_class_by_lines[4] = colours == COLOURS_LEAST ? FOUR_LINES : FOUR_LINES + 1;

    for (uint32_t i = 0; i < SIZE_CLASS_COUNT; i++) {
        struct class_layout *layout = &class_layouts[i];

        if (size_class_is_compact(i))
            lay_out_compact(layout, i);
        else
            lay_out_exclusive(layout, i);
        size_class_multiplier[i] = (uint32_t)reciprocal_of(
            size_class_is_compact(i) ? (uint32_t)size_class_bytes(i) : LINE_BYTES);
        layout->span_shift = (uint8_t)__builtin_ctz(layout->span_blocks);
        layout->page_spans = (uint8_t)class_layout_run_pages(layout, 0);
    }
}

static_assert(SIZE_CLASS_LARGEST >= 64 * 1024, "every request up to 64 KiB has a class");
