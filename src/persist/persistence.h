/*
 * SPDX-License-Identifier: MIT
 *
 * Every store to a region's file, every flush and every fence goes through here. The tests of the
 * power cut link a recorder in place of persistence.c.
 *
 * The model: a store may become durable at any time from then on, in pieces of 8 aligned bytes,
 * each of which is old or new, in any order; x86-64 promises no more. It is durable for certain
 * once its line was flushed after it and a fence came after the flush.
 *
 * Not thread-safe: the caller holds the region's commit lock.
 */
#ifndef MPLACE_PERSIST_PERSISTENCE_H
#define MPLACE_PERSIST_PERSISTENCE_H

#include <stddef.h>
#include <stdint.h>

enum persistence_method {
    PERSISTENCE_CLWB,
    PERSISTENCE_CLFLUSHOPT,
    PERSISTENCE_CLFLUSH,
    PERSISTENCE_MSYNC /* a flush notes the line; a fence writes the noted range */
};

struct persistence {
    uint8_t *base; /* the file, mapped shared; page-aligned */
    uint64_t bytes;
    enum persistence_method method;
    uint64_t dirty_begin, dirty_end; /* for msync: from the first noted line to the last one */
    uint64_t flushes, fences;        /* lines, fences */
};

/* The best of CLWB, CLFLUSHOPT and CLFLUSH that this processor has (CPUID leaf 7, EBX). */
enum persistence_method persistence_instruction(void);

/* Copies size bytes, a multiple of 8, to target, which is in the file and aligned to 8. */
void persistence_store(struct persistence *persistence, void *target, const void *source,
                       size_t size);

/* Copies the bytes of a line that the mask names: bit i, byte i. */
void persistence_store_masked(struct persistence *persistence, uint8_t *line, const uint8_t *source,
                              uint64_t mask);

/* Begins to write back the line that holds the address. */
void persistence_flush(struct persistence *persistence, const void *address);

/* Waits until all that was flushed is durable. 0, or what msync failed with. */
int persistence_fence(struct persistence *persistence);

#endif
