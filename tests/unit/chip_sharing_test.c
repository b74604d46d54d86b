/*
 * SPDX-License-Identifier: MIT
 *
 * Which lines move, and why: counts that follow from who accesses which bytes in which order, under
 * each protocol. Each case is noticed if a rule is taken out.
 */
#include "chip_fixture.h"
#include "run_suite.h"

#define LINE UINT64_C(0x10000)
enum { ROUNDS = 10, OTHER = 8 };

static struct chip_script *script;
static struct cores *cores;

static void setup(void)
{
    script = calloc(1, sizeof *script);
    cores = calloc(1, sizeof *cores);
    ck_assert(script != NULL && cores != NULL);
    script->sharing = true;
}

static void teardown(void)
{
    cores_destroy(cores);
    free(cores);
    free(script);
}

static void access_to(unsigned thread, enum trace_kind kind, uint64_t address)
{
    chip_event(script, thread, kind, address);
}

static void store(unsigned thread, uint64_t address)
{
    access_to(thread, TRACE_STORE, address);
}

static void load(unsigned thread, uint64_t address)
{
    access_to(thread, TRACE_LOAD, address);
}

static void increment(unsigned thread, uint64_t address)
{
    load(thread, address);
    store(thread, address);
}

static void block(uint64_t address, uint64_t size)
{
    chip_event(script, 0, TRACE_ALLOC, address)->value = size;
}

/* Threads 0 and 1 by turns, each ROUNDS times. */
static void by_turns(void (*first)(unsigned, uint64_t), uint64_t of_first,
                     void (*second)(unsigned, uint64_t), uint64_t of_second)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        first(0, of_first);
        chip_hand_over(script, 0, 1);
        second(1, of_second);
        chip_hand_over(script, 1, 0);
    }
}

static void replay(enum machine_protocol protocol)
{
    struct machine machine = chip_machine(protocol);

    chip_replay(script, &machine, cores);
    if (cores->sharing != NULL)
        sharing_stop(cores->sharing);
}

/* A case: what is done, and the moves of its one line by kind. */
static void to_the_same_bytes(void)
{
    by_turns(store, LINE, store, LINE);
}

static void to_bytes_apart_in_a_block(void)
{
    block(LINE, 64);
    by_turns(store, LINE, store, LINE + OTHER);
}

static void to_two_blocks(void)
{
    block(LINE, 8);
    block(LINE + OTHER, 8);
    by_turns(store, LINE, store, LINE + OTHER);
}

static void to_a_block_and_what_is_none(void)
{
    block(LINE, 8);
    by_turns(store, LINE, store, LINE + OTHER);
}

static void from_writer_to_reader(void)
{
    by_turns(store, LINE, load, LINE);
}

static void a_reader_beside_a_writer(void)
{
    block(LINE, 64);
    by_turns(store, LINE, load, LINE + OTHER);
}

/* Of each turn but the first, which comes from memory, the load moves the line and the store takes
 * the other copy away. The second half of a stay consumes what its first half brought. */
static void incremented(void)
{
    by_turns(increment, LINE, increment, LINE);
}

static void write_then_read(unsigned thread, uint64_t own)
{
    increment(thread, own);
    load(thread, LINE + 2 * OTHER);
    store(thread, LINE + 2 * OTHER);
}

/* What the read brought is used only after the write that follows it. */
static void shared_beside_own_bytes(void)
{
    block(LINE, 64);
    by_turns(write_then_read, LINE, write_then_read, LINE + OTHER);
}

static const struct {
    const char *name;
    void (*make)(void);
    uint64_t moves[SHARING_KINDS];
} cases[] = {
    /* Of 2 * ROUNDS turns the first is memory's, then each core has a first one. */
    {"the same bytes", to_the_same_bytes, {[SHARING_FIRST] = 2, [SHARING_TRUE] = 2 * ROUNDS - 3}},
    {"bytes apart in a block",
     to_bytes_apart_in_a_block,
     {[SHARING_FIRST] = 2, [SHARING_IN_BLOCK] = 2 * ROUNDS - 3}},
    {"two blocks", to_two_blocks, {[SHARING_FIRST] = 2, [SHARING_BETWEEN] = 2 * ROUNDS - 3}},
    {"a block and what is none",
     to_a_block_and_what_is_none,
     {[SHARING_FIRST] = 2, [SHARING_ELSEWHERE] = 2 * ROUNDS - 3}},
    {"writer to reader",
     from_writer_to_reader,
     {[SHARING_FIRST] = 2, [SHARING_TRUE] = 2 * ROUNDS - 3}},
    {"a reader beside a writer",
     a_reader_beside_a_writer,
     {[SHARING_FIRST] = 2, [SHARING_IN_BLOCK] = 2 * ROUNDS - 3}},
    {"incremented", incremented, {[SHARING_FIRST] = 4, [SHARING_TRUE] = 2 * (2 * ROUNDS - 3)}},
    {"shared beside own bytes",
     shared_beside_own_bytes,
     {[SHARING_FIRST] = 4, [SHARING_TRUE] = 2 * (2 * ROUNDS - 3)}},
};

