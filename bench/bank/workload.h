/*
 * SPDX-License-Identifier: MIT
 *
 * What the workers do: data in pages that each of them gets by the policy, and rounds over these.
 */
#ifndef BENCH_BANK_WORKLOAD_H
#define BENCH_BANK_WORKLOAD_H

#include "placement.h"
#include "team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct plan {
    const struct team *team;
    const struct placement *placement;
    uint64_t size;         /* bytes; of what, the workload says */
    uint64_t warm, rounds; /* not measured, measured */
    uint64_t seed;
};

struct outcome {
    uint64_t units;    /* done in the measured rounds; or */
    double rate;       /* if this is not 0, units a second by the workload's own clock */
    uint64_t nodes;    /* for the row */
    char details[256]; /* name=value;name=value: times */
};

struct workload {
    const char *name, *unit;
    uint64_t size, rounds; /* by default */
    /* Whether this is a size, before anything is allocated. */
    bool (*check)(const struct plan *plan);
    /* By each worker: memory, false if there is none; then the rounds, which may gather. */
    bool (*allocate)(const struct plan *plan, const struct worker *worker);
    void (*round)(const struct plan *plan, const struct worker *worker, uint64_t number);
    /* Afterwards, by one thread: whether the result is right. */
    bool (*verify)(const struct plan *plan, struct outcome *outcome);
    /* Where the worker's pages lie, a line each. */
    void (*print)(const struct worker *worker, FILE *file);
};

extern const struct workload composite, stream, integer_sort;

/* The data of a worker: an array in pages. */
struct pages {
    size_t first, count;
    char **page; /* the list is not by the policy */
};

/* False: out of memory. `first`: the number of its first page among the worker's. */
bool pages_take(struct pages *pages, const struct plan *plan, const struct worker *worker,
                size_t first, size_t count);

/* "worker quadrant page controller bank" of each, the last two "-" where nobody knows. */
void pages_print(const struct pages *pages, const struct worker *worker, FILE *file);

/* The part of `count` that is the worker's. */
static inline size_t share_begin(const struct plan *plan, unsigned number, size_t count)
{
    return count * number / plan->team->workers;
}

static inline size_t pages_for(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
}

#endif
