/*
 * SPDX-License-Identifier: MIT
 *
 * graph: adjacency lists, an edge a block. Edge number k leads from vertex k / DEGREE to one of the
 * DEGREE next ones, so that a vertex has half as many edges on average.
 */
#include "workload.h"

enum { DEGREE = 16, VERTICES_AT_ONCE = 256 };

struct edge {
    uint64_t next, to, weight;
};

struct vertex {
    uint64_t edges, degree;
};

struct graph {
    uint64_t vertices;
    struct vertex vertex[];
};

static uint64_t vertices_of(uint64_t keys)
{
    return (keys + DEGREE - 1) / DEGREE;
}

static uint64_t create(struct session *session, uint64_t keys)
{
    static const struct vertex none[VERTICES_AT_ONCE];
    uint64_t vertices = vertices_of(keys), root;
    struct graph *graph;

    store_begin(session);
    root = store_alloc(session, sizeof *graph + vertices * sizeof(struct vertex));
    graph = store_at(session, root);
    store_u64(session, &graph->vertices, vertices);
    store_commit(session, true);
    for (uint64_t from = 0; from < vertices; from += VERTICES_AT_ONCE) {
        uint64_t count = vertices - from < VERTICES_AT_ONCE ? vertices - from : VERTICES_AT_ONCE;

        store_begin(session);
        store_write(session, &graph->vertex[from], none, count * sizeof *none);
        store_commit(session, true);
    }
    return root;
}

static uint64_t target_of(const struct graph *graph, uint64_t key)
{
    return (key / DEGREE + 1 + key % DEGREE) % graph->vertices;
}

static void operate(struct session *session, uint64_t key, uint64_t random)
{
    struct graph *graph = store_at(session, session->root);
    struct vertex *vertex = &graph->vertex[key / DEGREE];
    uint64_t *link = &vertex->edges, block;
    struct edge *edge;

    (void)random;
    while (*link != 0) {
        edge = store_at(session, *link);
        if (edge->weight == workload_value(key)) {
            block = *link;
            store_u64(session, link, edge->next);
            store_u64(session, &vertex->degree, vertex->degree - 1);
            store_free(session, block);
            return;
        }
        link = &edge->next;
    }
    block = store_alloc_node(session, sizeof *edge);
    store_write(session, store_at(session, block),
                &(struct edge){vertex->edges, target_of(graph, key), workload_value(key)},
                sizeof *edge);
    store_u64(session, &vertex->edges, block);
    store_u64(session, &vertex->degree, vertex->degree + 1);
}

/* Whether vertex v has this edge, once. */
static bool has_edge(const struct session *session, const struct vertex *vertex, uint64_t to,
                     uint64_t weight)
{
    uint64_t found = 0, steps = 0;

    for (uint64_t block = vertex->edges; block != 0 && steps <= DEGREE; steps++) {
        const struct edge *edge = store_at(session, block);

        found += edge->to == to && edge->weight == weight;
        block = edge->next;
    }
    return found == 1 && steps == vertex->degree;
}

static const char *check(const struct session *session, const uint8_t *present, uint64_t keys)
{
    const struct graph *graph = store_at(session, session->root);
    uint64_t wanted = 0, found = 0;

    if (graph->vertices != vertices_of(keys))
        return "the graph has another number of vertices";
    for (uint64_t key = 0; key < keys; key++) {
        wanted += present[key] & 1;
        if (present[key] & 1 && !has_edge(session, &graph->vertex[key / DEGREE],
                                          target_of(graph, key), workload_value(key)))
            return "an edge is missing";
    }
    for (uint64_t i = 0; i < graph->vertices; i++)
        found += graph->vertex[i].degree;
    return found == wanted ? NULL : "there are more edges";
}

const struct workload workload_graph = {"graph", create, operate, check, true, NULL};
