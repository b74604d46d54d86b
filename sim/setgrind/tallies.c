/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See tallies.h.
 */
#include "tallies.h"

enum { FINE_MOST = 1024, FINE_STEP = 16, STEPS_A_DOUBLING = 16, SIZES = 1024 };

UInt tallies_window = 1;

static struct tally sizes[SIZES];

/* Which tally: 0 to 64 for sizes to 1 KiB, then 16 a doubling; a size is the last of its group. */
static UInt group_of(SizeT size)
{
    UInt exponent;

    if (size <= FINE_MOST)
        return (UInt)((size + FINE_STEP - 1) / FINE_STEP);
    size--; /* 2^k belongs to the groups below it */
    exponent = 63 - (UInt)__builtin_clzll(size);
    return FINE_MOST / FINE_STEP + 1 + (exponent - 10) * STEPS_A_DOUBLING +
           (UInt)(size >> (exponent - 4) & (STEPS_A_DOUBLING - 1));
}

struct tally *tallies_of_size(SizeT size)
{
    return &sizes[group_of(size)];
}

void tallies_allocated(struct tally *tally, SizeT size)
{
    if (tally->allocated == 0 || size < tally->size_least)
        tally->size_least = size;
    if (size > tally->size_most)
        tally->size_most = size;
    tally->allocated++;
    tally->live++;
    if (tally->live > tally->live_most)
        tally->live_most = tally->live;
}

void tallies_freed(struct tally *tally)
{
    if (tally->live > 0)
        tally->live--;
}

static UShort *new_sets(void)
{
    return VG_(calloc)("setgrind.sets", options.l1d.sets, sizeof(UShort));
}

static Bool is_worse(const struct hot_window *one, const struct hot_window *other)
{
    Int conflicts = one->conflicts > 0 ? one->conflicts : 0;
    Int others = other->conflicts > 0 ? other->conflicts : 0;

    return conflicts > others || (conflicts == others && one->hot > other->hot);
}

/* The present window is over: it is kept if it is the worst so far, and emptied. */
static void close_window(struct tally *tally)
{
    struct hot_window *now = &tally->now;

    if (now->hot > 0 && is_worse(now, &tally->worst)) {
        struct hot_window kept = tally->worst;
        tally->worst = *now;
        *now = kept;
    }
    if (now->by_set != NULL && now->hot > 0)
        VG_(memset)(now->by_set, 0, options.l1d.sets * sizeof(UShort));
    now->conflicts = 0;
    now->hot = 0;
}

void tallies_count(struct counts *counts, const struct visit *visit)
{
    counts->visits++;
    counts->misses += visit->miss;
    counts->full_misses += visit->full_miss;
    counts->within += visit->within;
}

void tallies_visited(struct tally *tally, const struct visit *visit)
{
    struct hot_window *now = &tally->now;

    tallies_count(&tally->all, visit);
    if (visit->first)
        tallies_count(&tally->first, visit);
    if (now->number != tallies_window) {
        close_window(tally);
        now->number = tallies_window;
    }
    now->conflicts += (Int)visit->miss - (Int)visit->full_miss;
    if (visit->heats) {
        if (now->by_set == NULL)
            now->by_set = new_sets();
        now->hot++;
        now->by_set[visit->set]++;
    }
}

void tallies_finish(struct tally *tally)
{
    close_window(tally);
}

void tallies_reset(struct tally *tally)
{
    struct tally kept = *tally;

    *tally = (struct tally){.live = kept.live,
                            .live_most = kept.live,
                            .allocated = kept.live,
                            .size_least = kept.size_least,
                            .size_most = kept.size_most};
    if (kept.now.by_set != NULL)
        VG_(free)(kept.now.by_set);
    if (kept.worst.by_set != NULL)
        VG_(free)(kept.worst.by_set);
}

void tallies_reset_sizes(void)
{
    for (UInt i = 0; i < SIZES; i++)
        tallies_reset(&sizes[i]);
}

void tallies_each_size(void (*report)(struct tally *tally, UInt number, void *argument),
                       void *argument)
{
    for (UInt i = 0; i < SIZES; i++) {
        if (sizes[i].allocated > 0)
            report(&sizes[i], i, argument);
    }
}
