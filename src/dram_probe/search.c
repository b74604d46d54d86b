/*
 * SPDX-License-Identifier: MIT
 *
 * Searching for bank functions; see search.h. In the steps of Pessl et al., "DRAMA: Exploiting DRAM
 * Addressing for Cross-CPU Attacks", USENIX Security 2016: time an address with all others, those
 * that are slow with it are of its bank, solve for the functions that such addresses have in
 * common.
 */
#include "dram_probe/search.h"

#include "base/random.h"
#include "dram_probe/solver.h"
#include "dram_probe/split.h"

#include <stdlib.h>

enum {
    ROUNDS = 15,
    RANK = ROUNDS / 3, /* of the round that is the time of a pair, from the fastest: refreshes and
                          interrupts only add to it */
    SETS_FIRST = 4,    /* that tell what is slow */
    SETS_MOST = 128,
    MEMBERS_MOST = 64, /* of a set that are looked at: more sets tell more than larger ones */
    WITNESSES = 8,     /* other members with which a member is timed again */
    WITNESSES_SLOW = 2,
    DIFFERENCES_WANTED = 512,
    DIFFERENCES_MOST = DIFFERENCES_WANTED + MEMBERS_MOST,
    SAME_SLOW_PERCENT = 80,
    DIFFERENT_SLOW_PERCENT = 10,
};

struct search {
    const struct dram_probe *probe;
    struct search_result *result;
    uint64_t state; /* of the random generator */
    double threshold;
    uint32_t *times; /* of SETS_FIRST bases with each address, in the order of the addresses */
    uint64_t differences[DIFFERENCES_MOST];
    size_t difference_count;
};

static void sort_rounds(uint32_t rounds[ROUNDS])
{
    for (unsigned i = 1; i < ROUNDS; i++) {
        uint32_t value = rounds[i];
        unsigned j = i;

        for (; j > 0 && rounds[j - 1] > value; j--)
            rounds[j] = rounds[j - 1];
        rounds[j] = value;
    }
}

static uint32_t time_pair(const struct search *search, size_t first, size_t second)
{
    const struct dram_probe *probe = search->probe;
    uint32_t rounds[ROUNDS];

    for (unsigned i = 0; i < ROUNDS; i++)
        rounds[i] = probe->measure(probe->context, first, second);
    sort_rounds(rounds);
    return rounds[RANK];
}

static bool is_slow(const struct search *search, size_t first, size_t second)
{
    return time_pair(search, first, second) > search->threshold;
}

static size_t any_address(struct search *search)
{
    return random_below(&search->state, (uint32_t)search->probe->count);
}

static bool is_wanted(const struct search *search)
{
    return search->difference_count < DIFFERENCES_WANTED && search->result->sets < SETS_MOST;
}

/*
 * The members that are slow with two of some other members too. A pair that is slow for another
 * reason than its bank brings a member of another bank into the set, which the others do not
 * conflict with.
 */
static size_t keep_confirmed(struct search *search, size_t *members, size_t count)
{
    bool confirmed[MEMBERS_MOST] = {false};
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        unsigned slow = 0;

        for (size_t w = 1; w < count && w <= WITNESSES && slow < WITNESSES_SLOW; w++)
            slow += is_slow(search, members[i], members[(i + w) % count]);
        confirmed[i] = slow == WITNESSES_SLOW;
    }
    for (size_t i = 0; i < count; i++) {
        if (confirmed[i])
            members[kept++] = members[i];
    }
    return kept;
}

/* times: of the base with each address. */
static void add_set(struct search *search, size_t base, const uint32_t *times)
{
    const uint64_t *physical = search->probe->physical;
    size_t members[MEMBERS_MOST], count = 0;

    for (size_t i = 0; i < search->probe->count && count < MEMBERS_MOST; i++) {
        if (i != base && times[i] > search->threshold)
            members[count++] = i;
    }
    count = keep_confirmed(search, members, count);
    for (size_t i = 0; i < count; i++)
        search->differences[search->difference_count++] = physical[base] ^ physical[members[i]];
    search->result->sets++;
    search->result->pairs += (uint32_t)count;
}

