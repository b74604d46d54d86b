/*
 * SPDX-License-Identifier: MIT
 *
 * The size classes: how long is a block, how are its blocks laid out over the L1 sets, and which
 * class of a kind is the shortest for a request? (request_class.h says which kind malloc takes.)
 * Pure arithmetic on tables; no state but the number of colours of this machine.
 *
 * An exclusive class has blocks of whole lines that begin on one: no two blocks share a line. A
 * compact class has blocks of whole granules, of up to 2 KiB, side by side whatever lines they
 * share. CIA_LINES says which of them serve malloc (request_class.h).
 *
 * Words used in all of this folder:
 *   line    64 bytes
 *   granule 16 bytes
 *   unit    what a class is laid out in: lines of an exclusive one, granules of a compact one.
 *   colour  the L1 set that an address falls into, by its low bits. There are as many as the L1 has
 *           sets: 64 on every x86-64 processor that indexes it by bits of the page offset.
 *   span    8 to 64 blocks of one class side by side: one word of free bits.
 *   run     whole pages that are carved into one or more spans of one class.
 *   slot    the position of a block in its class's colour cycle. One slot, one colour; of a compact
 *           class up to four slots share one.
 */
#ifndef MPLACE_CIA_SIZE_CLASS_H
#define MPLACE_CIA_SIZE_CLASS_H

#include "cia_malloc/pages/page_map.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXCLUSIVE_CLASSES = 46, /* the first ones */
    COMPACT_CLASSES = 26,   /* those behind them */
    SIZE_CLASS_COUNT = EXCLUSIVE_CLASSES + COMPACT_CLASSES,
    SIZE_CLASS_LARGEST_LINES = 1031,
    SIZE_CLASS_LARGEST =
        SIZE_CLASS_LARGEST_LINES * LINE_BYTES, /* 65,984: all of 64 KiB has a class */

    COLOURS_LEAST = 64,
    COLOURS_GREATEST = 128,
    SPAN_BLOCKS_LEAST = 8,
    TYPES_GREATEST = COLOURS_GREATEST / SPAN_BLOCKS_LEAST,

    /* After so many granules any distance between blocks comes back to where it was in a page. */
    GRANULES_PER_PAGE = PAGE_BYTES / GRANULE_BYTES,
    SLOTS_GREATEST = GRANULES_PER_PAGE,

    COMPACT_LARGEST_GRANULES = 132, /* longer requests have an exclusive class in any case */
    COMPACT_LARGEST = COMPACT_LARGEST_GRANULES * GRANULE_BYTES,
};

static_assert((int)SIZE_CLASS_COUNT == (int)PAGE_SIZE_CLASSES, "what a page says, see page_map.h");

/* Granules of a block, by class: of the exclusive ones, four for each of 1, primes and a few other
   numbers of lines (the table says which and why). */
extern const uint16_t size_class_granules[SIZE_CLASS_COUNT];

/* Length of its blocks. */
static inline size_t size_class_bytes(unsigned size_class)
{
    return (size_t)size_class_granules[size_class] << GRANULE_SHIFT;
}

/* Of a size class, or what else a page may say. */
static inline bool size_class_is_compact(unsigned size_class)
{
    return size_class - EXCLUSIVE_CLASSES < (unsigned)COMPACT_CLASSES;
}

/* Exclusive class by number of lines, 0 to SIZE_CLASS_LARGEST_LINES; 0 lines is class 0. Constant
   but for one entry, see size_class_initialise: until then it names a shorter class that will do as
   well. */
extern uint8_t size_class_by_lines[SIZE_CLASS_LARGEST_LINES + 1];

/* The exclusive class for a request of 0 to SIZE_CLASS_LARGEST bytes: an add, a shift and one load.
 */
static inline unsigned size_class_of(size_t bytes)
{
    return size_class_by_lines[(bytes + LINE_BYTES - 1) >> LINE_SHIFT];
}

/* The shortest class of either kind, and so for up to COMPACT_LARGEST bytes a packed one; else
   the exclusive one. */
unsigned size_class_packed(size_t bytes);

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
 *
 * A compact class counts in granules. Blocks of n granules side by side, n odd or twice an odd
 * number, come back to the same place in a page after C = 256 or 128 blocks, in which every colour
 * has as many: spans of 64, of four types or two. So many as begin in a line are four slots of one
 * colour at most. Multiples of four granules are exclusive classes; multiples of eight would come
 * back too soon.
 */
