/*
 * SPDX-License-Identifier: MIT
 *
 * What TM_STATS counts: for each source transaction, which is known by where its begin returns to,
 * and for each switch to serial mode the calls that led there. Each thread counts in a table of its
 * own, which only it writes, with relaxed stores; the report adds them up.
 */
#ifndef TM_RUNTIME_STATISTICS_STATISTICS_H
#define TM_RUNTIME_STATISTICS_STATISTICS_H

#include "tm_runtime/thread.h"

#include <stdbool.h>
#include <stdint.h>

enum { STATISTICS_ROWS = 512, STATISTICS_SWITCHES = 512, STATISTICS_FRAMES = 10 };

struct statistics_row {
    const void *begin; /* where _ITM_beginTransaction returns to; NULL: no row */
    uint64_t started, committed, committed_in_hardware;
    uint64_t switches; /* in flight */
    uint64_t serial[TM_SERIAL_REASONS];
    uint64_t aborts[TM_CAUSES];
};

/* A place where a transaction switched to serial mode in flight. */
struct statistics_switch {
    const void *begin;
    const void *function; /* called through a pointer and without a clone, or NULL */
    const void *frames[STATISTICS_FRAMES]; /* return addresses, innermost first; then NULL */
    uint64_t count;
};

struct statistics_table {
    struct statistics_row rows[STATISTICS_ROWS]; /* hashed by begin; the last: the rest */
    struct statistics_switch switches[STATISTICS_SWITCHES]; /* in the order of their coming */
    uint32_t switches_used;
    uint64_t switches_dropped;
    struct statistics_table *next;
};

/* Whether threads get tables. */
extern bool statistics_wanted;

/* For the library's constructor, if a report is wanted. */
void statistics_start(void);

/* A table for a thread that registers: the one it has, a new one, or NULL. */
struct statistics_table *statistics_table_of(struct statistics_table *old);

/* The list of all tables. */
const struct statistics_table *statistics_first(void);

void statistics_after_fork_in_child(void);

/* ---- counting; all do nothing where nobody counts ---- */

void statistics_row_of(struct tm_thread *self, const void *begin);
void statistics_record_switch(struct tm_thread *self);

static inline void statistics_add(uint64_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static inline bool statistics_counts(const struct tm_thread *self)
{
    return __builtin_expect(self->statistics != NULL, 0);
}

static inline void statistics_find_row(struct tm_thread *self, const void *begin)
{
    if (statistics_counts(self))
        statistics_row_of(self, begin);
}

static inline void statistics_count_start(struct tm_thread *self)
{
    if (statistics_counts(self)) {
        statistics_row_of(self, (const void *)self->registers.rip);
        statistics_add(&self->row->started);
    }
}

static inline void statistics_count_commit(struct tm_thread *self)
{
    if (statistics_counts(self))
        statistics_add(&self->row->committed);
}

static inline void statistics_count_hardware_commit(struct tm_thread *self)
{
    if (statistics_counts(self)) {
        statistics_add(&self->row->started);
        statistics_add(&self->row->committed);
        statistics_add(&self->row->committed_in_hardware);
    }
}

static inline void statistics_count_abort(struct tm_thread *self, enum tm_cause cause)
{
    if (statistics_counts(self))
        statistics_add(&self->row->aborts[cause]);
}

static inline void statistics_count_serial(struct tm_thread *self)
{
    if (statistics_counts(self))
        statistics_add(&self->row->serial[self->serial_reason]);
}

static inline void statistics_count_switch(struct tm_thread *self)
{
    if (statistics_counts(self)) {
        statistics_add(&self->row->switches);
        statistics_record_switch(self);
    }
}

#endif
