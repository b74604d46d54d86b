/*
 * SPDX-License-Identifier: MIT
 *
 * Which class is this request? And, for a class: how long is a block, how are its blocks laid out
 * over the L1 sets? Pure arithmetic on tables; no state but the number of colours of this machine.
 *
 * Words used in all of this folder:
 *   line    64 bytes. Blocks are whole lines and begin on one.
 *   colour  the L1 set that an address falls into, by its low bits. There are as many as the L1 has
 *           sets: 64 on every x86-64 processor that indexes it by bits of the page offset.
 *   span    8 to 64 blocks of one class side by side: one word of free bits.
 *   run     whole pages that are carved into one or more spans of one class.
 *   slot    the position of a block in its class's colour cycle. One slot, one colour.
 */
#ifndef MPLACE_CIA_SIZE_CLASS_H
#define MPLACE_CIA_SIZE_CLASS_H

#include "cia_malloc/pages/page_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIZE_CLASS_COUNT = PAGE_SIZE_CLASSES,
    SIZE_CLASS_LARGEST_LINES = 1031,
    SIZE_CLASS_LARGEST =
        SIZE_CLASS_LARGEST_LINES * LINE_BYTES, /* 65,984: all of 64 KiB has a class */

    COLOURS_LEAST = 64,
    COLOURS_GREATEST = 128,
    SPAN_BLOCKS_LEAST = 8,
    SPAN_BLOCKS_GREATEST = 64,
    TYPES_GREATEST = COLOURS_GREATEST / SPAN_BLOCKS_LEAST,
};

/* Lines of a block, by class: 1, then primes and a few others (the table says which and why).
 */
extern const uint16_t size_class_lines[SIZE_CLASS_COUNT];

/* Class by number of lines, 0 to SIZE_CLASS_LARGEST_LINES; 0 lines is class 0. Constant but for one
   entry, see size_class_initialise: until then it names a shorter class that will do as well. */
extern uint8_t size_class_by_lines[SIZE_CLASS_LARGEST_LINES + 1];

/* The class for a request of 0 to SIZE_CLASS_LARGEST bytes: an add, a shift and one load. */
static inline unsigned size_class_of(size_t bytes)
{
    return size_class_by_lines[(bytes + LINE_BYTES - 1) >> LINE_SHIFT];
}

/*
 * How blocks of one class lie in memory, for the number of colours C of this machine.
 *
 * An odd number of lines n is coprime with C, so blocks side by side take all C colours before one
 * repeats: slot s has colour s * n mod C, and a cycle of C blocks is C / B spans of B blocks. Span
 * number t of the cycle is of type t: it holds slots t * B to t * B + B - 1.
 *
 * The even classes, of two and of four lines, would repeat after C / n blocks. Their spans have
 * C / n blocks and one spacer line each, so that they take every nth colour, from the next one on
 * in each span: a span whose first line is l lines behind colour 0 is of type l mod n, and its
 * phase, l / n, says how far its first block is from slot 0 of its type.
 */
struct class_layout {
    uint16_t lines;       /* n, lines of a block */
    uint8_t span_blocks;  /* B, a power of two, 8 to 64 */
    uint8_t span_shift;   /* log2 B */
    uint8_t types;        /* C / B */
    uint8_t run_spans;    /* spans carved from one run */
    uint16_t span_lines;  /* from one span of a run to the next */
    uint64_t reciprocal;  /* ceil(2^32 / n), or of span_lines for an even class */
    uint8_t first_slot;   /* where an empty sub-heap begins: classes start in different colours */
    uint8_t even_shift;   /* log2 n of an even class; 0: an odd one */
    uint16_t cycle_pages; /* from a run to the next that begins with the same type, see below */
};

/* Filled once by size_class_initialise, constant afterwards. */
extern struct class_layout class_layouts[SIZE_CLASS_COUNT];
extern uint32_t colours; /* 64 or 128 */

