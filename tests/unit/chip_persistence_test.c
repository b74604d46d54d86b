/*
 * SPDX-License-Identifier: MIT
 *
 * The writes of small programs to the log and home, derived by hand for each protocol, on the
 * machine loc. Letters are blocks; nothing leaves a cache unless the test says so.
 *
 * What a protocol writes, for transactions of n blocks each:
 *   none     each block once, when all is over
 *   s-wal    n to the log, and n home; a line of tags for seven, and the commit record twice
 *   kiln     n to the banks, which are its log; home what no later transaction overwrote
 *   h-wal    n to the log, and n home; a group has 7 blocks and their tags, and there are a commit
 *            record and a head of the log a transaction
 *   ec-wal   n to the log, without a record; home only what no later transaction overwrote
 *   loc-wal  of a window's transactions only the newest version of a block, which is what goes
 *            home; four dependency pairs to a block
 */
#include "chip_fixture.h"
#include "run_suite.h"

#include "base/random.h"
#include "chip/persistence/regions.h"

#define BLOCK(letter) (UINT64_C(0x10000) + ((uint64_t)(letter) - 'A') * 64)

static void mark(struct chip_script *script, unsigned thread, enum trace_mark what)
{
    chip_event(script, thread, TRACE_MARK, 0)->what = (uint8_t)what;
}

/* Transactions of a thread: letters are stores, ',' commits, '!' aborts, '.' flushes after it. */
static void program(struct chip_script *script, unsigned thread, const char *text)
{
    bool open = false;

    for (; *text != '\0'; text++) {
        if (*text == '.') {
            chip_event(script, thread, TRACE_FLUSH, BLOCK('A'));
            continue;
        }
        if (!open)
            mark(script, thread, TRACE_TX_BEGIN);
        open = *text != ',' && *text != '!';
        if (open)
            chip_event(script, thread, TRACE_STORE, BLOCK(*text));
        else
            mark(script, thread, *text == ',' ? TRACE_TX_COMMIT : TRACE_TX_ABORT);
    }
}

static void set(struct machine *machine, const char *key, const char *value)
{
    char problem[256];

    ck_assert_msg(machine_set(machine, key, value, problem, sizeof problem), "%s", problem);
}

static struct machine machine_of(const char *protocol, const char *speculation)
{
    struct machine machine;
    char problem[256];

    machine_defaults(&machine);
    ck_assert(machine_read(&machine, CHIP_MACHINES "/loc.machine", problem, sizeof problem));
    if (strcmp(protocol, "loc-wal commit") == 0) {
        set(&machine, "persistence.logging", "commit");
        protocol = "loc-wal";
    }
    set(&machine, "persistence.protocol", protocol);
    set(&machine, "persistence.speculation", speculation);
    ck_assert(machine_check(&machine, problem, sizeof problem));
    return machine;
}

static void expect_counts(const struct machine *machine, struct chip_script *script,
                          const struct persistence_counts *expected)
{
    struct cores *cores = calloc(1, sizeof *cores);
    const struct persistence_counts *got;

    ck_assert_ptr_nonnull(cores);
    chip_replay(script, machine, cores);
    got = persistence_counts(cores->persistence);
    ck_assert_uint_eq(got->transactions, expected->transactions);
    ck_assert_uint_eq(got->log_writes, expected->log_writes);
    ck_assert_uint_eq(got->home_writes, expected->home_writes);
    ck_assert_uint_eq(got->forced_evictions, expected->forced_evictions);
    ck_assert_uint_eq(got->version_overflows, expected->version_overflows);
    ck_assert_uint_eq(got->coalesced_writes, expected->coalesced_writes);
    ck_assert_uint_eq(got->log_bytes, 64 * expected->log_bytes);
    cores_destroy(cores);
    free(cores);
    free(script);
}

/* A program of one thread, and what is counted, in the order of struct persistence_counts;
 * log_bytes in blocks. A head can be on its way for what several transactions finish meanwhile. */
