/*
 * SPDX-License-Identifier: MIT
 *
 * What the workloads store in: a region of libmplace_persist, or ordinary memory ("none": malloc,
 * and writes in place, without transactions). A workload's code is the same for both: it reads
 * through store_at, writes by store_write, and keeps offsets for pointers.
 */
#ifndef BENCH_PERSIST_STORE_H
#define BENCH_PERSIST_STORE_H

#include "mplace_persist.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* One thread's way to the store. */
struct session {
    struct persist_region *region; /* NULL: ordinary memory */
    char *base;                    /* NULL then: an offset is an address */
    struct persist_tx *tx;         /* of the transaction that runs */
    uint64_t root;                 /* of this thread's structure */
};

/* Ends the program with a line: what failed, and persist_error. */
_Noreturn void store_fail(const char *what);

static inline void *store_at(const struct session *session, uint64_t offset)
{
    return (void *)((uintptr_t)session->base + offset);
}

void store_begin(struct session *session);

/* Durable when it returns, unless it is deferred. */
void store_commit(struct session *session, bool deferred);

uint64_t store_alloc(struct session *session, uint64_t size);
void store_free(struct session *session, uint64_t block);

static inline void store_write(struct session *session, void *destination, const void *source,
                               size_t size)
{
    if (session->region == NULL)
        memmove(destination, source, size);
    else if (persist_write(session->tx, destination, source, size) != 0)
        store_fail("persist_write");
}

static inline void store_u64(struct session *session, uint64_t *destination, uint64_t value)
{
    store_write(session, destination, &value, sizeof value);
}

#endif
