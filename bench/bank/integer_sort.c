/*
 * SPDX-License-Identifier: MIT
 *
 * The integer sort of the NAS parallel benchmarks (D. Bailey et al., "The NAS Parallel Benchmarks",
 * RNR-94-007): ranks keys by counting them, in 10 iterations, each with two keys changed. Keys and
 * the ranks that are verified are those of the benchmark. Each worker has its part of the keys and
 * counts of its own; the ranks of a range of keys are added up by one worker.
 */
#include "workload.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = PAGE_BYTES / sizeof(uint32_t), ITERATIONS = 10, PROBES = 5 };

/* What the benchmark verifies: keys at these places have these ranks, which move with the
 * iteration: the first `up` of them upwards, less `late_up`, the others downwards, less
 * `late_down`.
 */
static const struct class
{
    char name;
    unsigned log_keys, log_greatest;
    uint32_t place[PROBES], rank[PROBES];
    unsigned up, late_up, late_down;
} classes[] = {
    {'S', 16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, 3, 0, 0},
    {'W',
     20,
     16,
     {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018},
     2,
     2,
     0},
    {'A',
     23,
     19,
     {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264},
     3,
     1,
     1},
};
enum { CLASSES = sizeof classes / sizeof *classes };

static struct part {
    _Alignas(64) struct pages keys, counts;
    size_t begin, end; /* of its keys among all */
    uint32_t sum;      /* of the counts of its range */
} parts[TEAM_MOST];
static const struct class *class;
static struct pages ranks[TEAM_MOST]; /* of the keys of a worker's range; all keys below one, too */
static uint32_t probed[PROBES];       /* keys */
static uint64_t wrong, verified;

static bool check(const struct plan *plan)
{
    class = NULL;
    for (size_t i = 0; i < CLASSES; i++) {
        if (plan->size == sizeof(uint32_t) << classes[i].log_keys)
            class = &classes[i];
    }
    return class != NULL && plan->warm + plan->rounds <= ITERATIONS;
}

static uint32_t *element(const struct pages *pages, size_t number)
{
    return (uint32_t *)(void *)pages->page[number / KEYS] + number % KEYS;
}

/* x = a^power x mod 2^46, the generator of all NAS benchmarks. */
static uint64_t skip(uint64_t x, uint64_t power)
{
    static const uint64_t mask = ((uint64_t)1 << 46) - 1;

    for (uint64_t a = 1220703125; power != 0; power >>= 1) {
        if (power & 1)
            x = x * a & mask;
        a = a * a & mask;
    }
    return x;
}

static size_t range_begin(const struct plan *plan, unsigned worker)
{
    return share_begin(plan, worker, (size_t)1 << class->log_greatest);
}

static bool allocate(const struct plan *plan, const struct worker *worker)
{
    struct part *part = &parts[worker->number];
    size_t all = (size_t)1 << class->log_keys, greatest = (size_t)1 << class->log_greatest;
    size_t range = range_begin(plan, worker->number + 1) - range_begin(plan, worker->number);
    size_t key_pages, count_pages = pages_for(greatest * sizeof(uint32_t));
    uint64_t x;

    part->begin = share_begin(plan, worker->number, all);
    part->end = share_begin(plan, worker->number + 1, all);
    key_pages = pages_for((part->end - part->begin) * sizeof(uint32_t));
    if (!pages_take(&part->keys, plan, worker, 0, key_pages) ||
        !pages_take(&part->counts, plan, worker, key_pages, count_pages) ||
        !pages_take(&ranks[worker->number], plan, worker, key_pages + count_pages,
                    pages_for((range + 1) * sizeof(uint32_t))))
        return false;
    x = skip(314159265, 4 * (uint64_t)part->begin);
    for (size_t i = 0; i < part->end - part->begin; i++) {
        double sum = 0;

        for (int k = 0; k < 4; k++) {
            x = skip(x, 1);
            sum += (double)x / (double)((uint64_t)1 << 46);
        }
        *element(&part->keys, i) = (uint32_t)((double)(greatest / 4) * sum);
    }
    return true;
}

static void set_key(const struct worker *worker, size_t number, uint32_t key)
{
    struct part *part = &parts[worker->number];

    if (number >= part->begin && number < part->end)
        *element(&part->keys, number - part->begin) = key;
}

/* The keys whose ranks this iteration verifies, before they are counted. */
static void probe(const struct worker *worker)
{
    const struct part *part = &parts[worker->number];

    for (int i = 0; i < PROBES; i++) {
        if (class->place[i] >= part->begin && class->place[i] < part->end)
            probed[i] = *element(&part->keys, class->place[i] - part->begin);
    }
}