enum { CASES = sizeof cases / sizeof cases[0] };

/* Replays a case; the kind with another count than expected, or SHARING_KINDS. */
static unsigned odd_kind(unsigned which, enum machine_protocol protocol,
                         enum sharing_mutant without)
{
    unsigned kind = 0;

    memset(script, 0, sizeof *script);
    script->sharing = true;
    script->without = without;
    cases[which].make();
    replay(protocol);
    ck_assert_uint_eq(cores->sharing->line_count, 1);
    while (kind < SHARING_KINDS &&
           cores->sharing->lines[0]->of[kind].moves == cases[which].moves[kind])
        kind++;
    return kind;
}

START_TEST(moves_are_counted_by_their_reason_under_each_protocol)
{
    unsigned which = (unsigned)_i % CASES, protocol = (unsigned)_i / CASES, kind;

    kind = odd_kind(which, (enum machine_protocol)protocol, SHARING_RULES);
    ck_assert_msg(kind == SHARING_KINDS, "%s, protocol %u: kind %u has %llu moves",
                  cases[which].name, protocol, kind,
                  (unsigned long long)cores->sharing->lines[0]->of[kind % SHARING_KINDS].moves);
}
END_TEST

START_TEST(a_rule_that_is_taken_out_is_noticed)
{
    bool noticed = false;

    for (unsigned which = 0; which < CASES && !noticed; which++) {
        if (which > 0)
            cores_destroy(cores);
        noticed = odd_kind(which, MACHINE_SPARSE, (enum sharing_mutant)_i) != SHARING_KINDS;
    }
    ck_assert(noticed);
}
END_TEST

START_TEST(a_line_of_one_core_does_not_move)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        increment(0, LINE);
    store(1, LINE + 64);
    replay(MACHINE_SPARSE);
    ck_assert_uint_eq(cores->sharing->line_count, 0);
}
END_TEST

/* The machine's own count of what all accesses took is the bound of what moves can have taken. */
START_TEST(moves_take_the_cycles_of_their_misses)
{
    const struct sharing_line *line;

    by_turns(store, LINE, store, LINE);
    replay(MACHINE_SPARSE);
    line = cores->sharing->lines[0];
    ck_assert_uint_eq(line->all.moves, 2 * ROUNDS - 1);
    ck_assert_uint_lt(line->all.cycles, chip_total(cores, COUNT_LATENCY));
    /* Each asks a home, which asks a core: at the very least a lookup in the bank. */
    ck_assert_uint_ge(line->all.cycles, line->all.moves * cores->fabric.machine->llc.latency);
}
END_TEST

START_TEST(code_sites_and_blocks_have_the_bytes_and_cores_that_access_them)
{
    const struct sharing_line *line;

    block(LINE, 8);
    block(LINE + OTHER, 8);
    by_turns(store, LINE, store, LINE + OTHER);
    for (unsigned thread = 0; thread < 2; thread++)
        for (unsigned i = 0; i < script->count[thread]; i++)
            script->events[thread][i].site = 10 + thread;
    replay(MACHINE_SPARSE);
    line = cores->sharing->lines[0];
    ck_assert_uint_eq(line->site_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        unsigned thread = line->sites[i].site - 10;

        ck_assert_uint_eq(line->sites[i].written, UINT64_C(0xff) << OTHER * thread);
        ck_assert_uint_eq(line->sites[i].read, 0);
        ck_assert_uint_eq(line->sites[i].cores, 1u << thread);
    }
    ck_assert_uint_eq(line->sites[0].started.moves + line->sites[1].started.moves, 2 * ROUNDS - 1);
    ck_assert_uint_eq(line->block_count, 2);
    ck_assert_uint_eq(line->blocks[0].moves + line->blocks[1].moves, 2 * ROUNDS - 1);
}
END_TEST