static void time_base(const struct search *search, size_t base, uint32_t *times)
{
    for (size_t i = 0; i < search->probe->count; i++)
        times[i] = i == base ? 0 : time_pair(search, base, i);
}

/* Times some bases with all addresses and decides what is slow. False: nothing clearly is. */
static bool find_threshold(struct search *search, uint32_t *sorted, size_t bases[SETS_FIRST])
{
    size_t count = search->probe->count, sorted_count = 0;
    struct split split;
    double sum = 0;

    for (unsigned i = 0; i < SETS_FIRST; i++) {
        uint32_t *times = search->times + i * count;

        bases[i] = any_address(search);
        time_base(search, bases[i], times);
        for (size_t j = 0; j < count; j++) {
            if (j == bases[i])
                continue;
            sorted[sorted_count++] = times[j];
            sum += times[j];
        }
    }
    search->result->fast = sum / (double)sorted_count;
    if (!split_find(sorted, sorted_count, &split))
        return false;
    search->threshold = split.threshold;
    search->result->fast = split.fast;
    search->result->slow = split.slow;
    return true;
}

static void gather(struct search *search, const size_t bases[SETS_FIRST])
{
    for (unsigned i = 0; i < SETS_FIRST && is_wanted(search); i++)
        add_set(search, bases[i], search->times + i * search->probe->count);
    while (is_wanted(search)) {
        size_t base = any_address(search);

        time_base(search, base, search->times);
        add_set(search, base, search->times);
    }
}

static uint32_t count_wrong(const struct search *search)
{
    uint32_t wrong = 0;

    for (size_t i = 0; i < search->difference_count; i++)
        wrong += dram_map_bank(&search->result->map, search->differences[i]) != 0;
    return wrong;
}

/* Of SEARCH_CHECKED random pairs that the map puts into one bank, or into two, those that conflict.
 * Of two banks at least: each kind of pair is soon drawn. */
static uint32_t count_slow(struct search *search, bool in_one_bank)
{
    const struct dram_map *map = &search->result->map;
    const uint64_t *physical = search->probe->physical;
    uint32_t slow = 0;

    for (unsigned checked = 0; checked < SEARCH_CHECKED;) {
        size_t first = any_address(search), second = any_address(search);

        if (first == second ||
            (dram_map_bank(map, physical[first] ^ physical[second]) == 0) != in_one_bank)
            continue;
        slow += is_slow(search, first, second);
        checked++;
    }
    return slow;
}

static enum search_verdict solve_and_check(struct search *search)
{
    struct search_result *result = search->result;
    struct gf2_basis space;

    solver_space(search->probe->physical, search->probe->count, &space);
    result->bits = solver_bits(&space);
    if (search->difference_count < (size_t)__builtin_popcountll(result->bits) + SOLVER_SPARE)
        return SEARCH_NO_BANK;
    result->map.banks = solver_solve(search->differences, search->difference_count, &space,
                                     random_next(&search->state), result->map.bank);
    if (result->map.banks == 0)
        return SEARCH_NO_FUNCTION;
    result->wrong = count_wrong(search);
    result->same_slow = count_slow(search, true);
    result->different_slow = count_slow(search, false);
    return result->same_slow * 100 >= SEARCH_CHECKED * SAME_SLOW_PERCENT &&
                   result->different_slow * 100 <= SEARCH_CHECKED * DIFFERENT_SLOW_PERCENT
               ? SEARCH_FOUND
               : SEARCH_NOT_CONFIRMED;
}

enum search_verdict search_functions(const struct dram_probe *probe, uint64_t seed,
                                     struct search_result *result)
{
    size_t times = SETS_FIRST * probe->count;
    struct search search = {.probe = probe, .result = result, .state = seed};
    uint32_t *sorted = malloc(times * sizeof sorted[0]);
    enum search_verdict verdict = SEARCH_NO_MEMORY;
    size_t bases[SETS_FIRST];

    *result = (struct search_result){.sets = 0};
    search.times = malloc(times * sizeof search.times[0]);
    if (sorted != NULL && search.times != NULL) {
        verdict = SEARCH_ONE_LATENCY;
        if (find_threshold(&search, sorted, bases)) {
            gather(&search, bases);
            verdict = solve_and_check(&search);
        }
    }
    free(sorted);
    free(search.times);
    return verdict;
}