static void count_keys(const struct worker *worker)
{
    struct part *part = &parts[worker->number];

    for (size_t i = 0; i < part->counts.count; i++)
        memset(part->counts.page[i], 0, PAGE_BYTES);
    for (size_t page = 0, left = part->end - part->begin; left > 0; page++) {
        const uint32_t *keys = (const uint32_t *)(const void *)part->keys.page[page];
        size_t now = left < KEYS ? left : KEYS;

        for (size_t i = 0; i < now; i++)
            ++*element(&part->counts, keys[i]);
        left -= now;
    }
}

/* Adds up the counts of all workers in a range of keys, one worker's after the other, and makes of
 * them how many keys of the range are before each. */
static void add_up(const struct plan *plan, const struct worker *worker)
{
    const struct pages *sums = &ranks[worker->number];
    size_t begin = range_begin(plan, worker->number), end = range_begin(plan, worker->number + 1);
    uint32_t before = 0;

    for (unsigned i = 0; i < plan->team->workers; i++) {
        for (size_t key = begin; key < end; key++) {
            uint32_t count = *element(&parts[i].counts, key);

            *element(sums, key - begin) = i == 0 ? count : *element(sums, key - begin) + count;
        }
    }
    for (size_t key = begin; key < end; key++) {
        uint32_t count = *element(sums, key - begin);

        *element(sums, key - begin) = before;
        before += count;
    }
    parts[worker->number].sum = before;
}

static void make_absolute(const struct plan *plan, const struct worker *worker)
{
    size_t begin = range_begin(plan, worker->number), end = range_begin(plan, worker->number + 1);
    uint32_t before = 0;

    for (unsigned i = 0; i < worker->number; i++)
        before += parts[i].sum;
    for (size_t key = begin; key < end; key++)
        *element(&ranks[worker->number], key - begin) += before;
}

static uint32_t rank_of(const struct plan *plan, uint32_t key)
{
    unsigned worker = 0;

    while (range_begin(plan, worker + 1) <= key)
        worker++;
    return *element(&ranks[worker], key - range_begin(plan, worker));
}

static void verify_probes(const struct plan *plan, uint64_t iteration)
{
    for (unsigned i = 0; i < PROBES; i++) {
        int64_t now = (int64_t)iteration;
        int64_t expected =
            class->rank[i] + (i < class->up ? now - class->late_up : class->late_down - now);

        wrong += rank_of(plan, probed[i]) != (uint64_t)expected;
        verified++;
    }
}

static void round_of(const struct plan *plan, const struct worker *worker, uint64_t number)
{
    uint64_t iteration = number + 1;

    set_key(worker, iteration, (uint32_t)iteration);
    set_key(worker, iteration + ITERATIONS,
            ((uint32_t)1 << class->log_greatest) - (uint32_t)iteration);
    probe(worker);
    count_keys(worker);
    team_gather(plan->team, worker);
    add_up(plan, worker);
    team_gather(plan->team, worker);
    make_absolute(plan, worker);
    team_gather(plan->team, worker);
    if (worker->number == 0)
        verify_probes(plan, iteration);
}

/* All keys at their ranks are sorted: the counts of the last iteration are those of the keys. */
static bool verify(const struct plan *plan, struct outcome *outcome)
{
    size_t all = (size_t)1 << class->log_keys, greatest = (size_t)1 << class->log_greatest;
    uint32_t *sorted = calloc(all, sizeof *sorted), *next = calloc(greatest, sizeof *next);
    bool right = sorted != NULL && next != NULL;

    for (uint32_t key = 0; right && key < greatest; key++)
        next[key] = rank_of(plan, key);
    for (unsigned i = 0; right && i < plan->team->workers; i++) {
        for (size_t k = 0; right && k < parts[i].end - parts[i].begin; k++) {
            uint32_t key = *element(&parts[i].keys, k);

            right = next[key] < all && sorted[next[key]] == 0;
            if (right)
                sorted[next[key]++] = key + 1;
        }
    }
    for (size_t i = 1; right && i < all; i++)
        right = sorted[i - 1] != 0 && sorted[i - 1] <= sorted[i];
    free(sorted);
    free(next);
    outcome->units = plan->rounds << class->log_keys;
    outcome->nodes = all;
    return right && wrong == 0 && verified == (plan->warm + plan->rounds) * PROBES;
}

static void print(const struct worker *worker, FILE *file)
{
    pages_print(&parts[worker->number].keys, worker, file);
    pages_print(&parts[worker->number].counts, worker, file);
    pages_print(&ranks[worker->number], worker, file);
}

const struct workload integer_sort = {
    .name = "is",
    .unit = "keys/s",
    .size = sizeof(uint32_t) << 20,
    .rounds = ITERATIONS,
    .check = check,
    .allocate = allocate,
    .round = round_of,
    .verify = verify,
    .print = print,
};
