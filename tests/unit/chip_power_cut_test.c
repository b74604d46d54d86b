/*
 * SPDX-License-Identifier: MIT
 *
 * Power cuts in random cycles of random transactional programs: none has a finding in any protocol,
 * and with one rule taken out, one of 10,000 has. Threads lock what they access (two-phase locking
 * of groups of blocks), so that later transactions, of other threads too, read and overwrite what
 * is committed and not durable. Messages of some runs take random times. Some transactions abort,
 * some are followed by a flush; the caches of some machines hold a few blocks.
 *
 * CHIP_POWER_CUTS are the cuts for each protocol; by hand
 * `CHIP_POWER_CUTS=1000000 CK_FORK=no CK_DEFAULT_TIMEOUT=0 build/tests/chip_power_cut_test`.
 * CHIP_POWER_CUT_SEED is the first run's seed (1), and CHIP_POWER_CUT_PROTOCOL, a place in the list
 * `protocols` from 0, has that one alone.
 */
#include "chip_fixture.h"
#include "run_suite.h"

#include "chip/persistence/power_cut.h"
#include "chip/persistence/protocol.h"

enum { CORES_MOST = 4, GROUP = 8, BLOCKS_MOST = 64, CUTS_OF_A_RUN = 1000, QUEUE = 64 };

struct random {
    uint64_t state;
};

static uint32_t draw(struct random *random, uint32_t below)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return (uint32_t)((random->state >> 20) % below);
}

/* What a run's programs are like. */
struct shape {
    uint32_t threads, transactions, blocks, accesses, stores, aborts, flushes, pause;
};

struct thread_program {
    struct shape shape;
    struct random random;
    struct trace_event queue[QUEUE];
    uint32_t queued, at, left;
};

static struct trace_event *add(struct thread_program *program, enum trace_kind kind,
                               uint64_t address)
{
    struct trace_event *event = &program->queue[program->queued++];

    ck_assert_uint_le(program->queued, QUEUE);
    *event = (struct trace_event){.kind = (uint8_t)kind,
                                  .address = address,
                                  .size = kind <= TRACE_NT_STORE ? 8 : 0,
                                  .instructions = 1 + draw(&program->random, program->shape.pause)};
    return event;
}

static void add_lock(struct thread_program *program, uint32_t group, bool acquire)
{
    add(program, acquire ? TRACE_ACQUIRE : TRACE_RELEASE, 64 + group);
}

/* One transaction, on the blocks of one or two groups. */
static void add_transaction(struct thread_program *program)
{
    struct random *random = &program->random;
    uint32_t groups = program->shape.blocks / GROUP, first = draw(random, groups);
    uint32_t second = draw(random, 3) == 0 ? draw(random, groups) : first;
    uint32_t accesses = 1 + draw(random, program->shape.accesses);

    add_lock(program, first < second ? first : second, true);
    if (first != second)
        add_lock(program, first < second ? second : first, true);
    add(program, TRACE_MARK, 0)->what = TRACE_TX_BEGIN;
    for (uint32_t i = 0; i < accesses; i++) {
        uint32_t group = draw(random, 2) == 0 ? first : second;
        uint64_t block = group * GROUP + draw(random, GROUP);

        add(program, draw(random, 100) < program->shape.stores ? TRACE_STORE : TRACE_LOAD,
            0x100000 + block * 64);
    }
    add(program, TRACE_MARK, 0)->what =
        draw(random, 100) < program->shape.aborts ? TRACE_TX_ABORT : TRACE_TX_COMMIT;
    if (first != second)
        add_lock(program, second, false);
    add_lock(program, first, false);
    if (draw(random, 100) < program->shape.flushes)
        add(program, TRACE_FLUSH, 0x100000);
}

static enum trace_status next(void *self, struct trace_event *event)
{
    struct thread_program *program = self;

    if (program->at == program->queued) {
        if (program->left-- == 0)
            return TRACE_END;
        program->at = 0;
        program->queued = 0;
        add_transaction(program);
    }
    *event = program->queue[program->at++];
    return TRACE_EVENT;
}

static void set(struct machine *machine, const char *key, uint32_t value)
{
    char text[16], problem[256];

    snprintf(text, sizeof text, "%u", value);
    ck_assert_msg(machine_set(machine, key, text, problem, sizeof problem), "%s", problem);
}

static uint32_t one_of(struct random *random, const uint32_t *values, uint32_t count)
{
    return values[draw(random, count)];
}

static struct machine random_machine(struct random *random, const char *protocol)
{
    static const uint32_t latencies[] = {35, 95, 168, 1000}, banks[] = {1, 2, 4, 8},
                          windows[] = {2, 3, 4, 8, 16, 32}, last_levels[] = {512, 2048, 1 << 18};
    static const char *const flushes[] = {"paper", "keep", "evict"};
    struct machine machine;
    char problem[256];

