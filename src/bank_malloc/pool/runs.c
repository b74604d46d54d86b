/*
 * SPDX-License-Identifier: MIT
 *
 * See runs.h.
 */
#include "bank_malloc/pool/runs.h"

#include "bank_malloc/pool/mutant.h"

static size_t aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

enum { TABLES = 4 };

size_t runs_used_bytes(uint32_t count)
{
    return aligned(bit_index_bytes(count));
}

size_t runs_bytes(uint32_t count)
{
    return aligned(bit_index_bytes(count + 1)) +
           TABLES * aligned(((size_t)count + 1) * sizeof(uint32_t));
}

static void lay_out(struct runs *runs, uint32_t count, void *used, void *zeroed)
{
    uint32_t **const tables[TABLES] = {&runs->first, &runs->length, &runs->next, &runs->previous};
    char *at = zeroed;

    runs->count = count;
    bit_index_init(&runs->used, count, used);
    bit_index_init(&runs->lengths, count + 1, at);
    at += aligned(bit_index_bytes(count + 1));
    for (int i = 0; i < TABLES; i++) {
        *tables[i] = (uint32_t *)(void *)at;
        at += aligned(((size_t)count + 1) * sizeof(uint32_t));
    }
}

void runs_init(struct runs *runs, uint32_t count, void *used, void *zeroed)
{
    lay_out(runs, count, used, zeroed);
    bit_index_fill(&runs->used, count);
}

static void link_run(struct runs *runs, uint32_t start, uint32_t n)
{
    uint32_t head = runs->first[n];

    if (n == 0)
        return;
    runs->length[start] = n;
    runs->next[start] = head;
    runs->previous[start] = 0;
    if (head != 0)
        runs->previous[head - 1] = start + 1;
    else
        bit_index_add(&runs->lengths, n);
    runs->first[n] = start + 1;
}

static void unlink_run(struct runs *runs, uint32_t start)
{
    uint32_t n = runs->length[start], next = runs->next[start], previous = runs->previous[start];

    if (next != 0)
        runs->previous[next - 1] = previous;
    if (previous != 0) {
        runs->next[previous - 1] = next;
        return;
    }
    runs->first[n] = next;
    if (next == 0)
        bit_index_remove(&runs->lengths, n);
}

/* The free unit that begins the run up to unit - 1, or unit itself if that one is used. */
static uint32_t begin_before(const struct runs *runs, uint32_t unit)
{
    uint32_t used = unit == 0 ? BIT_INDEX_NONE : bit_index_previous(&runs->used, unit - 1);

    return used == BIT_INDEX_NONE ? 0 : used + 1;
}

/* The first unit behind unit - 1 that is used, or the row's end. */
static uint32_t end_behind(const struct runs *runs, uint32_t unit)
{
    uint32_t used = unit == runs->count ? BIT_INDEX_NONE : bit_index_next(&runs->used, unit);

    return used == BIT_INDEX_NONE ? runs->count : used;
}

/* The first free unit from unit on, or the row's end. */
static uint32_t next_free(const struct runs *runs, uint32_t unit)
{
    while (unit < runs->count) {
        uint64_t free = ~runs->used.level[0][unit / 64] >> unit % 64;

        if (free != 0)
            return unit + (uint32_t)__builtin_ctzll(free);
        unit = (unit / 64 + 1) * 64;
    }
    return runs->count;
}

static void link_all(struct runs *runs)
{
    for (uint32_t end, unit = next_free(runs, 0); unit < runs->count; unit = next_free(runs, end)) {
        end = end_behind(runs, unit);
        link_run(runs, unit, end - unit);
    }
}

void runs_restore(struct runs *runs, uint32_t count, void *used, void *zeroed)
{
    lay_out(runs, count, used, zeroed);
    bit_index_rebuild(&runs->used, count);
    link_all(runs);
}

void runs_extend(struct runs *runs, uint32_t count, void *used, void *zeroed)
{
    struct bit_index before = runs->used;
    uint32_t count_before = runs->count;

    lay_out(runs, count, used, zeroed);
    if (count_before == 0)
        bit_index_fill(&runs->used, count);
    else
        bit_index_extend(&runs->used, count, &before, count_before);
    link_all(runs);
}

void runs_take_at(struct runs *runs, uint32_t first, uint32_t n)
{
    uint32_t begin = begin_before(runs, first), end = begin + runs->length[begin];

    unlink_run(runs, begin);
    for (uint32_t unit = first; unit < first + n; unit++)
        bit_index_add(&runs->used, unit);
    link_run(runs, begin, first - begin);
    link_run(runs, first + n, end - (first + n));
}

uint32_t runs_fit(const struct runs *runs, uint32_t n)
{
    uint32_t length = n > runs->count
                          ? BIT_INDEX_NONE
                          : bit_index_next(&runs->lengths, n + MUTANT(EXACT_RUN_UNSEEN));

    return length == BIT_INDEX_NONE ? 0 : length;
}

uint32_t runs_take(struct runs *runs, uint32_t n)
{
    uint32_t length = runs_fit(runs, n);

    if (length == 0)
        return RUNS_NONE;
    uint32_t start = runs->first[length] - 1;
    runs_take_at(runs, start, n);
    return start;
}

void runs_give(struct runs *runs, uint32_t first, uint32_t n)
{
    uint32_t begin = begin_before(runs, first), end = end_behind(runs, first + n);

    if (begin < first)
        unlink_run(runs, begin);
    if (end > first + n)
        unlink_run(runs, first + n);
    for (uint32_t unit = first; unit < first + n; unit++)
        bit_index_remove(&runs->used, unit);
    link_run(runs, begin, end - begin);
}
