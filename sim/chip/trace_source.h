/*
 * SPDX-License-Identifier: MIT
 *
 * The threads of trace files as sources of the cores.
 */
#ifndef CHIP_TRACE_SOURCE_H
#define CHIP_TRACE_SOURCE_H

#include "chip/cores/source.h"

#include <stdbool.h>
#include <stddef.h>

struct trace_sources {
    struct trace **traces;
    struct source *sources; /* those of the first trace, then of the next */
    size_t trace_count;
    uint32_t count;
};

/* Opens all files. False, and one line in `problem`, if one of them cannot be read, is cut, or has
 * no thread. */
bool trace_sources_open(struct trace_sources *sources, char **paths, size_t count, char *problem,
                        size_t length);
void trace_sources_close(struct trace_sources *sources);

/* Reads all files once: how many accesses they have, 0 if one is damaged. */
uint64_t trace_sources_accesses(char **paths, size_t count);

#endif