static const struct {
    const char *protocol, *speculation, *program;
    struct persistence_counts counts;
} programs[] = {
    /* A block, stored to four times: block, tags, record (twice), head */
    {"none", "16", "AAAA,", {1, 0, 1, 0, 0, 0, 0}},
    {"s-wal", "16", "AAAA,", {1, 1, 1, 0, 0, 0, 4}},
    {"h-wal", "16", "AAAA,", {1, 1, 1, 0, 0, 0, 4}},
    {"ec-wal", "16", "AAAA,", {1, 1, 1, 0, 0, 0, 3}},
    {"loc-wal", "16", "AAAA,", {1, 1, 1, 0, 0, 0, 3}},
    {"kiln", "16", "AAAA,", {1, 1, 1, 0, 0, 0, 0}},
    {"loc-kiln", "16", "AAAA,", {1, 1, 1, 0, 0, 0, 0}},
    /* Four that have no block in common. All are taken home together: a head for the first, and one
     * for the others. */
    {"none", "16", "A,B,C,D,", {4, 0, 4, 0, 0, 0, 0}},
    {"s-wal", "16", "A,B,C,D,", {4, 4, 4, 0, 0, 0, 4 * 4}},
    {"h-wal", "16", "A,B,C,D,", {4, 4, 4, 0, 0, 0, 4 * 4}},
    {"ec-wal", "16", "A,B,C,D,", {4, 4, 4, 0, 0, 0, 4 * 2 + 2}},
    {"loc-wal", "4", "A,B,C,D,", {4, 4, 4, 0, 0, 0, 4 + 1 + 2}},
    {"kiln", "16", "A,B,C,D,", {4, 4, 4, 0, 0, 0, 0}},
    {"loc-kiln", "4", "A,B,C,D,", {4, 4, 4, 0, 0, 0, 0}},
    /* The second aborts: loc-wal writes the first one's B then, and A and C in the end. */
    {"none", "16", "AB,BC!C,", {2, 0, 3, 0, 0, 0, 0}},
    {"s-wal", "16", "AB,BC!C,", {2, 3, 3, 0, 0, 0, 5 + 4}},
    {"h-wal", "16", "AB,BC!C,", {2, 3, 3, 0, 0, 0, 5 + 4}},
    {"ec-wal", "16", "AB,BC!C,", {2, 3, 3, 0, 0, 0, 3 + 2 + 2}},
    {"loc-wal", "4", "AB,BC!C,", {2, 3, 3, 0, 0, 0, 2 + 3 + 2}},
    {"kiln", "16", "AB,BC!C,", {2, 3, 3, 0, 0, 0, 0}},
    {"loc-kiln", "4", "AB,BC!C,", {2, 3, 3, 0, 0, 0, 0}},
    /* A flush ends the window: nothing is coalesced, and T1 is over with T2. */
    {"loc-wal", "4", "A,.A,", {2, 2, 1, 0, 0, 0, 2 + 2 + 2}},
    {"loc-wal", "4", "A,A,", {2, 1, 1, 0, 0, 1, 2 + 1 + 2}},
    /* Each logs its own block when it commits, and the flush finds nothing to wait for. */
    {"loc-wal commit", "4", "A,A,.", {2, 2, 1, 0, 0, 0, 2 + 2 + 2}},
    /* 4 blocks of T1 and their tags, 2 of T2, 3 of T3; heads as below */
    {"loc-wal commit", "4", "ABCD,AE,BCD,", {3, 9, 5, 0, 0, 0, 5 + 3 + 4 + 3}},
    {"none", "16", "ABCD,AE,BCD,", {3, 0, 5, 0, 0, 0, 0}},
    /* 4 copies + tags + record + its end, 2 + 3, 3 + 3 */
    {"s-wal", "16", "ABCD,AE,BCD,", {3, 9, 9, 0, 0, 0, 7 + 5 + 6}},
    /* 4 + 1 tags + record + head, 2 + 3, 3 + 3 */
    {"h-wal", "16", "ABCD,AE,BCD,", {3, 9, 9, 0, 0, 0, 7 + 5 + 6}},
    /* 4 + 1, 2 + 1, 3 + 1; T3 leaves T1 nothing to take home: a head; then T2's, then T3's */
    {"ec-wal", "16", "ABCD,AE,BCD,", {3, 9, 5, 0, 0, 0, 5 + 3 + 4 + 3}},
    /* The paper's Figure 3: all of T1 has later versions, A in T2 and B, C, D in T3. A E B C D, the
     * tags, <T1, T2, 1> and <T1, T3, 3>; heads as above. */
    {"loc-wal", "4", "ABCD,AE,BCD,", {3, 5, 5, 0, 0, 4, 5 + 1 + 1 + 3}},
    /* T1 and T2 fill a window, of which T2 has the newest A: B, C, D, A, E, tags, <T1, T2, 1>. Then
     * T3: three blocks and tags; T1 is over with it. */
    {"loc-wal", "2", "ABCD,AE,BCD,", {3, 8, 5, 0, 0, 1, 5 + 1 + 1 + 3 + 1 + 3}},
    {"kiln", "16", "ABCD,AE,BCD,", {3, 9, 5, 0, 0, 0, 0}},
    {"loc-kiln", "4", "ABCD,AE,BCD,", {3, 5, 5, 0, 0, 4, 0}},
    {"loc-kiln", "2", "ABCD,AE,BCD,", {3, 8, 5, 0, 0, 1, 0}},
};

