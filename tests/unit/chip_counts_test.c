/*
 * SPDX-License-Identifier: MIT
 *
 * Small patterns on 2 to 16 cores, and the counts that each protocol must give, derived by hand. N
 * is the number of cores; cores come one after the other, each when the one before it is done. No
 * block leaves a cache unless the pattern says so.
 *
 * What one miss costs in messages (m), lookups in other cores (s) and multicasts:
 *   sparse, flask
 *     from memory     request, fetch, grant, unblock              4 m
 *     from the home   request, grant, unblock                     3 m
 *     from one core   request, ask, grant, unblock                4 m, 1 s
 *     a store, from k cores   request, one ask to all, k grants, unblock   k + 3 m, k s
 *   flask, the second core that reads the block: the directory has no entry, the filter has the
 * block request, one ask to N - 1 cores, N - 1 answers, the owner's grant, unblock   N + 3 m, N - 1
 * s flask, the second core that writes it: the owner's grant is its answer         N + 2 m, N - 1 s
 *   token
 *     one request to all, and a grant from each that has something: 1 + k m, N - 1 s, 1 multicast
 * A message to one receiver is no multicast: with N = 2 only token's requests are multicasts, for
 * they go to home and memory, too.
 */
#include "chip_fixture.h"
#include "run_suite.h"

#define X UINT64_C(0x10000)

enum { ROUNDS = 4, OWN = 4 };

struct expected {
    uint64_t accesses, l1_hits, llc_hits, memory_reads, messages, snoops, multicasts, allocations,
        reconstructions;
};

/* Each core reads OWN blocks of its own, twice. */
static void private_stream(struct chip_script *script, unsigned n)
{
    for (unsigned core = 0; core < n; core++) {
        for (unsigned i = 0; i < 2 * OWN; i++)
            chip_event(script, core, TRACE_LOAD, (1 + core) * X + i % OWN * 64);
        if (core + 1 < n)
            chip_hand_over(script, core, core + 1);
    }
}

/* All cores read one block. */
static void read_shared(struct chip_script *script, unsigned n)
{
    for (unsigned core = 0; core < n; core++) {
        chip_event(script, core, TRACE_LOAD, X);
        if (core + 1 < n)
            chip_hand_over(script, core, core + 1);
    }
}

/* Two cores store to one block in turn, ROUNDS times each. */
static void ping_pong(struct chip_script *script, unsigned n)
{
    (void)n;
    for (unsigned i = 0; i < 2 * ROUNDS; i++) {
        chip_event(script, i % 2, TRACE_STORE, X);
        chip_hand_over(script, i % 2, (i + 1) % 2);
    }
}

/* Each core loads the block and stores to it. */
static void migratory(struct chip_script *script, unsigned n)
{
    for (unsigned core = 0; core < n; core++) {
        chip_event(script, core, TRACE_LOAD, X);
        chip_event(script, core, TRACE_FENCE, 0);
        chip_event(script, core, TRACE_STORE, X);
        if (core + 1 < n)
            chip_hand_over(script, core, core + 1);
    }
}

/* Core 0 stores, all others load; twice. */
static void producer(struct chip_script *script, unsigned n)
{
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned core = 0; core < n; core++) {
            chip_event(script, core, core == 0 ? TRACE_STORE : TRACE_LOAD, X);
            chip_hand_over(script, core, (core + 1) % n);
        }
    }
}

/* With one block in each private level: core 0 loads three blocks, so that the first goes home;
 * core 1 loads that one. */
static void victim(struct chip_script *script, unsigned n)
{
    (void)n;
    for (unsigned i = 0; i < 3; i++) {
        chip_event(script, 0, TRACE_LOAD, X + i * 64);
        chip_event(script, 0, TRACE_FENCE, 0);
    }
    chip_hand_over(script, 0, 1);
    chip_event(script, 1, TRACE_LOAD, X);
}

typedef struct expected derive(uint64_t n, enum machine_protocol protocol);