START_TEST(only_moves_of_the_region_of_interest_count)
{
    by_turns(store, LINE, store, LINE);
    chip_event(script, 0, TRACE_MARK, 0)->what = TRACE_REGION_BEGIN;
    by_turns(store, LINE, store, LINE);
    chip_event(script, 0, TRACE_MARK, 0)->what = TRACE_REGION_END;
    by_turns(store, LINE, store, LINE);
    replay(MACHINE_SPARSE);
    ck_assert_uint_eq(cores->sharing->line_count, 1);
    ck_assert_uint_eq(cores->sharing->lines[0]->all.moves, 2 * ROUNDS);
    ck_assert_uint_eq(cores->sharing->lines[0]->of[SHARING_TRUE].moves, 2 * ROUNDS - 2);
}
END_TEST

START_TEST(nothing_else_changes_when_moves_are_noted)
{
    uint64_t latency[2];

    for (unsigned noted = 0; noted < 2; noted++) {
        if (noted > 0)
            cores_destroy(cores);
        memset(script, 0, sizeof *script);
        by_turns(increment, LINE, increment, LINE + OTHER);
        script->sharing = noted;
        replay(MACHINE_FLASK);
        latency[noted] = chip_total(cores, COUNT_LATENCY);
    }
    ck_assert_uint_eq(latency[0], latency[1]);
}
END_TEST

START_TEST(locks_have_the_places_that_take_them)
{
    const struct sharing_lock *lock;

    for (unsigned thread = 0; thread < 2; thread++) {
        struct trace_event *acquire = chip_event(script, thread, TRACE_ACQUIRE, LINE);

        acquire->what = TRACE_RWLOCK;
        acquire->site = 7 + thread;
        chip_event(script, thread, TRACE_RELEASE, LINE);
    }
    replay(MACHINE_SPARSE);
    lock = sharing_lock_at(cores->sharing, LINE);
    ck_assert(lock != NULL && sharing_lock_at(cores->sharing, LINE + 1) == NULL);
    ck_assert_uint_eq(lock->call, TRACE_RWLOCK);
    ck_assert_uint_eq(lock->takers, 2);
    ck_assert_uint_eq(lock->taken_at[0] + lock->taken_at[1], 7 + 8);
}
END_TEST

START_TEST(blocks_in_a_range_come_in_the_order_of_their_addresses)
{
    struct heap heap = {0};
    const struct heap_block *blocks[4];

    heap_allocated(&heap, 160, 16, 3);
    heap_allocated(&heap, 100, 28, 1);
    heap_allocated(&heap, 128, 0, 2);
    heap_allocated(&heap, 256, 16, 4);
    ck_assert_uint_eq(heap_blocks_in(&heap, 127, 192, blocks, 4), 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(blocks[i]->stack, i + 1);
    ck_assert_uint_eq(heap_blocks_in(&heap, 127, 192, blocks, 2), 2);
    ck_assert_uint_eq(heap_blocks_in(&heap, 176, 256, blocks, 4), 0);
    heap_destroy(&heap);
}
END_TEST

START_TEST(a_block_that_is_handed_out_again_survives_the_late_free_of_the_earlier_one)
{
    struct heap heap = {0};
    const struct heap_block *found;

    heap_allocated(&heap, 100, 16, 1);
    heap_allocated(&heap, 100, 24, 2);
    heap_freed(&heap, 100);
    ck_assert_uint_eq(heap_blocks_in(&heap, 100, 101, &found, 1), 1);
    ck_assert_uint_eq(found->stack, 2);
    heap_freed(&heap, 100);
    ck_assert_uint_eq(heap_blocks_in(&heap, 100, 101, &found, 1), 0);
    heap_freed(&heap, 100);
    heap_destroy(&heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_sharing");
    TCase *tests = tcase_create("chip_sharing"), *parts = tcase_create("heap");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, moves_are_counted_by_their_reason_under_each_protocol, 0, 3 * CASES);
    tcase_add_loop_test(tests, a_rule_that_is_taken_out_is_noticed, 1, SHARING_MUTANTS);
    tcase_add_test(tests, a_line_of_one_core_does_not_move);
    tcase_add_test(tests, moves_take_the_cycles_of_their_misses);
    tcase_add_test(tests, code_sites_and_blocks_have_the_bytes_and_cores_that_access_them);
    tcase_add_test(tests, only_moves_of_the_region_of_interest_count);
    tcase_add_test(tests, nothing_else_changes_when_moves_are_noted);
    tcase_add_test(tests, locks_have_the_places_that_take_them);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_test(parts, blocks_in_a_range_come_in_the_order_of_their_addresses);
    tcase_add_test(parts,
                   a_block_that_is_handed_out_again_survives_the_late_free_of_the_earlier_one);
    suite_add_tcase(suite, parts);
    return run_suite(suite);
}