    machine_defaults(&machine);
    ck_assert(machine_read(&machine, CHIP_MACHINES "/loc.machine", problem, sizeof problem));
    ck_assert(machine_set(&machine, "persistence.protocol", protocol, problem, sizeof problem));
    set(&machine, "memory.latency", one_of(random, latencies, 4));
    set(&machine, "memory.controllers", one_of(random, banks, 4));
    set(&machine, "persistence.speculation", one_of(random, windows, 6));
    set(&machine, "l1.size", 128);
    set(&machine, "l2.size", 256);
    set(&machine, "l2.ways", 2);
    set(&machine, "llc.size", one_of(random, last_levels, 3));
    set(&machine, "llc.ways", 4);
    set(&machine, "llc.banks", machine.llc.size < 2048 || draw(random, 2) == 0 ? 1 : 4);
    if (draw(random, 3) == 0)
        set(&machine, "persistence.log", 8192);
    ck_assert(machine_set(&machine, "persistence.flush", flushes[draw(random, 3)], problem,
                          sizeof problem));
    if (draw(random, 3) == 0)
        ck_assert(machine_set(&machine, "persistence.order", "home", problem, sizeof problem));
    if (draw(random, 4) == 0)
        ck_assert(machine_set(&machine, "persistence.logging", "commit", problem, sizeof problem));
    if (draw(random, 4) == 0)
        ck_assert(machine_set(&machine, "memory.model", "dram", problem, sizeof problem));
    if (draw(random, 4) == 0)
        ck_assert(machine_set(&machine, "coherence.protocol", "flask", problem, sizeof problem));
    ck_assert_msg(machine_check(&machine, problem, sizeof problem), "%s", problem);
    return machine;
}

static struct shape random_shape(struct random *random)
{
    static const uint32_t blocks[] = {8, 16, BLOCKS_MOST};

    return (struct shape){
        .threads = 1 + draw(random, CORES_MOST),
        .transactions = 20 + draw(random, 200),
        .blocks = one_of(random, blocks, 3),
        .accesses = 1 + draw(random, 24),
        .stores = 30 + draw(random, 70),
        .aborts = draw(random, 2) * draw(random, 30),
        .flushes = draw(random, 3) * draw(random, 20),
        .pause = 1 + draw(random, 200),
    };
}

/* One run, and cuts in it. */
static void run(const char *protocol, uint64_t seed, uint64_t cuts, enum persistence_mutant mutant,
                struct power_cuts *result)
{
    struct random random = {seed * 0x9e3779b97f4a7c15u + 1};
    struct machine machine = random_machine(&random, protocol);
    struct shape shape = random_shape(&random);
    struct thread_program *programs = calloc(CORES_MOST, sizeof *programs);
    struct source sources[CORES_MOST];
    struct cores *cores = calloc(1, sizeof *cores);

    ck_assert(programs != NULL && cores != NULL);
    for (uint32_t i = 0; i < shape.threads; i++) {
        programs[i].shape = shape;
        programs[i].random.state = random.state + i + 1;
        programs[i].left = shape.transactions;
        sources[i] = (struct source){.next = next, .self = &programs[i], .thread = i};
    }
    ck_assert(cores_init(cores, &machine, sources, shape.threads, true));
    persistence_record(cores->persistence);
    cores->persistence->mutant = mutant;
    cores->fabric.jitter = draw(&random, 2) * (1 + draw(&random, 600));
    cores->fabric.seed = seed;
    while (cores_run(cores, 1u << 30))
        ;
    ck_assert_msg(check_finding(cores->fabric.check) == NULL, "%s",
                  check_finding(cores->fabric.check));
    ck_assert_uint_eq(cores->running, 0);
    ck_assert_uint_eq(persistence_overlaps(cores->persistence), 0);
    power_cuts_run(cores->persistence, cuts, seed, result);
    cores_destroy(cores);
    free(cores);
    free(programs);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static const char *const protocols[] = {"s-wal", "h-wal", "ec-wal", "loc-wal", "kiln", "loc-kiln"};

START_TEST(a_power_cut_leaves_what_was_committed)
{
    uint64_t cuts = setting("CHIP_POWER_CUTS", 20000), seed = setting("CHIP_POWER_CUT_SEED", 1);
    struct power_cuts result = {0};

    if (setting("CHIP_POWER_CUT_PROTOCOL", (uint64_t)_i) != (uint64_t)_i)
        return;
    for (; result.cuts < cuts; seed++) {
        run(protocols[_i], seed, CUTS_OF_A_RUN, PERSISTENCE_MUTANT_NONE, &result);
        ck_assert_msg(result.findings == 0, "%s, seed %u: %s", protocols[_i], (unsigned)seed,
                      result.first);
    }
}
END_TEST

/* T1 of the first thread writes a block that T2 of the second one reads; only T2's own block is
 * home when the power is cut. Each thread alone has a state that it was in. */
START_TEST(a_transaction_whose_data_came_from_a_lost_one_is_a_finding)
{
    enum { READ, WRITTEN, BLOCKS };
    static const bool first_is_home[] = {false, true};
    struct machine machine;
    struct record home[BLOCKS];
    struct timeline timeline = {.records = home};
    struct persistence persistence = {.machine = &machine, .timeline = &timeline};
    struct power_cuts result = {0};
    struct history *history = history_new(2);
    struct history_tx *txs[BLOCKS];

    machine_defaults(&machine);
    persistence.history = history;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t block = history_block(history, 0x100 + i);

        txs[i] = history_begin(history, i);
        if (i == WRITTEN)
            history_access(history, txs[i], READ);
        history_access(history, txs[i], block);
        history_write(history, txs[i], block, 1 + i);
        history_commit(history, txs[i], 0);
    }
    if (first_is_home[_i])
        home[timeline.count++] = (struct record){.kind = RECORD_HOME, .address = 0x100, .data = 1};
    home[timeline.count++] = (struct record){.kind = RECORD_HOME, .address = 0x101, .data = 2};
    power_cuts_run(&persistence, 1, 1, &result);
    ck_assert_uint_eq(result.findings, first_is_home[_i] ? 0 : 1);
    history_free(history);
}
END_TEST