static struct expected of_private_stream(uint64_t n, enum machine_protocol protocol)
{
    struct expected e = {.accesses = 2 * OWN * n, .l1_hits = OWN * n, .memory_reads = OWN * n};

    if (protocol == MACHINE_TOKEN) {
        e.messages = 2 * OWN * n;
        e.multicasts = OWN * n;
        e.snoops = OWN * n * (n - 1);
    } else {
        e.messages = 4 * OWN * n;
        e.allocations =
            protocol == MACHINE_SPARSE ? OWN * n : 0; /* flask: private blocks have none */
    }
    return e;
}

static struct expected of_read_shared(uint64_t n, enum machine_protocol protocol)
{
    struct expected e = {.accesses = n, .memory_reads = 1};

    switch (protocol) {
    case MACHINE_SPARSE: /* one from memory, n - 1 from core 0, the owner */
        e.messages = 4 * n;
        e.snoops = n - 1;
        e.allocations = 1;
        break;
    case MACHINE_TOKEN:
        e.messages = 2 * n;
        e.multicasts = n;
        e.snoops = n * (n - 1);
        break;
    case MACHINE_FLASK: /* one from memory, one reconstruction, n - 2 from core 0 */
        e.messages = 4 + (n + 3) + 4 * (n - 2);
        e.snoops = (n - 1) + (n - 2);
        e.multicasts = n > 2;
        e.allocations = 1;
        e.reconstructions = 1;
        break;
    }
    return e;
}

static struct expected of_ping_pong(uint64_t n, enum machine_protocol protocol)
{
    enum { STORES = 2 * ROUNDS };
    struct expected e = {.accesses = STORES, .memory_reads = 1};

    switch (protocol) {
    case MACHINE_SPARSE: /* one from memory, the others from the other core */
        e.messages = 4 * STORES;
        e.snoops = STORES - 1;
        e.allocations = 1;
        break;
    case MACHINE_TOKEN:
        e.messages = 2 * STORES;
        e.multicasts = STORES;
        e.snoops = STORES * (n - 1);
        break;
    case MACHINE_FLASK: /* one from memory, one reconstruction, the others from the other core */
        e.messages = 4 + (n + 2) + 4 * (STORES - 2);
        e.snoops = (n - 1) + (STORES - 2);
        e.multicasts = n > 2;
        e.allocations = 1;
        e.reconstructions = 1;
        break;
    }
    return e;
}

static struct expected of_migratory(uint64_t n, enum machine_protocol protocol)
{
    /* Core 0 gets all tokens with its load, and its store is a hit. The others get a token with the
     * load and the others', from the core before, with the store. */
    struct expected e = {.accesses = 2 * n, .l1_hits = 1, .memory_reads = 1};

    switch (protocol) {
    case MACHINE_SPARSE:
        e.messages = 4 + 8 * (n - 1);
        e.snoops = 2 * (n - 1);
        e.allocations = 1;
        break;
    case MACHINE_TOKEN:
        e.messages = 2 + 4 * (n - 1);
        e.multicasts = 1 + 2 * (n - 1);
        e.snoops = (1 + 2 * (n - 1)) * (n - 1);
        break;
    case MACHINE_FLASK: /* the load of core 1 is the reconstruction */
        e.messages = 4 + (n + 3) + 4 + 8 * (n - 2);
        e.snoops = (n - 1) + 1 + 2 * (n - 2);
        e.multicasts = n > 2;
        e.allocations = 1;
        e.reconstructions = 1;
        break;
    }
    return e;
}

static struct expected of_producer(uint64_t n, enum machine_protocol protocol)
{
    struct expected e = {.accesses = 2 * n, .memory_reads = 1};

