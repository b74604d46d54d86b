/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which watched calls (program_calls.h) allocate and free, and what they do to the blocks.
 */
#ifndef ALLOCATION_CALLS_H
#define ALLOCATION_CALLS_H

#include "program_calls.h"

enum allocation_call {
    ALLOCATION_NONE = PROGRAM_CALL_NONE,
    ALLOCATION_SIZE,           /* malloc(size), operator new(size, ...) */
    ALLOCATION_PRODUCT,        /* calloc(count, size) */
    ALLOCATION_ALIGNED,        /* memalign(alignment, size), aligned_alloc */
    ALLOCATION_RESIZE,         /* realloc(block, size) */
    ALLOCATION_RESIZE_PRODUCT, /* reallocarray(block, count, size) */
    ALLOCATION_STORED,         /* posix_memalign(where, alignment, size) */
    ALLOCATION_FREE,
    ALLOCATION_KINDS, /* a tool's own kinds begin here */
};

struct allocation_reader {
    void (*appeared)(Addr start, SizeT size, ExeContext *origin); /* size: as it was asked for */
    void (*gone)(Addr start);                                     /* it may never have been seen */
};

Int allocation_kind_of(const HChar *name);

/* For calls of the kinds above, as they are entered and as they return. */
void allocation_entered(const struct allocation_reader *reader, ThreadId thread,
                        struct program_call *call);
void allocation_returned(const struct allocation_reader *reader, const struct program_call *call,
                         UWord result);

#endif
