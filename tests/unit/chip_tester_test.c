/*
 * SPDX-License-Identifier: MIT
 *
 * The random tester: 16 cores with caches of a few blocks fight for a few addresses, messages take
 * random times, and the checker looks at each event. It finds nothing in any protocol, and
 * something in each protocol with one rule taken out.
 *
 * CHIP_TESTER_ACCESSES is for all cores together and each protocol; by hand
 * `CHIP_TESTER_ACCESSES=100000000 CK_FORK=no CK_DEFAULT_TIMEOUT=0 build/tests/chip_tester_test`.
 * CHIP_TESTER_PROTOCOL, a place in the list `protocols` from 0, runs that one alone, and
 * CHIP_TESTER_SEED is the first of its two seeds (1).
 */
#include "chip/coherence/check.h"
#include "chip/cores/core.h"

#include "run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { CORES = 16, BLOCKS = 40, JITTER = 25, STUCK = 1000000 };

struct random_thread {
    uint64_t state, left;
};

static enum trace_status next(void *self, struct trace_event *event)
{
    struct random_thread *thread = self;
    uint64_t random;

    if (thread->left-- == 0)
        return TRACE_END;
    thread->state ^= thread->state << 13;
    thread->state ^= thread->state >> 7;
    thread->state ^= thread->state << 17;
    random = thread->state;
    *event = (struct trace_event){
        .kind = (random >> 40) % 100 < 30 ? TRACE_STORE : TRACE_LOAD,
        .address = random % BLOCKS * 64,
        .size = 8,
        .instructions = 1 + (uint32_t)(random >> 50) % 4,
        .dependent = (random >> 60) % 2 != 0,
    };
    return TRACE_EVENT;
}

/* Machines on which blocks leave all levels, directories and filters all the time. */
static struct machine tiny(const char *const *settings)
{
    static const char *const common[] = {
        "l1.size",  "128",     "l1.ways",   "2",        "l2.size",
        "256",      "l2.ways", "2",         "llc.size", "1024",
        "llc.ways", "2",       "llc.banks", "2",        "coherence.directory",
        "30",       NULL};
    struct machine machine;
    char problem[256];

    machine_defaults(&machine);
    for (unsigned i = 0; common[i] != NULL; i += 2)
        ck_assert(machine_set(&machine, common[i], common[i + 1], problem, sizeof problem));
    for (unsigned i = 0; settings[i] != NULL; i += 2)
        ck_assert_msg(machine_set(&machine, settings[i], settings[i + 1], problem, sizeof problem),
                      "%s", problem);
    ck_assert_msg(machine_check(&machine, problem, sizeof problem), "%s", problem);
    return machine;
}

/* "" or what was found. */
static void run(const struct machine *machine, uint64_t accesses, uint64_t seed, enum mutant mutant,
                char *finding, size_t length)
{
    struct random_thread threads[CORES];
    struct source sources[CORES];
    struct cores *cores = calloc(1, sizeof *cores);
    uint64_t before;

    for (unsigned i = 0; i < CORES; i++) {
        threads[i] = (struct random_thread){(seed * CORES + i + 1) * 0x9e3779b97f4a7c15ull,
                                            accesses / CORES};
        sources[i] = (struct source){.next = next, .self = &threads[i], .thread = i};
    }
    ck_assert_ptr_nonnull(cores);
    ck_assert(cores_init(cores, machine, sources, CORES, true));
    cores->fabric.jitter = JITTER;
    cores->fabric.seed = seed;
    cores->fabric.mutant = mutant;
    finding[0] = '\0';
    do
        before = cores->fabric.queue.now;
    while (cores_run(cores, 1000) && cores->fabric.queue.now - before < STUCK);
    if (check_finding(cores->fabric.check) != NULL)
        snprintf(finding, length, "%s", check_finding(cores->fabric.check));
    else if (cores->running > 0)
        snprintf(finding, length, "%u threads are stuck", cores->running);
    cores_destroy(cores);
    free(cores);
}