struct class_layout {
    uint16_t units;      /* n, units of a block */
    uint8_t span_blocks; /* B, a power of two, 8 to 64 */
    uint8_t span_shift;  /* log2 B */
    uint8_t types;       /* C / B */
    uint8_t run_spans;   /* spans carved from one run */
    uint8_t page_spans;  /* pages of a run of type 0; a class with more spans has no other runs */
    uint16_t span_units; /* from one span of a run to the next */
    uint64_t reciprocal; /* ceil(2^32 / n), or of span_units for an even class */
    uint8_t unit_shift;  /* log2 of the bytes of a unit */
    uint8_t first_slot;  /* where an empty sub-heap begins: classes start in different colours */
    uint8_t even_shift;  /* log2 n of an even class; 0: an odd one */
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

/*
 * By class, for the remainder of small numbers without a divide: ceil(2^32 / d), where d is the
 * distance in bytes at which blocks of the class can begin in a run, of an exclusive class a line.
 * 0 for what else a page may say.
 */
extern uint32_t size_class_multiplier[UINT8_MAX + 1];

/*
 * Whether d divides x, a distance within a run (Lemire, Kaser, Kurz, "Faster remainder by direct
 * computation", 2019: exact for x of N bits and d up to 2^(32 - N), and where d is a power of two).
 * A compact run is shorter than 2^18 bytes; an exclusive class's d is a line.
 */
static inline __attribute__((always_inline)) bool size_class_divides(unsigned size_class,
                                                                     uint32_t x)
{
    uint32_t multiplier = size_class_multiplier[size_class];

    return x * multiplier < multiplier;
}

/* Units of a page. */
static inline uint32_t class_layout_page_units(const struct class_layout *layout)
{
    return (uint32_t)PAGE_BYTES >> layout->unit_shift;
}

/* Pages after which a type's place comes round. */
static inline uint32_t class_layout_modulus(const struct class_layout *layout)
{
    return layout->unit_shift == GRANULE_SHIFT ? 1 : colours / LINES_PER_PAGE;
}

/* First unit of a run that begins with the given type, counted from the beginning of a page, of
   colour 0. */
static inline uint32_t class_layout_run_offset(const struct class_layout *layout, uint32_t type)
{
    if (layout->even_shift != 0)
        return type;
    return (type * layout->span_blocks * layout->units) &
           (class_layout_page_units(layout) * class_layout_modulus(layout) - 1);
}

/* Where in a run a unit is: which span, and which block counted from the span's first. */
struct block_position {
    uint32_t span;
    uint32_t block; /* span_blocks for the spacer line of an even class */
};

/*
 * unit counts from the first one of the run's first span. Multiply and shift, no divide: exact for
 * units below 2^20 (the reciprocal errs by less than n / 2^32, n <= 1031).
 */
static inline struct block_position class_layout_locate(const struct class_layout *layout,
                                                        uint32_t unit)
{
    uint32_t quotient = (uint32_t)((unit * layout->reciprocal) >> 32);
    struct block_position position;

    if (__builtin_expect(layout->even_shift != 0, 0)) {
        position.span = quotient;
        position.block = (unit - quotient * layout->span_units) >> layout->even_shift;
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

/* Where among the chunk's spans that number of a run is: as many as it has pages from the place of
   its first page on, those behind them in further rows of CHUNK_PAGES. Most classes have one row,
   so the first test has one answer for all blocks of a class. The shortest have two and four: in
   which of them a span is nobody can predict, so that is computed without a branch. */
static inline uint32_t class_layout_span(const struct class_layout *layout, uint32_t run_page,
                                         uint32_t number)
{
    uint32_t row_spans = layout->page_spans;

    if (layout->run_spans <= row_spans)
        return run_page + number;
    uint32_t row =
        (number >= row_spans) + (number >= 2 * row_spans) + (uint32_t)(number >= 3 * row_spans);

    return run_page + number + row * (CHUNK_PAGES - row_spans);
}

/* All bits of a span: span_blocks of them. */
static inline uint64_t class_layout_all_bits(const struct class_layout *layout)
{
    return ~(uint64_t)0 >> (64 - layout->span_blocks);
}

/* Pages of a run that begins with the given type. */
static inline uint32_t class_layout_run_pages(const struct class_layout *layout, uint32_t type)
{
    uint32_t page_units = class_layout_page_units(layout);
    uint32_t first = class_layout_run_offset(layout, type) & (page_units - 1);
    uint32_t page_shift = (uint32_t)PAGE_SHIFT - layout->unit_shift;

    return (first + (uint32_t)layout->run_spans * layout->span_units + page_units - 1) >>
           page_shift;
}

#endif
