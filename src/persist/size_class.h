/*
 * SPDX-License-Identifier: MIT
 *
 * How long blocks are, and how they lie in a span: libcia_malloc's rule for placement, for an L1 of
 * 64 sets, simplified.
 *
 * A class is a number n of lines, mostly primes. Its span is n pages, which are 64 blocks side by
 * side: n is odd, so they begin in 64 different sets whatever n is. The one even class, of two
 * lines, would take every other set; its span has 32 blocks, a spacer line, and 31 blocks more. So
 * any run of N blocks that are allocated in a row from new spans has at most ceil(N / 64) + 1 first
 * lines in a set.
 */
#ifndef MPLACE_PERSIST_SIZE_CLASS_H
#define MPLACE_PERSIST_SIZE_CLASS_H

#include "persist/format.h"

#include <stdbool.h>
#include <stdint.h>

enum { CLASSES = 24, CLASS_LARGEST_LINES = 67, SPAN_BLOCKS = 64 };

/* Primes, and what closes the widest gaps between them, up to a page and a header. */
static const uint8_t class_lines[CLASSES] = {1,  2,  3,  5,  7,  9,  11, 13, 15, 17, 19, 23,
                                             27, 29, 31, 35, 37, 41, 43, 47, 53, 59, 61, 67};

/* The shortest class for so many lines, up to CLASS_LARGEST_LINES. */
static inline unsigned class_of_lines(uint64_t lines)
{
    unsigned class = 0;

    while (class_lines[class] < lines)
        class ++;
    return class;
}

/* Whether a number of lines is a class. */
static inline bool class_exists(uint64_t lines)
{
    return lines >= 1 && lines <= CLASS_LARGEST_LINES &&
           class_lines[class_of_lines(lines)] == lines;
}

/* Blocks of a span of n lines, and in which line of it a block begins. */
static inline unsigned class_blocks(uint64_t lines)
{
    return lines == 2 ? SPAN_BLOCKS - 1 : SPAN_BLOCKS;
}

static inline uint64_t class_line(uint64_t lines, unsigned block)
{
    return block * lines + (lines == 2 && block >= SPAN_BLOCKS / 2);
}

/* The block that begins in a line of the span, or class_blocks if none does. */
static inline unsigned class_block(uint64_t lines, uint64_t line)
{
    unsigned block = (unsigned)((line - (lines == 2 && line > PERSIST_LINE)) / lines);

    return block < class_blocks(lines) && class_line(lines, block) == line ? block
                                                                           : class_blocks(lines);
}

#endif