static const char *const protocols[][7] = {
    {"coherence.protocol", "sparse"},
    {"coherence.protocol", "token"},
    {"coherence.protocol", "flask", "filter.kind", "dleft"},
    {"coherence.protocol", "flask", "filter.kind", "cbf", "filter.counter_bits", "2"},
    {"coherence.protocol", "flask", "coherence.partition", "adaptive", "coherence.epoch", "64"},
    {"coherence.protocol", "sparse", "l2.policy", "inclusive"},
    {"coherence.protocol", "token", "l2.policy", "inclusive"},
    {"coherence.protocol", "flask", "l2.policy", "inclusive"},
    {"coherence.protocol", "flask", "filter.remainder_bits", "9", "filter.counter_bits", "3"},
    {"coherence.protocol", "sparse", "memory.model", "dram", "memory.ports", "3"},
    {"coherence.protocol", "token", "memory.model", "dram", "memory.ports", "3"},
    {"coherence.protocol", "flask", "memory.model", "dram", "memory.queue", "1"},
};

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(random_accesses_have_no_finding)
{
    uint64_t accesses = setting("CHIP_TESTER_ACCESSES", 120000);
    uint64_t first = setting("CHIP_TESTER_SEED", 1);
    struct machine machine = tiny(protocols[_i]);
    char finding[256];

    if (setting("CHIP_TESTER_PROTOCOL", (uint64_t)_i) != (uint64_t)_i)
        return;
    for (uint64_t seed = first; seed <= first + 1; seed++) {
        run(&machine, accesses / 2, seed, MUTANT_NONE, finding, sizeof finding);
        ck_assert_msg(finding[0] == '\0', "seed %u: %s", (unsigned)seed, finding);
    }
}
END_TEST

/* A rule, and the protocols that have it, as places in the list above. */
static const struct {
    enum mutant mutant;
    const char *name;
    int protocols[4];
} rules[] = {
    {MUTANT_TOKEN_LOST, "token lost", {0, 1, 2, -1}},
    {MUTANT_ACK_NOT_AWAITED, "acknowledgement not awaited", {0, 1, 2, -1}},
    {MUTANT_COPY_KEPT, "copy kept", {0, 2, -1}},
    {MUTANT_DIRTY_DATA_DROPPED, "dirty data dropped", {0, 1, 2, -1}},
    {MUTANT_DATA_LEFT_BEHIND, "data left behind", {1, -1}},
    {MUTANT_FILTER_FALSE_NEGATIVE, "false negative of the filter", {2, 3, -1}},
    {MUTANT_FILTER_REMOVED_EARLY, "block removed early from the filter", {2, 3, -1}},
    {MUTANT_SNOOPS_NOT_AWAITED, "answers of cores not awaited", {2, 3, -1}},
    {MUTANT_UNBLOCK_EARLY, "unblock not awaited", {0, 2, -1}},
    {MUTANT_PUT_NOT_FORWARDED, "write-back not forwarded", {0, 2, -1}},
    {MUTANT_RECALL_SKIPPED, "recall skipped", {0, 2, -1}},
    {MUTANT_EVICTION_SILENT, "entry evicted silently", {0, -1}},
    {MUTANT_SHARER_FORGOTTEN, "sharer forgotten", {0, 2, -1}},
    {MUTANT_STARVED, "starving request not fed", {1, -1}},
};

_Static_assert(sizeof rules / sizeof rules[0] == MUTANTS - 1, "each rule is in the list");

START_TEST(a_rule_taken_out_is_found)
{
    char finding[256];

    if (getenv("CHIP_TESTER_PROTOCOL") != NULL)
        return;
    for (unsigned i = 0; rules[_i].protocols[i] >= 0; i++) {
        struct machine machine = tiny(protocols[rules[_i].protocols[i]]);

        run(&machine, 60000, 1, rules[_i].mutant, finding, sizeof finding);
        ck_assert_msg(finding[0] != '\0', "%s: nothing found in protocol %d", rules[_i].name,
                      rules[_i].protocols[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_tester");
    TCase *tests = tcase_create("chip_tester");

    tcase_add_loop_test(tests, random_accesses_have_no_finding, 0,
                        sizeof protocols / sizeof protocols[0]);
    tcase_add_loop_test(tests, a_rule_taken_out_is_found, 0, sizeof rules / sizeof rules[0]);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