/*
 * Computes the layouts for an L1 of so many sets. Below 64 sets 64 colours are used (evenly spread
 * over 64 is evenly spread over 32), above 128 sets 128: no x86-64 processor has more than 64.
 * Idempotent: threads that race here store the same values.
 */
void size_class_initialise(uint32_t l1_sets);

/* The colour of a slot. */
uint32_t size_class_colour(unsigned size_class, uint32_t slot);

/* First line of a run that begins with the given type, counted from a line of colour 0. */
static inline uint32_t class_layout_run_offset(const struct class_layout *layout, uint32_t type)
{
    if (layout->even_shift != 0)
        return type;
    return (type * layout->span_blocks * layout->lines) & (colours - 1);
}

/* Where in a run a line is: which span, and which block counted from the span's first. */
struct block_position {
    uint32_t span;
    uint32_t block; /* span_blocks for the spacer line of an even class */
};

/*
 * line counts from the first line of the run's first span. Multiply and shift, no divide: exact for
 * lines below 2^20 (the reciprocal errs by less than n / 2^32, n <= 1031).
 */
static inline struct block_position class_layout_locate(const struct class_layout *layout,
                                                        uint32_t line)
{
    uint32_t quotient = (uint32_t)((line * layout->reciprocal) >> 32);
    struct block_position position;

    if (__builtin_expect(layout->even_shift != 0, 0)) {
        position.span = quotient;
        position.block = (line - quotient * layout->span_lines) >> layout->even_shift;
    } else {
        position.span = quotient >> layout->span_shift;
        position.block = quotient & (layout->span_blocks - 1u);
    }
    return position;
}

/*
 * The bit of a block in its span's words is its slot within the type. They differ only in an
 * even class, by the phase.
 */
static inline uint32_t span_bit_of_block(const struct class_layout *layout, uint32_t phase,
                                         uint32_t block)
{
    return (block + phase) & (layout->span_blocks - 1u);
}

static inline uint32_t span_phase(const struct class_layout *layout, uint32_t run_type,
                                  uint32_t span)
{
    return layout->even_shift != 0
               ? ((run_type + span) >> layout->even_shift) & (layout->span_blocks - 1u)
               : 0;
}

/* Whether a block of a run begins at the line: the same as class_layout_locate, without the parts.
 */
static inline __attribute__((always_inline)) bool
class_layout_is_start(const struct class_layout *layout, uint32_t line)
{
    uint32_t quotient = (uint32_t)((line * layout->reciprocal) >> 32);

    if (__builtin_expect(layout->even_shift != 0, 0)) {
        uint32_t rest = line - quotient * layout->span_lines;

        return (rest & (layout->lines - 1u)) == 0 &&
               rest >> layout->even_shift < layout->span_blocks && quotient < layout->run_spans;
    }
    return quotient * layout->lines == line && quotient < (uint32_t)layout->run_spans
                                                              << layout->span_shift;
}

/* All bits of a span: span_blocks of them. */
static inline uint64_t class_layout_all_bits(const struct class_layout *layout)
{
    return ~(uint64_t)0 >> (64 - layout->span_blocks);
}

/*
 * L2 sets. Blocks of one cycle have C colours, so no two of them share an L2 set. The same slot of
 * later cycles falls into other L2 sets as long as the pages from cycle to cycle are odd, counted
 * in units of C lines; cycle_pages is that. This is where, in pages from a run of type 0, the runs
 * of a cycle lie when they are packed side by side.
 */
uint32_t class_layout_page_in_cycle(const struct class_layout *layout, uint32_t type);

/* Pages of a run that begins with the given type. */
static inline uint32_t class_layout_run_pages(const struct class_layout *layout, uint32_t type)
{
    uint32_t first = class_layout_run_offset(layout, type) % LINES_PER_PAGE;

    return (first + (uint32_t)layout->run_spans * layout->span_lines + LINES_PER_PAGE - 1) /
           LINES_PER_PAGE;
}

#endif
