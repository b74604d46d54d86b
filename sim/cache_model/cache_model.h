/*
 * SPDX-License-Identifier: MIT
 *
 * One level of a set-associative cache, as far as transactions are concerned: which lines it holds,
 * which of them the running transaction read or wrote, and which line has to go when another one
 * comes. No data, no time.
 *
 * Plain C without a libc: it is linked into a Valgrind tool and into native tests. It allocates
 * nothing (the caller gives the memory) and calls nothing. One model belongs to one thread of
 * control at a time; there is no locking.
 *
 * Contents stay when a transaction ends, as in hardware; only the marks go. With true LRU what was
 * there before a transaction cannot matter to it: older lines leave first. With tree pseudo-LRU it
 * does matter, so the model is honest there only if it sees all accesses.
 */
#ifndef SIM_CACHE_MODEL_H
#define SIM_CACHE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CACHE_MODEL_WAYS_MOST = 64, /* the nodes of the pseudo-LRU tree are bits of one word */
    CACHE_MODEL_SETS_MOST = 1 << 20,
    CACHE_MODEL_LINE_LEAST = 16, /* an entry keeps its marks in the low four bits */
    CACHE_MODEL_LINE_MOST = 4096,
};

struct cache_model_geometry {
    uint32_t sets; /* a power of two */
    uint32_t ways;
    uint32_t line; /* bytes, a power of two */
};

enum cache_model_replacement {
    CACHE_MODEL_LRU,      /* the line not used for longest goes */
    CACHE_MODEL_TREE_LRU, /* one bit a node of a binary tree points away from the last use */
};

/* What the running transaction did with a line. A plain access has no mark. */
enum cache_model_marks {
    CACHE_MODEL_READ = 1 << 0,
    CACHE_MODEL_WRITTEN = 1 << 1,
    CACHE_MODEL_MARKS = CACHE_MODEL_READ | CACHE_MODEL_WRITTEN,
};

/*
 * One set. An entry is the address of a line with CACHE_MODEL_VALID and its marks in the low bits,
 * or 0. Marks count only while `transaction` equals the model's: so ending a transaction touches
 * no set.
 *
 * LRU: entry[0] is the most recently used one, the others follow by age, empty ones last; `recent`
 * stays 0. Tree pseudo-LRU: entries stay where they are and entry[recent] was used last.
 */
struct cache_model_set {
    uint64_t transaction;
    uint64_t tree; /* bit n: node n points to its upper half; the root is node 1 */
    uint32_t recent;
    uint32_t unused;
    uint64_t entry[];
};

enum { CACHE_MODEL_VALID = 1 << 2 };

struct cache_model {
    struct cache_model_geometry geometry;
    enum cache_model_replacement replacement;
    uint32_t line_shift;
    uint32_t leaves;      /* ways, rounded up to a power of two: the leaves of the tree */
    uint64_t transaction; /* from 1; grows when marks are cleared */
    size_t set_bytes;
    unsigned char *sets;
};

struct cache_model_access {
    bool hit;
    unsigned marks_before; /* of the line that was accessed; 0 on a miss */
    bool evicted;          /* a line had to go; the two fields below say which */
    unsigned evicted_marks;
    uint64_t evicted_line;
};

/*
 * Reads "SETSxWAYS" (64-byte lines), "SETSxWAYSxLINE", or the name of a processor's first-level
 * data cache: "haswell" (64x8x64, Haswell to Cascade Lake) or "icelake" (64x12x64, Ice Lake on).
 * False, and *geometry untouched, if the text is anything else or beyond the limits above.
 */
bool cache_model_parse(const char *text, struct cache_model_geometry *geometry);

/* The bytes of memory, aligned to 8, that a model of a valid geometry needs. */
size_t cache_model_bytes(const struct cache_model_geometry *geometry);

/* An empty cache. The memory is the model's until the caller forgets the model. */
void cache_model_init(struct cache_model *model, const struct cache_model_geometry *geometry,
                      enum cache_model_replacement replacement, void *memory);

static inline uint32_t cache_model_set_of(const struct cache_model *model, uint64_t address)
{
    return (uint32_t)(address >> model->line_shift) & (model->geometry.sets - 1);
}

static inline uint64_t cache_model_line_of(const struct cache_model *model, uint64_t address)
{
    return address & ~((uint64_t)model->geometry.line - 1);
}

static inline struct cache_model_set *cache_model_set_at(const struct cache_model *model,
                                                         uint32_t set)
{
    return (struct cache_model_set *)(void *)(model->sets + set * model->set_bytes);
}

/*
 * The same as cache_model_access for the line that was used last in its set since the transaction
 * began: puts the marks on it and returns those that it had. Any other line: does nothing and
 * returns -1. A dozen instructions, so try this first.
 */
static inline int cache_model_touch_recent(const struct cache_model *model, uint64_t line,
                                           unsigned marks)
{
    struct cache_model_set *set = cache_model_set_at(model, cache_model_set_of(model, line));
    uint64_t *recent = &set->entry[set->recent];
    uint64_t before =
        *recent ^ (line | CACHE_MODEL_VALID); /* the marks alone, if it is that line */

    if (set->transaction != model->transaction || before > CACHE_MODEL_MARKS)
        return -1;
    *recent |= marks;
    return (int)before;
}

/*
 * The processor loads or stores a byte in this line: it is brought in if it is not there, becomes
 * the most recently used one and gets the marks on top of those that it has. The caller splits an
 * access that crosses a line.
 *
 * What is evicted is told with its marks: the hardware that is modelled cannot see a conflict on a
 * written line that left the first-level cache, so CACHE_MODEL_WRITTEN there is a capacity abort.
 */
struct cache_model_access cache_model_access(struct cache_model *model, uint64_t address,
                                             unsigned marks);

/* Whether the line is there. Changes nothing. */
bool cache_model_holds(const struct cache_model *model, uint64_t address);

/* Another processor wrote the line: it is gone, and its place is the next to be filled. */
void cache_model_invalidate(struct cache_model *model, uint64_t address);

/* Commit or abort: all marks are gone, all lines stay. Constant time. */
static inline void cache_model_clear_marks(struct cache_model *model)
{
    model->transaction++;
}

/*
 * After an abort hardware drops the lines that were written, for they hold what never happened.
 * Clears the marks, too. Visits every set: for rare events.
 */
void cache_model_drop_written(struct cache_model *model);

/*
 * The lines of a set, valid ones only, in no promised order: at most geometry.ways of them, to
 * lines[] and marks[] (either may be NULL). Returns how many.
 */
uint32_t cache_model_lines(const struct cache_model *model, uint32_t set, uint64_t *lines,
                           unsigned *marks);

#endif