    switch (protocol) {
    case MACHINE_SPARSE: /* the second store takes a token from each of n - 1 readers */
        e.messages = 4 + 4 * (n - 1) + (n - 1 + 3) + 4 * (n - 1);
        e.snoops = 3 * (n - 1);
        e.multicasts = n > 2;
        e.allocations = 1;
        break;
    case MACHINE_TOKEN:
        e.messages = 2 + 2 * (n - 1) + (1 + n - 1) + 2 * (n - 1);
        e.multicasts = 2 * n;
        e.snoops = 2 * n * (n - 1);
        break;
    case MACHINE_FLASK: /* the first reader's is the reconstruction */
        e.messages = 4 + (n + 3) + 4 * (n - 2) + (n - 1 + 3) + 4 * (n - 1);
        e.snoops = (n - 1) + (n - 2) + (n - 1) + (n - 1);
        e.multicasts = 2 * (n > 2);
        e.allocations = 1;
        e.reconstructions = 1;
        break;
    }
    return e;
}

static struct expected of_victim(uint64_t n, enum machine_protocol protocol)
{
    /* Three from memory, one write-back, one from the home with all tokens: flask's second case. */
    struct expected e = {.accesses = 4, .memory_reads = 3, .llc_hits = 1};

    e.messages = protocol == MACHINE_TOKEN ? 3 * 2 + 1 + 2 : 3 * 4 + 1 + 3;
    e.multicasts = protocol == MACHINE_TOKEN ? 4 : 0;
    e.snoops = protocol == MACHINE_TOKEN ? 4 * (n - 1) : 0;
    e.allocations = protocol == MACHINE_SPARSE ? 4 : 0; /* the first block's twice */
    return e;
}

static const struct {
    const char *name;
    void (*make)(struct chip_script *script, unsigned n);
    derive *derive;
} patterns[] = {
    {"private stream", private_stream, of_private_stream},
    {"read-shared", read_shared, of_read_shared},
    {"ping-pong", ping_pong, of_ping_pong},
    {"migratory", migratory, of_migratory},
    {"producer and consumers", producer, of_producer},
    {"victim", victim, of_victim},
};