START_TEST(the_writes_of_a_small_program_are_those_derived_by_hand)
{
    struct machine machine = machine_of(programs[_i].protocol, programs[_i].speculation);
    struct chip_script *script = calloc(1, sizeof *script);

    ck_assert_ptr_nonnull(script);
    program(script, 0, programs[_i].program);
    expect_counts(&machine, script, &programs[_i].counts);
}
END_TEST

/* T2 stores to the five blocks of T1 in one set of four ways: the fifth version of T1 has no way,
 * and the oldest, A, goes to the log. B to E are coalesced: a pair, which carries TxCnt. */
START_TEST(a_version_without_a_way_goes_to_the_log)
{
    static const struct persistence_counts expected = {2, 6, 5, 0, 1, 4, 2 + 6 + 1 + 2};
    struct machine machine = machine_of("loc-wal", "4");
    struct chip_script *script = calloc(1, sizeof *script);

    machine.llc.size = 256;
    machine.llc.ways = 4;
    ck_assert_ptr_nonnull(script);
    program(script, 0, "ABCDE,ABCDE,");
    expect_counts(&machine, script, &expected);
}
END_TEST

/* Blocks that are read from memory for "A,A,", and from the last level. What stays in the caches is
 * read once: A, and of s-wal its copy, the line of tags and the commit record. */
static const struct {
    const char *protocol, *flush;
    unsigned memory, llc;
} flushes[] = {
    {"s-wal", "keep", 4, 0},
    /* Copy, tags, record, the copy for the third phase, A, the record to clear; the second
     * transaction finds the copy's line where the third phase read it */
    {"s-wal", "paper", 6 + 5, 0},
    {"h-wal", "keep", 1, 0},
    {"h-wal", "paper", 2, 0},
    {"h-wal", "evict", 2 * (1 + 1), 0}, /* the third phase reads the log */
    {"ec-wal", "keep", 1, 0},
    {"ec-wal", "paper", 1, 0},
    {"ec-wal", "evict", 2 + 1, 0}, /* the last version is taken home from the log */
    {"kiln", "paper", 1, 0},
    {"kiln", "evict", 1, 1},
};

START_TEST(what_is_flushed_leaves_the_caches_where_the_machine_says_so)
{
    struct machine machine = machine_of(flushes[_i].protocol, "16");
    struct chip_script *script = calloc(1, sizeof *script);
    struct cores *cores = calloc(1, sizeof *cores);

    ck_assert(script != NULL && cores != NULL);
    set(&machine, "persistence.flush", flushes[_i].flush);
    program(script, 0, "A,A,");
    chip_replay(script, &machine, cores);
    ck_assert_uint_eq(chip_total(cores, COUNT_MEMORY_READS), flushes[_i].memory);
    ck_assert_uint_eq(chip_total(cores, COUNT_LLC_HITS), flushes[_i].llc);
    cores_destroy(cores);
    free(cores);
    free(script);
}
END_TEST

/* D, of the fourth bank of memory, leaves a small last level for the log, whose first block is in
 * the first bank. There it is read again by the core, and to be written home. All that drives it
 * out is in other banks. */
START_TEST(a_block_whose_newest_version_is_in_the_log_is_read_from_there)
{
    static const char others[] = "EFGHMNOPUVWX";
    struct machine machine = machine_of("loc-wal", "4");
    struct chip_script *script = calloc(1, sizeof *script);
    struct cores *cores = calloc(1, sizeof *cores);
    const struct counts *banks;

    machine.l1.size = 128;
    machine.l2.size = 256;
    machine.l2.ways = 2;
    machine.llc.size = 256;
    machine.llc.ways = 4;
    ck_assert(script != NULL && cores != NULL);
    mark(script, 0, TRACE_TX_BEGIN);
    chip_event(script, 0, TRACE_STORE, BLOCK('D'));
    for (unsigned i = 0; others[i] != '\0'; i++)
        chip_event(script, 0, TRACE_LOAD, BLOCK(others[i]));
    chip_event(script, 0, TRACE_LOAD, BLOCK('D'));
    mark(script, 0, TRACE_TX_COMMIT);
    chip_replay(script, &machine, cores);
    banks = &cores->fabric.counts[machine.core.count];
    ck_assert_uint_eq(persistence_counts(cores->persistence)->forced_evictions, 1);
    ck_assert_uint_eq(banks[0].of[COUNT_MEMORY_READS], 2);
    ck_assert_uint_eq(banks[3].of[COUNT_MEMORY_READS], 1);
    cores_destroy(cores);
    free(cores);
    free(script);
}
END_TEST

