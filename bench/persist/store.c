/*
 * SPDX-License-Identifier: MIT
 *
 * See store.h. Ordinary memory is here; the backends have a file each.
 */
#include "store.h"

#include "mplace_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void store_fail(const char *what, const char *why)
{
    fprintf(stderr, "persist_bench: %s: %s\n", what, why);
    exit(1);
}

void store_attach(struct session *session, const struct backend *backend, void *file)
{
    session->backend = backend;
    session->file = file;
    session->base = backend->base(file);
}

void store_begin(struct session *session)
{
    if (session->backend == NULL)
        mplace_trace_tx_begin();
    else
        session->backend->begin(session);
}

void store_commit(struct session *session, bool deferred)
{
    if (session->backend == NULL)
        mplace_trace_tx_commit();
    else
        session->backend->commit(session, deferred);
}

uint64_t store_alloc(struct session *session, uint64_t size)
{
    void *block;

    if (session->backend != NULL)
        return session->backend->alloc(session, size);
    block = malloc(size);
    if (block == NULL)
        store_fail("malloc", strerror(errno));
    mplace_trace_tell(MPLACE_TRACE_PERSISTENT, (uint64_t)(uintptr_t)block, size);
    return (uint64_t)(uintptr_t)block;
}

uint64_t store_alloc_node(struct session *session, uint64_t size)
{
    return store_alloc(session, size < session->node_size ? session->node_size : size);
}

void store_free(struct session *session, uint64_t block)
{
    if (session->backend == NULL)
        free((void *)(uintptr_t)block);
    else
        session->backend->free(session, block);
}