static void compare(const struct cores *cores, const struct expected *expected, const char *what)
{
    const struct {
        const char *name;
        enum count count;
        uint64_t expected;
    } rows[] = {
        {"accesses", COUNT_ACCESSES, expected->accesses},
        {"l1_hits", COUNT_L1_HITS, expected->l1_hits},
        {"l2_hits", COUNT_L2_HITS, 0},
        {"llc_hits", COUNT_LLC_HITS, expected->llc_hits},
        {"memory_reads", COUNT_MEMORY_READS, expected->memory_reads},
        {"coherence_misses", COUNT_COHERENCE_MISSES,
         expected->accesses - expected->l1_hits - expected->llc_hits - expected->memory_reads},
        {"messages", COUNT_MESSAGES, expected->messages},
        {"snoops", COUNT_SNOOPS, expected->snoops},
        {"multicasts", COUNT_MULTICASTS, expected->multicasts},
        {"directory_allocations", COUNT_DIRECTORY_ALLOCATIONS, expected->allocations},
        {"directory_evictions", COUNT_DIRECTORY_EVICTIONS, 0},
        {"directory_invalidations", COUNT_DIRECTORY_INVALIDATIONS, 0},
        {"reconstructions", COUNT_RECONSTRUCTIONS, expected->reconstructions},
        {"filter_true_positives", COUNT_FILTER_TRUE_POSITIVES, expected->reconstructions},
        {"filter_false_positives", COUNT_FILTER_FALSE_POSITIVES, 0},
        {"filter_overflows", COUNT_FILTER_OVERFLOWS, 0},
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(chip_total(cores, rows[i].count) == rows[i].expected,
                      "%s, %s on %u cores: %s is %llu, derived is %llu", what,
                      cores->fabric.protocol->name, cores->fabric.machine->core.count, rows[i].name,
                      (unsigned long long)chip_total(cores, rows[i].count),
                      (unsigned long long)rows[i].expected);
}

START_TEST(a_pattern_has_the_counts_that_are_derived_by_hand)
{
    struct chip_script *script = malloc(sizeof *script);
    struct cores *cores = malloc(sizeof *cores);

    ck_assert(script != NULL && cores != NULL);
    for (unsigned n = 2; n <= 16; n++) {
        for (int protocol = MACHINE_SPARSE; protocol <= MACHINE_FLASK; protocol++) {
            struct machine machine = chip_machine((enum machine_protocol)protocol);
            struct expected expected = patterns[_i].derive(n, (enum machine_protocol)protocol);

            machine.core.count = n;
            if (patterns[_i].make == victim) {
                machine.l1.size = machine.l2.size = 64;
                machine.l1.ways = machine.l2.ways = 1;
                machine.coherence.directory = 1000; /* of so few private blocks */
            }
            memset(script, 0, sizeof *script);
            patterns[_i].make(script, n);
            chip_replay(script, &machine, cores);
            compare(cores, &expected, patterns[_i].name);
            cores_destroy(cores);
        }
    }
    free(cores);
    free(script);
}
END_TEST

enum where { IN_L1, IN_L2, IN_MEMORY };

/* Loads a block when what was before is over. */
static void bring(struct chip_script *script, uint64_t address)
{
    chip_event(script, 0, TRACE_LOAD, address);
    chip_event(script, 0, TRACE_FENCE, 0);
}

/* Replays a load of the end of one block and the beginning of the next, which are where it is said.
 * Without `load`: what came before it. */
static struct counts of_two_blocks(enum where first, enum where second, bool load)
{
    const enum where where[] = {first, second};
    struct chip_script *script = calloc(1, sizeof *script);
    struct cores *cores = malloc(sizeof *cores);
    struct machine machine = chip_machine(MACHINE_SPARSE);
    struct counts counts;

    ck_assert(script != NULL && cores != NULL);
    machine.core.count = 1;
    machine.l1.size = 128;
    machine.l1.ways = 2;
    for (unsigned i = 0; i < 2; i++)
        if (where[i] == IN_L2)
            bring(script, X + i * 64);
    for (unsigned i = 1; i <= 2; i++)
        bring(script, X + i * X);
    for (unsigned i = 0; i < 2; i++)
        if (where[i] == IN_L1)
            bring(script, X + i * 64);
    if (load)
        chip_event(script, 0, TRACE_LOAD, X + 60);
    chip_replay(script, &machine, cores);
    counts = cores->fabric.counts[0];
    cores_destroy(cores);
    free(cores);
    free(script);
    return counts;
}

START_TEST(an_access_over_two_blocks_counts_once_by_the_one_that_is_farther_away)
{
    enum where first = _i / 3, second = _i % 3, farther = first > second ? first : second;
    struct counts before = of_two_blocks(first, second, false);
    struct counts after = of_two_blocks(first, second, true);
    uint64_t latency = after.of[COUNT_LATENCY] - before.of[COUNT_LATENCY];

    ck_assert_uint_eq(after.of[COUNT_ACCESSES], before.of[COUNT_ACCESSES] + 1);
    ck_assert_uint_eq(after.of[COUNT_L1_HITS], farther == IN_L1);
    ck_assert_uint_eq(after.of[COUNT_L2_HITS], farther == IN_L2);
    if (farther == IN_MEMORY)
        ck_assert_uint_ge(latency, 240);
    else
        ck_assert_uint_eq(latency, farther == IN_L1 ? 1 : 1 + 2);
    ck_assert_uint_eq(after.of[COUNT_MEMORY_READS] - before.of[COUNT_MEMORY_READS],
                      (first == IN_MEMORY) + (second == IN_MEMORY));
}
END_TEST

/* Where an access over two blocks misses both, the first one counts. */
START_TEST(an_access_over_two_blocks_is_one_coherence_miss)
{
    struct chip_script *script = calloc(1, sizeof *script);
    struct cores *cores = malloc(sizeof *cores);
    struct machine machine = chip_machine(MACHINE_SPARSE);
    bool first = _i != 1, second = _i != 0; /* of the two blocks is in the other core */

    ck_assert(script != NULL && cores != NULL);
    if (first)
        chip_event(script, 0, TRACE_STORE, X);
    if (second)
        chip_event(script, 0, TRACE_STORE, X + 64);
    chip_hand_over(script, 0, 1);
    chip_event(script, 1, TRACE_LOAD, X + 60);
    chip_replay(script, &machine, cores);
    ck_assert_uint_eq(cores->fabric.counts[1].of[COUNT_COHERENCE_MISSES], first);
    ck_assert_uint_eq(cores->fabric.counts[1].of[COUNT_MEMORY_READS], !first + !second);
    cores_destroy(cores);
    free(cores);
    free(script);
}
END_TEST

/* Cores with caches of two blocks fight for some; requests of token are made again at once, so that
 * a miss gets data more than once. */
START_TEST(no_miss_counts_twice_when_it_gets_data_twice)
{
    struct chip_script *script = calloc(1, sizeof *script);
    struct cores *cores = malloc(sizeof *cores);
    struct machine machine = chip_machine((enum machine_protocol)_i);
    uint32_t random = 1;

    ck_assert(script != NULL && cores != NULL);
    machine.l1.size = machine.l2.size = 128;
    machine.l1.ways = machine.l2.ways = 2;
    machine.llc.latency = 200;
    machine.token.timeout = 10;
    machine.token.retries = 100;
    for (unsigned i = 0; i < 16 * 200; i++) {
        random = random * 1664525 + 1013904223;
        chip_event(script, i % 16, (random >> 30) != 0 ? TRACE_STORE : TRACE_LOAD,
                   X + (random >> 16) % 8 * 64);
    }
    chip_replay(script, &machine, cores);
    for (unsigned core = 0; core < 16; core++) {
        const uint64_t *of = cores->fabric.counts[core].of;

        ck_assert_uint_eq(of[COUNT_ACCESSES], 200);
        ck_assert_uint_le(of[COUNT_L1_HITS] + of[COUNT_L2_HITS] + of[COUNT_LLC_HITS] +
                              of[COUNT_COHERENCE_MISSES],
                          200);
    }
    cores_destroy(cores);
    free(cores);
    free(script);
}
END_TEST

/* One core on the tile of home and controller, with no way on the network: 1 cycle of injection at
 * request and unblock come from "a message a cycle", the rest are the machine's. */
START_TEST(a_miss_takes_the_sum_of_its_parts)
{
    struct chip_script *script = calloc(1, sizeof *script);
    struct cores *cores = malloc(sizeof *cores);
    struct machine machine = chip_machine(MACHINE_SPARSE);

    ck_assert(script != NULL && cores != NULL);
    machine.core.count = 1;
    chip_event(script, 0, TRACE_LOAD, 0); /* bank 0 and controller 0 stand on tile 0, too */
    chip_replay(script, &machine, cores);
    /*
     * 1 + 2 cycles to miss in both levels; a router to the home, 1; its lookup, 6; a router to the
     * controller, 1; memory, 240; a router back, 1, and 4 more flits behind the first of 5.
     */
    ck_assert_uint_eq(chip_total(cores, COUNT_LATENCY), 1 + 2 + 1 + 6 + 1 + 240 + 1 + 4);
    ck_assert_uint_eq(chip_total(cores, COUNT_FLIT_HOPS), 0);
    cores_destroy(cores);
    free(cores);
    free(script);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_counts");
    TCase *tests = tcase_create("chip_counts");

    tcase_add_loop_test(tests, a_pattern_has_the_counts_that_are_derived_by_hand, 0,
                        sizeof patterns / sizeof patterns[0]);
    tcase_add_loop_test(
        tests, an_access_over_two_blocks_counts_once_by_the_one_that_is_farther_away, 0, 9);
    tcase_add_loop_test(tests, an_access_over_two_blocks_is_one_coherence_miss, 0, 3);
    tcase_add_loop_test(tests, no_miss_counts_twice_when_it_gets_data_twice, MACHINE_SPARSE,
                        MACHINE_FLASK + 1);
    tcase_add_test(tests, a_miss_takes_the_sum_of_its_parts);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