/* A rule, and the protocols that have it. */
static const struct {
    enum persistence_mutant mutant;
    const char *name;
    const char *protocols[4];
} rules[] = {
    {PERSISTENCE_MUTANT_LOG_FENCE, "the record waits for the log", {"s-wal", "h-wal"}},
    {PERSISTENCE_MUTANT_RECORD_FENCE,
     "the acknowledgement waits for the record",
     {"s-wal", "h-wal"}},
    {PERSISTENCE_MUTANT_HOME_FENCE, "home writes wait for the record", {"s-wal", "h-wal"}},
    {PERSISTENCE_MUTANT_TRUNCATE_EARLY,
     "the head waits for home writes",
     {"s-wal", "h-wal", "loc-wal"}},
    {PERSISTENCE_MUTANT_TRUNCATE_ORDER, "the head passes in order", {"loc-wal"}},
    {PERSISTENCE_MUTANT_COUNT, "the count", {"ec-wal", "loc-wal"}},
    {PERSISTENCE_MUTANT_PAIRS, "dependency pairs", {"loc-wal"}},
    {PERSISTENCE_MUTANT_PAIR_IGNORED, "a pair counts with its Ty", {"loc-wal"}},
    {PERSISTENCE_MUTANT_PAIR_PREFIX, "a pair needs a committed Ty", {"loc-wal"}},
    {PERSISTENCE_MUTANT_IN_ORDER, "in-order commit", {"loc-wal"}},
    {PERSISTENCE_MUTANT_TX_DIRTY, "TxDirty", {"h-wal", "ec-wal", "loc-wal"}},
    {PERSISTENCE_MUTANT_DURABLE, "home writes wait for the window", {"loc-wal"}},
    {PERSISTENCE_MUTANT_RESCUE, "an abort writes what it uncovers", {"loc-wal", "loc-kiln"}},
    {PERSISTENCE_MUTANT_VERSIONS, "several versions of a block", {"loc-wal"}},
    {PERSISTENCE_MUTANT_FLIP, "the state flips after the flush", {"kiln", "loc-kiln"}},
    {PERSISTENCE_MUTANT_BANK_OUT, "a bank keeps a block until it is home", {"kiln", "loc-kiln"}},
    {PERSISTENCE_MUTANT_OVERFLOW, "a version without a way is written", {"loc-wal"}},
};

START_TEST(a_rule_taken_out_is_found_within_10000_cuts)
{
    if (getenv("CHIP_POWER_CUT_PROTOCOL") != NULL)
        return;
    for (unsigned i = 0; rules[_i].protocols[i] != NULL; i++) {
        struct power_cuts result = {0};

        for (uint64_t seed = 1; result.cuts < 10000 && result.findings == 0; seed++)
            run(rules[_i].protocols[i], seed, 100, rules[_i].mutant, &result);
        ck_assert_msg(result.findings > 0, "without the rule '%s' of %s nothing is found",
                      rules[_i].name, rules[_i].protocols[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_power_cut");
    TCase *tests = tcase_create("chip_power_cut");

    tcase_add_loop_test(tests, a_power_cut_leaves_what_was_committed, 0,
                        sizeof protocols / sizeof protocols[0]);
    tcase_add_loop_test(tests, a_transaction_whose_data_came_from_a_lost_one_is_a_finding, 0, 2);
    tcase_add_loop_test(tests, a_rule_taken_out_is_found_within_10000_cuts, 0,
                        sizeof rules / sizeof rules[0]);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
