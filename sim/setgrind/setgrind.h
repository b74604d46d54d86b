/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the user chose, and what all files of the tool share.
 */
#ifndef SETGRIND_H
#define SETGRIND_H

#include "cache_model/cache_model.h"
#include "program_calls/valgrind_api.h"

enum {
    LINE_BYTES = 64,
    SETS_MOST = 1024, /* each origin and size keeps two numbers a set */
};

struct setgrind_options {
    struct cache_model_geometry l1d;
    const HChar *output; /* NULL: nothing is written, and so nothing is told */
    Int callers;         /* frames above the one that names an origin, which tell origins apart */
};

extern struct setgrind_options options;

static inline Addr line_of(Addr address)
{
    return address & ~(Addr)(LINE_BYTES - 1);
}

static inline UInt set_of(Addr address)
{
    return (UInt)(address / LINE_BYTES) & (options.l1d.sets - 1);
}

#endif
