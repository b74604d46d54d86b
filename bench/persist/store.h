/*
 * SPDX-License-Identifier: MIT
 *
 * What the workloads store in: a file of transactions by one of several libraries ("backend"), or
 * ordinary memory ("none": malloc, and writes in place). A workload's code is the same for all: it
 * reads through store_at, writes by store_write, and keeps offsets for pointers. Ordinary memory
 * keeps nothing, but tells a trace (mplace_trace.h) where transactions begin and end and which
 * blocks would be persistent.
 */
#ifndef BENCH_PERSIST_STORE_H
#define BENCH_PERSIST_STORE_H

#include "mplace_persist.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct session;

/* A library with a log in a file. What fails in it ends the program by store_fail. */
struct backend {
    /* With memory bytes for blocks; log and log_size bytes for it where they can be chosen. */
    void (*create)(const char *path, enum persist_log log, uint64_t memory, uint64_t log_size);
    void *(*open)(const char *path); /* recovers */
    void (*close)(void *file);
    char *(*base)(void *file); /* offsets count from here */
    uint64_t (*root)(void *file);
    const char *(*medium)(void *file);
    void (*flush)(void *file);
    void (*statistics)(void *file, struct persist_statistics *statistics); /* NULL: not counted */

    /* Of the session's transaction. */
    void (*begin)(struct session *session);
    void (*commit)(struct session *session, bool deferred);
    uint64_t (*alloc)(struct session *session, uint64_t size);
    void (*free)(struct session *session, uint64_t block);
    void (*write)(struct session *session, void *destination, const void *source, size_t size);
    void (*set_root)(struct session *session, uint64_t block);
};

extern const struct backend backend_persist;
#ifdef PERSIST_BENCH_LIBPMEMOBJ
extern const struct backend backend_libpmemobj;
#endif

/* One thread's way to the store. */
struct session {
    const struct backend *backend; /* NULL: ordinary memory */
    void *file;
    char *base;         /* NULL in ordinary memory: an offset is an address */
    void *tx;           /* of the transaction that runs */
    uint64_t root;      /* of this thread's structure */
    uint64_t node_size; /* the least of a node, in bytes */
    void *state;        /* the workload's, beside the structure */
};

/* Ends the program with a line: what failed, and why. */
_Noreturn void store_fail(const char *what, const char *why);

/* Leads the session to an open file. */
void store_attach(struct session *session, const struct backend *backend, void *file);

static inline void *store_at(const struct session *session, uint64_t offset)
{
    return (void *)((uintptr_t)session->base + offset);
}

void store_begin(struct session *session);

/* Durable when it returns, unless it is deferred. */
void store_commit(struct session *session, bool deferred);

uint64_t store_alloc(struct session *session, uint64_t size);

/* A block for a node of a list or tree: of session->node_size bytes if that is more. */
uint64_t store_alloc_node(struct session *session, uint64_t size);
void store_free(struct session *session, uint64_t block);

static inline void store_write(struct session *session, void *destination, const void *source,
                               size_t size)
{
    if (session->backend == NULL)
        memmove(destination, source, size);
    else
        session->backend->write(session, destination, source, size);
}

static inline void store_u64(struct session *session, uint64_t *destination, uint64_t value)
{
    store_write(session, destination, &value, sizeof value);
}

#endif
