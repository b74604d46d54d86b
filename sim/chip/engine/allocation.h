/*
 * SPDX-License-Identifier: MIT
 *
 * What a replay does where memory runs out in its middle.
 */
#ifndef CHIP_ALLOCATION_H
#define CHIP_ALLOCATION_H

#include <stdio.h>
#include <stdlib.h>

/* The memory that malloc, calloc or realloc gave. NULL: one line on standard error, and the process
 * exits with status 1. */
static inline void *allocation_checked(void *memory)
{
    if (memory == NULL) {
        fputs("mplace-chip: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

#endif
