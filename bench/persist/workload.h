/*
 * SPDX-License-Identifier: MIT
 *
 * The structures of Table II of Lu et al., "Loose-Ordering Consistency for Persistent Memory" (ICCD
 * 2014). Each thread has one of its own: the log is what they share.
 */
#ifndef BENCH_PERSIST_WORKLOAD_H
#define BENCH_PERSIST_WORKLOAD_H

#include "store.h"

#include <stdint.h>

struct workload {
    const char *name;

    /* Makes the structure for keys 0 to keys - 1, in transactions of its own; returns its root. */
    uint64_t (*create)(struct session *session, uint64_t keys);

    /* One operation of the running transaction: inserts the key, or deletes it if it is there. The
       value is of the key (workload_value). random is for what else is random. */
    void (*operate)(struct session *session, uint64_t key, uint64_t random);

    /* NULL, or what is wrong: the structure itself, or that it does not hold just those keys with
       present[key] odd. */
    const char *(*check)(const struct session *session, const uint8_t *present, uint64_t keys);

    bool has_sized_nodes; /* of store_alloc_node, one a key */

    /* Frees what create put into session->state, while the store is still there; or NULL. */
    void (*finish)(struct session *session);
};

extern const struct workload workload_btree, workload_graph, workload_hash, workload_rbtree,
    workload_sps;
#ifdef PERSIST_BENCH_SQLITE
extern const struct workload workload_sqlite;
#endif

static inline uint64_t workload_value(uint64_t key)
{
    return (key + 1) * 0x9e3779b97f4a7c15u;
}

#endif