/* When the thread's last event is over, of a program on blocks A to Z that the core has read. */
static uint64_t cycles_of(const struct machine *machine, const char *text)
{
    struct chip_script *script = calloc(1, sizeof *script);
    struct cores *cores = calloc(1, sizeof *cores);
    uint64_t cycles;

    ck_assert(script != NULL && cores != NULL);
    for (char letter = 'A'; letter <= 'Z'; letter++)
        chip_event(script, 0, TRACE_LOAD, BLOCK(letter));
    chip_event(script, 0, TRACE_FENCE, 0);
    program(script, 0, text);
    chip_replay(script, machine, cores);
    cycles = cores->core[0].ended;
    cores_destroy(cores);
    free(cores);
    free(script);
    return cycles;
}

/* Seven more blocks take seven more writes of 21 cycles, and their stores a cycle each. */
START_TEST(a_bank_that_is_not_volatile_takes_one_block_after_the_other)
{
    struct machine machine = machine_of("kiln", "16");
    uint64_t more = cycles_of(&machine, "ABCDEFGH,") - cycles_of(&machine, "A,");

    ck_assert_uint_ge(more, 7 * machine.llc.latency);
    ck_assert_uint_le(more, 7 * (machine.llc.latency + 1));
}
END_TEST

/* The home write and the head, an access to memory each. */
START_TEST(a_commit_waits_for_the_home_writes_of_the_one_before_where_the_machine_says_so)
{
    struct machine machine = machine_of(_i == 0 ? "h-wal" : "ec-wal", "16");
    uint64_t durable = cycles_of(&machine, "A,B,"), home;

    set(&machine, "persistence.order", "home");
    home = cycles_of(&machine, "A,B,");
    ck_assert_uint_ge(home, durable + 2 * machine.memory.latency);
    ck_assert_uint_lt(home, durable + 3 * machine.memory.latency);
}
END_TEST

/* Transactions come faster than a slow memory takes the blocks of those before: the Tx state table
 * fills, and who begins waits for an entry, which comes free. */
START_TEST(more_transactions_than_the_table_has_entries_come_to_their_end)
{
    static const char *const protocols[] = {"none",    "s-wal", "h-wal",   "ec-wal",
                                            "loc-wal", "kiln",  "loc-kiln"};
    enum { TRANSACTIONS = 600 };
    struct machine machine = machine_of(protocols[_i], "16");
    struct chip_script *script = calloc(1, sizeof *script);
    struct cores *cores = calloc(1, sizeof *cores);

    machine.memory.latency = 10000;
    ck_assert(script != NULL && cores != NULL);
    for (unsigned i = 0; i < TRANSACTIONS; i++)
        chip_event(script, 0, TRACE_LOAD, BLOCK('A') + UINT64_C(64) * i);
    for (unsigned i = 0; i < TRANSACTIONS; i++) {
        mark(script, 0, TRACE_TX_BEGIN);
        chip_event(script, 0, TRACE_STORE, BLOCK('A') + UINT64_C(64) * i);
        mark(script, 0, TRACE_TX_COMMIT);
    }
    chip_replay(script, &machine, cores);
    ck_assert_uint_eq(persistence_counts(cores->persistence)->transactions, TRANSACTIONS);
    cores_destroy(cores);
    free(cores);
    free(script);
}
END_TEST

/* Two open transactions, each of which accesses what the other one has stored to: A and B. The
 * first one is let in, and its version of B supersedes the second one's, which has not committed
 * yet. again: cycles later, the second one stores to B once more; 0: it does not. */
static void overlap_crosswise(struct chip_script *script, enum trace_kind last, unsigned again)
{
    enum { WIDTH = 6, LATER = 500 };

    for (unsigned thread = 0; thread < 2; thread++) {
        uint64_t own = thread == 0 ? BLOCK('A') : BLOCK('B');
        uint64_t other = thread == 0 ? BLOCK('B') : BLOCK('A');

        mark(script, thread, TRACE_TX_BEGIN);
        chip_event(script, thread, TRACE_STORE, own);
        chip_event(script, thread, thread == 0 ? TRACE_STORE : last, other)->instructions =
            LATER * WIDTH;
        if (thread == 1 && again > 0)
            chip_event(script, thread, TRACE_STORE, own)->instructions = again * WIDTH;
        mark(script, thread, TRACE_TX_COMMIT);
    }
}

