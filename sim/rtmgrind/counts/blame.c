/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See blame.h.
 */
#include "rtmgrind/counts/blame.h"

#include "rtmgrind/counts/describe.h"
#include "rtmgrind/counts/heap_blocks.h"

enum { KINDS_MOST = 256 };

/* Lines of one kind in one set: of heap blocks of one size and origin, or of no block. */
struct kind {
    ULong lines; /* over all overflows of the set */
    SizeT size;
    ExeContext *origin; /* NULL: no heap block that is known */
};

/* One set of the first-level cache. */
struct overflown {
    ULong count;      /* transactions that aborted because of it */
    ULong lines_lost; /* of kinds that found no room below */
    UInt kinds_used, kinds_room;
    struct kind *kinds;
};

static struct overflown *sets; /* one a set; NULL before the first overflow */

void blame_reset(void)
{
    if (sets == NULL)
        return;
    for (UInt set = 0; set < options.l1d.sets; set++)
        VG_(free)(sets[set].kinds);
    VG_(free)(sets);
    sets = NULL;
}

static void count_line(struct overflown *set, SizeT size, ExeContext *origin)
{
    for (UInt i = 0; i < set->kinds_used; i++) {
        struct kind *kind = &set->kinds[i];
        if (kind->size == size && kind->origin == origin) {
            kind->lines++;
            return;
        }
    }
    if (set->kinds_used == KINDS_MOST) {
        set->lines_lost++;
        return;
    }
    if (set->kinds_used == set->kinds_room) {
        set->kinds_room = set->kinds_room == 0 ? 4 : set->kinds_room * 2;
        set->kinds =
            VG_(realloc)("rtm.blame.kinds", set->kinds, set->kinds_room * sizeof *set->kinds);
    }
    set->kinds[set->kinds_used++] = (struct kind){1, size, origin};
}

void blame_abort(const struct transaction *transaction, const struct abort_event *event)
{
    const struct cache_model *cache = &transaction->footprint.l1d;
    uint64_t lines[CACHE_MODEL_WAYS_MOST];
    unsigned marks[CACHE_MODEL_WAYS_MOST];

    if (event->cause != ABORT_WRITE_CAPACITY)
        return;
    if (sets == NULL)
        sets = VG_(calloc)("rtm.blame.sets", options.l1d.sets, sizeof *sets);
    UInt number = cache_model_set_of(cache, event->data);
    struct overflown *set = &sets[number];
    set->count++;
    UInt count = cache_model_lines(cache, number, lines, marks);
    for (UInt i = 0; i < count; i++) {
        if (marks[i] == 0)
            continue; /* from before the transaction */
        const struct heap_block *block = heap_block_in_line(lines[i]);
        count_line(set, block == NULL ? 0 : block->size, block == NULL ? NULL : block->origin);
    }
}

/* The sets with most overflows, in order; returns how many. */
static UInt worst_sets(UInt *list, UInt most)
{
    UInt used = 0;

    for (UInt set = 0; sets != NULL && set < options.l1d.sets; set++) {
        if (sets[set].count == 0)
            continue;
        UInt place = used;
        while (place > 0 && sets[list[place - 1]].count < sets[set].count)
            place--;
        if (place == most)
            continue;
        if (used < most)
            used++;
        for (UInt i = used - 1; i > place; i--)
            list[i] = list[i - 1];
        list[place] = set;
    }
    return used;
}

static Int more_lines_first(const void *left, const void *right)
{
    ULong a = ((const struct kind *)left)->lines, b = ((const struct kind *)right)->lines;

    return a < b ? 1 : a > b ? -1 : 0;
}

static void sort_kinds(struct overflown *set)
{
    VG_(ssort)(set->kinds, set->kinds_used, sizeof *set->kinds, more_lines_first);
}

/* Lines of this kind at one overflow, on average, in tenths. */
static ULong tenths(const struct overflown *set, ULong lines)
{
    return (lines * 10 + set->count / 2) / set->count;
}

static Bool same_kinds(const struct overflown *a, const struct overflown *b)
{
    if (a->kinds_used != b->kinds_used)
        return False;
    for (UInt i = 0; i < a->kinds_used; i++) {
        if (a->kinds[i].size != b->kinds[i].size || a->kinds[i].origin != b->kinds[i].origin)
            return False;
    }
    return True;
}

static void print_kinds(const struct overflown *set)
{
    for (UInt i = 0; i < set->kinds_used && i < (UInt)options.top; i++) {
        const struct kind *kind = &set->kinds[i];
        ULong average = tenths(set, kind->lines);
        if (kind->origin == NULL) {
            VG_(umsg)("  %llu.%llu lines of no known heap block\n", average / 10, average % 10);
            continue;
        }
        VG_(umsg)
        ("  %llu.%llu lines of blocks of %lu bytes, allocated\n", average / 10, average % 10,
         kind->size);
        VG_(pp_ExeContext)(kind->origin);
    }
}

void blame_print_text(void)
{
    static UInt list[TOP_MOST];
    UInt used = worst_sets(list, (UInt)options.top);

    for (UInt i = 0; i < used; i++)
        sort_kinds(&sets[list[i]]);
    if (used != 0) {
        VG_(umsg)("\n");
        VG_(umsg)("--- what filled the sets that overflowed most\n");
    }
    for (UInt i = 0; i < used; i++) {
        const struct overflown *set = &sets[list[i]];
        VG_(umsg)
        ("set %u of the first-level cache (%u ways) overflowed %llu times; in it\n", list[i],
         options.l1d.ways, set->count);
        if (i > 0 && same_kinds(set, &sets[list[i - 1]]))
            VG_(umsg)("  the same kinds of blocks as above\n");
        else
            print_kinds(set);
    }
}

static void write_kind(struct output *file, const struct overflown *set, const struct kind *kind)
{
    ULong average = tenths(set, kind->lines);

    output_format(file, "{\"lines\": %llu.%llu", average / 10, average % 10);
    if (kind->origin != NULL)
        output_format(file, ", \"size\": %lu", kind->size);
    describe_write_stack(file, "allocated", kind->origin);
    output_format(file, "}");
}

void blame_write_json(struct output *file)
{
    static UInt list[TOP_MOST];
    UInt used = worst_sets(list, (UInt)options.top);

    output_format(file, ",\n\"overflows\": [");
    for (UInt i = 0; i < used; i++) {
        struct overflown *set = &sets[list[i]];
        output_format(file, "%s{\"set\": %u, \"count\": %llu, \"filled_by\": [",
                      i == 0 ? "\n" : ",\n", list[i], set->count);
        sort_kinds(set);
        for (UInt k = 0; k < set->kinds_used && k < (UInt)options.top; k++) {
            if (k > 0)
                output_format(file, ", ");
            write_kind(file, set, &set->kinds[k]);
        }
        output_format(file, "]}");
    }
    output_format(file, "]");
}
