/*
 * SPDX-License-Identifier: MIT
 *
 * See store.h.
 */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>

void store_fail(const char *what)
{
    fprintf(stderr, "persist_bench: %s: %s\n", what, persist_error());
    exit(1);
}

void store_begin(struct session *session)
{
    if (session->region == NULL)
        return;
    session->tx = persist_begin(session->region);
    if (session->tx == NULL)
        store_fail("persist_begin");
}

void store_commit(struct session *session, bool deferred)
{
    if (session->region == NULL)
        return;
    if ((deferred ? persist_commit_deferred(session->tx) : persist_commit(session->tx)) != 0)
        store_fail("persist_commit");
    session->tx = NULL;
}

uint64_t store_alloc(struct session *session, uint64_t size)
{
    uint64_t block = session->region == NULL ? (uint64_t)(uintptr_t)malloc(size)
                                             : persist_alloc(session->tx, size);

    if (block == 0)
        store_fail("persist_alloc");
    return block;
}

void store_free(struct session *session, uint64_t block)
{
    if (session->region == NULL)
        free((void *)(uintptr_t)block);
    else if (persist_free(session->tx, block) != 0)
        store_fail("persist_free");
}