static const char *const atomic[] = {"s-wal",          "h-wal", "ec-wal",   "loc-wal", "loc-wal",
                                     "loc-wal commit", "kiln",  "loc-kiln", "loc-kiln"};

/* With a load as its last access, the second one's versions are all superseded when it commits. */
START_TEST(transactions_that_overlap_crosswise_come_to_their_end)
{
    struct machine machine = machine_of(atomic[_i / 2], _i / 2 % 2 == 0 ? "1" : "16");
    struct chip_script *script = calloc(1, sizeof *script);
    struct cores *cores = calloc(1, sizeof *cores);

    ck_assert(script != NULL && cores != NULL);
    overlap_crosswise(script, _i % 2 == 0 ? TRACE_STORE : TRACE_LOAD, 0);
    chip_replay(script, &machine, cores);
    ck_assert_uint_eq(persistence_counts(cores->persistence)->transactions, 2);
    ck_assert_uint_eq(persistence_overlaps(cores->persistence), 1);
    cores_destroy(cores);
    free(cores);
    free(script);
}
END_TEST

/* A and B of the first transaction, and both of the second one, when the first one is over. */
START_TEST(a_version_that_is_stored_after_a_superseded_one_goes_home)
{
    struct machine machine = machine_of(_i == 0 ? "ec-wal" : "loc-wal", "1");
    struct chip_script *script = calloc(1, sizeof *script);
    struct cores *cores = calloc(1, sizeof *cores);

    set(&machine, "persistence.order", "home");
    ck_assert(script != NULL && cores != NULL);
    overlap_crosswise(script, TRACE_STORE, 20000);
    chip_replay(script, &machine, cores);
    ck_assert_uint_eq(persistence_counts(cores->persistence)->transactions, 2);
    ck_assert_uint_eq(persistence_counts(cores->persistence)->home_writes, 4);
    cores_destroy(cores);
    free(cores);
    free(script);
}
END_TEST

/* The intervals of a few blocks against a set of them, after each of random additions. */
START_TEST(marked_blocks_and_no_others_are_persistent)
{
    enum { BLOCKS = 200, ADDITIONS = 60 };
    struct regions regions = {0};
    bool marked[BLOCKS] = {false};
    uint64_t random = (uint64_t)_i;

    for (unsigned i = 0; i < ADDITIONS; i++) {
        uint64_t first = random_below(&random, BLOCKS), length = random_below(&random, 5);
        uint64_t last = first + length < BLOCKS ? first + length : BLOCKS - 1;

        regions_add(&regions, first, last);
        for (uint64_t block = first; block <= last; block++)
            marked[block] = true;
        for (uint64_t block = 0; block < BLOCKS; block++)
            ck_assert_int_eq(regions_have(&regions, block), marked[block]);
        for (size_t j = 1; j < regions.count; j++)
            ck_assert_uint_gt(regions.of[j].first, regions.of[j - 1].last + 1);
    }
    regions_destroy(&regions);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_persistence");
    TCase *tests = tcase_create("chip_persistence");

    tcase_add_loop_test(tests, the_writes_of_a_small_program_are_those_derived_by_hand, 0,
                        sizeof programs / sizeof programs[0]);
    tcase_add_test(tests, a_version_without_a_way_goes_to_the_log);
    tcase_add_test(tests, a_block_whose_newest_version_is_in_the_log_is_read_from_there);
    tcase_add_loop_test(tests, what_is_flushed_leaves_the_caches_where_the_machine_says_so, 0,
                        sizeof flushes / sizeof flushes[0]);
    tcase_add_test(tests, a_bank_that_is_not_volatile_takes_one_block_after_the_other);
    tcase_add_loop_test(
        tests, a_commit_waits_for_the_home_writes_of_the_one_before_where_the_machine_says_so, 0,
        2);
    tcase_add_loop_test(tests, more_transactions_than_the_table_has_entries_come_to_their_end, 0,
                        7);
    tcase_add_loop_test(tests, transactions_that_overlap_crosswise_come_to_their_end, 0,
                        2 * sizeof atomic / sizeof atomic[0]);
    tcase_add_loop_test(tests, a_version_that_is_stored_after_a_superseded_one_goes_home, 0, 2);
    tcase_add_loop_test(tests, marked_blocks_and_no_others_are_persistent, 0, 20);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
