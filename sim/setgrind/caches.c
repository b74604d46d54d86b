/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See caches.h. Most accesses are to the line that the thread was at before: they end in the first
 * comparison.
 */
#include "caches.h"

#include "blocks.h"

#include "cache_model/full_lru.h"

enum { NO_LINE = 1 }; /* lines are multiples of 64 */

struct caches {
    Addr last_line;   /* a load of it changes nothing */
    Addr last_stored; /* neither does a store */
    Bool marking;
    ThreadId thread;
    struct cache_model by_set;
    struct full_lru full;
    void *memory_by_set, *memory_full;
};

struct cache_totals cache_totals;

static struct caches **caches; /* by thread */
static struct caches *running;

static void make_empty(struct caches *thread)
{
    cache_model_init(&thread->by_set, &options.l1d, CACHE_MODEL_LRU, thread->memory_by_set);
    full_lru_init(&thread->full, options.l1d.sets * options.l1d.ways, thread->memory_full);
    thread->last_line = thread->last_stored = NO_LINE;
    thread->marking = False;
    cache_totals.threads++;
}

static struct caches *caches_of(ThreadId number)
{
    struct caches *thread = caches[number];

    if (thread == NULL) {
        thread = VG_(malloc)("setgrind.caches", sizeof *thread);
        *thread = (struct caches){
            .thread = number,
            .memory_by_set = VG_(malloc)("setgrind.by_set", cache_model_bytes(&options.l1d)),
            .memory_full =
                VG_(malloc)("setgrind.full", full_lru_bytes(options.l1d.sets * options.l1d.ways)),
        };
        make_empty(thread);
        caches[number] = thread;
    }
    return thread;
}

void caches_thread_goes_on(ThreadId thread)
{
    running = caches_of(thread);
}

void caches_thread_is_new(ThreadId thread)
{
    if (caches[thread] != NULL)
        make_empty(caches[thread]);
}

/*
 * The line came in and another one had to go: did the block get in its own way? The set holds the
 * new line already; the evicted one counts, too. Half of the ways is the border: a block that fills
 * fewer would have stayed with other neighbours.
 */
static Bool is_within(const struct caches *thread, UInt number, Addr line, Addr evicted)
{
    uint64_t lines[CACHE_MODEL_WAYS_MOST];
    UInt count = cache_model_lines(&thread->by_set, set_of(line), lines, NULL), own = 0;

    for (UInt i = 0; i < count; i++)
        own += blocks_number_at(lines[i]) == number && lines[i] != line;
    own += blocks_number_at(evicted) == number;
    return 2 * own >= options.l1d.ways;
}

static void visit_block(struct block *block, Addr line, struct visit *visit)
{
    visit->set = set_of(line);
    visit->first = line == line_of(block->start);
    if (visit->first) {
        if (block->window != tallies_window) {
            block->window = tallies_window;
            block->hot = False;
        } else if (!block->hot) {
            block->hot = True;
            visit->heats = True;
        }
    }
    tallies_visited(&block->origin->tally, visit);
    tallies_visited(block->of_size, visit);
    tallies_count(&cache_totals.heap, visit);
}

static void (*marked_wrote)(ThreadId thread, Addr line);
static void (*marked_lost)(ThreadId thread, Addr line);

static void visit(struct caches *thread, Addr address, Bool store)
{
    Addr line = line_of(address);
    Bool mark = store && thread->marking;
    struct cache_model_access access;
    struct visit seen = {.miss = False};
    UInt number;

    access = cache_model_access(&thread->by_set, line, mark ? CACHE_MODEL_WRITTEN : 0);
    if (mark && !(access.marks_before & CACHE_MODEL_WRITTEN))
        marked_wrote(thread->thread, line);
    if (access.evicted && (access.evicted_marks & CACHE_MODEL_WRITTEN))
        marked_lost(thread->thread, access.evicted_line);
    thread->last_stored = store || !thread->marking ? line : NO_LINE;
    if (line == thread->last_line)
        return; /* the first store after loads */
    thread->last_line = line;
    if (cache_totals.visits++ % WINDOW_VISITS == 0)
        tallies_window++;
    seen.miss = !access.hit;
    seen.full_miss = !full_lru_access(&thread->full, line);
    number = blocks_number_at(address);
    if (number == 0) {
        tallies_count(&cache_totals.elsewhere, &seen);
        return;
    }
    if (seen.miss && !seen.full_miss && access.evicted)
        seen.within = is_within(thread, number, line, access.evicted_line);
    visit_block(blocks_by_number(number), line, &seen);
}

/* The parts of an access beyond its first line. */
static void visit_rest(struct caches *thread, Addr address, Addr end, Bool store)
{
    for (Addr line = line_of(address) + LINE_BYTES; line < end; line += LINE_BYTES)
        visit(thread, line, store);
}

void caches_load(Addr address, ULong size)
{
    struct caches *thread = running;

    cache_totals.accesses++;
    if (line_of(address) != thread->last_line)
        visit(thread, address, False);
    if (UNLIKELY(line_of(address) != line_of(address + size - 1)))
        visit_rest(thread, address, address + size, False);
}

void caches_store(Addr address, ULong size)
{
    struct caches *thread = running;

    cache_totals.accesses++;
    if (line_of(address) != thread->last_stored)
        visit(thread, address, True);
    if (UNLIKELY(line_of(address) != line_of(address + size - 1)))
        visit_rest(thread, address, address + size, True);
}

void caches_watch(void (*wrote)(ThreadId thread, Addr line),
                  void (*lost)(ThreadId thread, Addr line))
{
    marked_wrote = wrote;
    marked_lost = lost;
}

void caches_begin_marking(ThreadId number)
{
    struct caches *thread = caches_of(number);

    cache_model_clear_marks(&thread->by_set);
    thread->marking = True;
    thread->last_stored = NO_LINE;
}

void caches_end_marking(ThreadId number)
{
    caches_of(number)->marking = False;
}

UInt caches_marked_lines(ThreadId number, UInt set, Addr *lines)
{
    uint64_t all[CACHE_MODEL_WAYS_MOST];
    unsigned marks[CACHE_MODEL_WAYS_MOST];
    UInt count = cache_model_lines(&caches_of(number)->by_set, set, all, marks), marked = 0;

    for (UInt i = 0; i < count; i++) {
        if (marks[i] & CACHE_MODEL_WRITTEN)
            lines[marked++] = all[i];
    }
    return marked;
}

void caches_reset_totals(void)
{
    cache_totals = (struct cache_totals){.threads = 1};
}

void caches_init(void)
{
    caches = VG_(calloc)("setgrind.caches", VG_N_THREADS, sizeof *caches);
}
