/*
 * SPDX-License-Identifier: MIT
 *
 * The power cut: transactions run over a recorder; after any store, flush or fence the file is
 * built as a cut might leave it, and recovered, itself cut again at times. Each image must hold the
 * transactions up to some commit, no fewer than are durable, byte for byte, and a sound table of
 * pages. Then with each rule of the library taken out: there must be an image that does not.
 *
 * PERSIST_IMAGES is the number of images a format (3000), PERSIST_SEED the seed (1); by hand
 * `PERSIST_IMAGES=100000 CK_FORK=no CK_DEFAULT_TIMEOUT=0 build/tests/persist_power_cut_test`.
 */
#include "persist/mutant.h"
#include "persist/region.h"
#include "persist_recorder.h"

#include "base/random.h"
#include "run_suite.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum persist_mutant persist_mutant;

enum {
    PAGES = 6,
    GROUPS = 4,
    LIFE_TRANSACTIONS = 24, /* then the power is cut and the next life goes on from an image */
    STATES = LIFE_TRANSACTIONS + 64,
    OPEN = 2, /* transactions at a time */
    WRITES = 6,
    WRITTEN = 100,
    LIVE = 512,
    STRIPE = 24, /* bytes that one of the open transactions may write, in turn with the other */
    IMAGES_A_MUTANT = 10000,
};

/* What committed transactions made of the memory area, and the blocks that are allocated. */
struct state {
    uint8_t memory[RECORDED_BYTES];
    uint64_t blocks[LIVE];
    uint32_t block_count;
};

struct open_tx {
    struct persist_tx *tx;
    struct {
        uint64_t offset;
        uint8_t bytes[WRITTEN];
        uint32_t size;
    } writes[WRITES];
    uint32_t write_count;
    uint64_t allocated[WRITES], freed[WRITES];
    uint32_t allocated_count, freed_count;
};

static struct world {
    uint64_t random;
    struct region_sizes sizes;
    struct persist_region region;
    _Alignas(4096) uint8_t file[RECORDED_BYTES], view[RECORDED_BYTES];
    struct recorder recorder;
    struct open_tx open[OPEN];
    struct state state[STATES]; /* state[i]: after transaction first_txid + i - 1 */
    uint64_t first_txid;        /* of this life */
    uint64_t durable, issued;   /* last transaction that must be there, that may be */
    uint64_t images, cut_recoveries;
    bool killed; /* the process dies, and the power is cut while the next one recovers */
    /* What the last image recovered to: the next life. */
    _Alignas(4096) uint8_t next[RECORDED_BYTES];
    uint64_t next_txid;
    bool has_next;
    char finding[256];
} world;

#define FINDING(...)                                                                               \
    do {                                                                                           \
        if (world.finding[0] == 0)                                                                 \
            snprintf(world.finding, sizeof world.finding, __VA_ARGS__);                            \
    } while (0)

static uint8_t *heap_begin(void)
{
    return world.view + format_pages_offset(PAGES);
}

/* Compares a recovered file with what it must hold after transaction txid. */
static void compare(const uint8_t *file, uint64_t txid)
{
    const struct state *state = &world.state[txid + 1 - world.first_txid];
    const uint8_t *memory = file + world.sizes.memory_offset;
    static uint8_t copy[RECORDED_BYTES];
    static struct heap heap;

    if (memcmp(memory, state->memory, world.sizes.memory_bytes) != 0) {
        uint64_t byte = 0;

        while (memory[byte] == state->memory[byte])
            byte++;
        FINDING("byte %llu is not that of transaction %llu", (unsigned long long)byte,
                (unsigned long long)txid);
        return;
    }
    memcpy(copy, memory, world.sizes.memory_bytes);
    if (heap_start(&heap, copy, PAGES) != 0) {
        FINDING("the table of pages is damaged");
        return;
    }
    if (heap_count_taken(&heap) != state->block_count)
        FINDING("%llu blocks, not %u", (unsigned long long)heap_count_taken(&heap),
                state->block_count);
    for (uint32_t i = 0; i < state->block_count; i++) {
        if (!heap_begin_free(&heap, state->blocks[i]))
            FINDING("block %llu is lost", (unsigned long long)state->blocks[i]);
    }
    heap_end(&heap);
}

/* Recovers the file; the recorder that is current sees it. Returns the last transaction. */
static uint64_t recover(struct persist_region *region, uint8_t *file)
{
    uint64_t last = 0;
    int error;

    *region = (struct persist_region){.file = -1};
    region->persistence.base = file;
    region->persistence.bytes = world.sizes.file_bytes;
    error = region_check(file, world.sizes.file_bytes);
    if (error == 0)
        error = region_recover(region);
    if (error != 0) {
        FINDING("recovery: %s: %s", strerror(error), persist_error());
        return 0;
    }
    last = region->log.next_txid - 1;
    if (last < world.durable)
        FINDING("transaction %llu is durable, and %llu is the last",
                (unsigned long long)world.durable, (unsigned long long)last);
    else if (last > world.issued)
        FINDING("transaction %llu was never committed", (unsigned long long)last);
    else
        compare(file, last);
    return last;
}

/* An image of a recovery that is cut: it recovers to the same transaction. */
static struct recorder recovery_recorder;
static uint64_t cut_recovery_last;
static uint32_t cut_recovery_in;

static void cut_recovery(void)
{
    static _Alignas(4096) uint8_t image[RECORDED_BYTES];
    struct recorder *outer = recorder;
    struct persist_region region;
    uint64_t last;

    if (cut_recovery_in-- != 0)
        return;
    recorder_cut(outer, image, &world.random);
    recorder = NULL;
    last = recover(&region, image);
    region_end(&region);
    recorder = outer;
    world.cut_recoveries++;
    cut_recovery_last = last;
}

static void cut(void)
{
    static _Alignas(4096) uint8_t image[RECORDED_BYTES];
    static struct persist_region region;
    struct recorder *outer = recorder;
    struct state *last_state = &world.state[world.issued + 1 - world.first_txid];
    bool again;
    uint64_t last;

    if (random_below(&world.random, 4) != 0 || world.finding[0] != 0)
        return;
    /* Of the transaction that is being committed: the library makes the table. */
    memcpy(last_state->memory, world.view, format_pages_offset(PAGES));
    recorder_cut(outer, image, &world.random);
    again = random_below(&world.random, 4) == 0;
    cut_recovery_in = random_below(&world.random, 60);
    cut_recovery_last = 0;
    recorder = NULL;
    if (world.killed) {
        /* All stores are there, and what was not durable still is not. */
        memcpy(image, world.file, world.sizes.file_bytes);
        recorder_go_on(&recovery_recorder, outer);
        recovery_recorder.persistence = &region.persistence;
        recovery_recorder.after_event = cut_recovery;
        recorder = &recovery_recorder;
    } else if (again) {
        struct persistence cut_file = {.base = image, .bytes = world.sizes.file_bytes};

        recorder_start(&recovery_recorder, &cut_file);
        recovery_recorder.persistence = &region.persistence;
        recovery_recorder.after_event = cut_recovery;
        recorder = &recovery_recorder;
    }
    last = recover(&region, image);
    region_end(&region);
    recorder = outer;
    if (!world.killed && cut_recovery_last != 0 && cut_recovery_last != last)
        FINDING("recovered to transaction %llu, and when cut to %llu", (unsigned long long)last,
                (unsigned long long)cut_recovery_last);
    world.images++;
    memcpy(world.next, image, world.sizes.file_bytes);
    world.next_txid = last + 1;
    world.has_next = true;
}

static void begin(unsigned which)
{
    struct open_tx *open = &world.open[which];

    memset(open, 0, sizeof *open);
    open->tx = persist_begin(&world.region);
    ck_assert_ptr_nonnull(open->tx);
}

/* Some bytes of one of the stripes that are this transaction's. */
static void write_something(unsigned which)
{
    struct open_tx *open = &world.open[which];
    uint32_t stripes = PAGES * PERSIST_PAGE / STRIPE;
    uint32_t near = random_below(&world.random, 2) ? 12 : stripes / OPEN - 1; /* often the same */
    uint32_t stripe = random_below(&world.random, near) * OPEN + which;
    uint32_t from = random_below(&world.random, STRIPE);
    uint32_t size = 1 + random_below(&world.random, STRIPE - from);
    uint32_t number = open->write_count;
    uint64_t offset = (uint64_t)stripe * STRIPE + from;

    if (number == WRITES)
        return;
    open->writes[number].offset = offset;
    open->writes[number].size = size;
    for (uint32_t i = 0; i < size; i++)
        open->writes[number].bytes[i] = (uint8_t)random_next(&world.random);
    ck_assert_int_eq(
        persist_write(open->tx, heap_begin() + offset, open->writes[number].bytes, size), 0);
    open->write_count++;
}

static void allocate_something(unsigned which)
{
    struct open_tx *open = &world.open[which];
    static const uint32_t sizes[] = {1, 64, 65, 128, 200, 5000};
    uint32_t size = sizes[random_below(&world.random, sizeof sizes / sizeof *sizes)];
    uint64_t block;

    if (open->allocated_count == WRITES)
        return;
    block = persist_alloc(open->tx, size);
    if (block != 0)
        open->allocated[open->allocated_count++] = block;
}

static void free_something(unsigned which)
{
    struct open_tx *open = &world.open[which];
    const struct state *state = &world.state[world.issued + 1 - world.first_txid];
    uint64_t block;

    if (open->freed_count == WRITES || state->block_count == 0)
        return;
    block = state->blocks[random_below(&world.random, state->block_count)];
    /* The other transaction may be freeing it. */
    if (persist_free(open->tx, block) == 0)
        open->freed[open->freed_count++] = block;
}

/* The state after the transaction but for the table of pages, which the library makes. */
static void predict(const struct open_tx *open)
{
    struct state *state = &world.state[world.issued + 1 - world.first_txid];

    memcpy(state + 1, state, sizeof *state);
    state++;
    for (uint32_t i = 0; i < open->write_count; i++)
        memcpy(state->memory + format_pages_offset(PAGES) + open->writes[i].offset,
               open->writes[i].bytes, open->writes[i].size);
    for (uint32_t i = 0; i < open->allocated_count; i++)
        state->blocks[state->block_count++] = open->allocated[i];
    for (uint32_t i = 0; i < open->freed_count; i++) {
        uint32_t at = 0;

        while (state->blocks[at] != open->freed[i])
            at++;
        state->blocks[at] = state->blocks[--state->block_count];
    }
    ck_assert_uint_lt(state->block_count, LIVE - WRITES);
}

static void end(unsigned which)
{
    struct open_tx *open = &world.open[which];
    unsigned how = random_below(&world.random, 8);
    struct persist_tx *tx = open->tx;

    open->tx = NULL;
    if (how == 0) {
        persist_abort(tx);
        return;
    }
    if (open->write_count + open->allocated_count + open->freed_count == 0) {
        ck_assert_int_eq(persist_commit_deferred(tx), 0); /* no transaction at all */
        return;
    }
    predict(open);
    world.issued++;
    if (how < 5) {
        ck_assert_int_eq(persist_commit_deferred(tx), 0);
        if (world.region.log.format == PERSIST_LOG_WAL)
            world.durable = world.issued;
    } else {
        ck_assert_int_eq(persist_commit(tx), 0);
        world.durable = world.issued;
    }
    memcpy(world.state[world.issued + 1 - world.first_txid].memory, world.view,
           format_pages_offset(PAGES));
}

static void step(void)
{
    unsigned which = random_below(&world.random, OPEN);

    if (world.open[which].tx == NULL)
        begin(which);
    switch (random_below(&world.random, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        write_something(which);
        break;
    case 6:
        allocate_something(which);
        break;
    case 7:
        free_something(which);
        break;
    case 8:
        if (random_below(&world.random, 4) == 0) {
            ck_assert_int_eq(persist_flush(&world.region), 0);
            world.durable = world.issued;
        }
        break;
    default:
        end(which);
        break;
    }
}

/* From the file as it is, whose last transaction is next_txid - 1, to the end of a life. */
static void live(void)
{
    struct state *from = &world.state[world.next_txid - world.first_txid];
    uint64_t last;

    memmove(&world.state[0], from, sizeof *from);
    world.first_txid = world.next_txid;
    world.durable = world.issued = world.first_txid - 1;
    memcpy(world.file, world.next, world.sizes.file_bytes);
    recorder = NULL;
    last = recover(&world.region, world.file);
    if (world.finding[0] != 0 || last != world.issued)
        return;
    memcpy(world.view, world.file + world.sizes.memory_offset, world.sizes.memory_bytes);
    ck_assert_int_eq(region_start(&world.region, world.view), 0);
    recorder_start(&world.recorder, &world.region.persistence);
    world.recorder.after_event = cut;
    recorder = &world.recorder;
    world.has_next = false;
    while (world.finding[0] == 0 &&
           (world.issued < world.first_txid + LIFE_TRANSACTIONS || !world.has_next))
        step();
    for (unsigned i = 0; i < OPEN; i++) {
        if (world.open[i].tx != NULL)
            persist_abort(world.open[i].tx);
        world.open[i].tx = NULL;
    }
    recorder = NULL;
    /* Nothing of an aborted transaction is left in the view. */
    if (memcmp(world.view, world.state[world.issued + 1 - world.first_txid].memory,
               world.sizes.memory_bytes) != 0)
        FINDING("the view is not what was committed");
    region_end(&world.region);
}

/* Runs until so many images were recovered, or there is a finding. */
static void run(enum persist_log log, uint64_t seed, uint64_t images, bool killed)
{
    struct persistence persistence = {.base = world.next};

    recorder_end(&world.recorder);
    memset(&world, 0, sizeof world);
    world.killed = killed;
    world.random = seed;
    world.sizes = region_sizes((uint64_t)PAGES * PERSIST_PAGE, GROUPS * sizeof(struct log_group));
    ck_assert_uint_le(world.sizes.file_bytes, RECORDED_BYTES);
    persistence.bytes = world.sizes.file_bytes;
    recorder = NULL;
    ck_assert_int_eq(region_format(&persistence, &world.sizes, log, seed), 0);
    world.first_txid = world.next_txid = 1;
    world.has_next = true;
    while (world.images < images && world.finding[0] == 0)
        live();
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static const char *const names[] = {"wal", "eager"};

START_TEST(every_image_holds_the_transactions_up_to_a_commit)
{
    enum persist_log log = (enum persist_log)_i;
    uint64_t seed = setting("PERSIST_SEED", 1);

    run(log, seed, setting("PERSIST_IMAGES", 3000), false);
    ck_assert_msg(world.finding[0] == 0, "%s, seed %llu, image %llu: %s", names[log],
                  (unsigned long long)seed, (unsigned long long)world.images, world.finding);
    ck_assert_uint_gt(world.cut_recoveries, world.images / 50);
    printf("%s: %llu images, %llu recoveries cut again, no finding (seed %llu)\n", names[log],
           (unsigned long long)world.images, (unsigned long long)world.cut_recoveries,
           (unsigned long long)seed);
}
END_TEST

/* What a killed process stored is in the caches, whole to the eye of recovery, and may be lost. */
START_TEST(a_cut_recovery_from_a_killed_process_tears_nothing)
{
    enum persist_log log = (enum persist_log)_i;
    uint64_t seed = setting("PERSIST_SEED", 1);

    run(log, seed, setting("PERSIST_IMAGES", 3000), true);
    ck_assert_msg(world.finding[0] == 0, "%s, seed %llu, image %llu: %s", names[log],
                  (unsigned long long)seed, (unsigned long long)world.images, world.finding);
    ck_assert_uint_gt(world.cut_recoveries, world.images / 4);
    persist_mutant = MUTANT_NO_RECOVERY_FENCE;
    run(log, 1, IMAGES_A_MUTANT, true);
    persist_mutant = MUTANT_NONE;
    printf("%s without no_recovery_fence: image %llu: %s\n", names[log],
           (unsigned long long)world.images, world.finding);
    ck_assert_msg(world.finding[0] != 0, "%s: no_recovery_fence is not noticed", names[log]);
}
END_TEST

/* A cut while a region is created: it is refused, or empty and whole. */
static void cut_creation(void)
{
    static _Alignas(4096) uint8_t image[RECORDED_BYTES];
    struct recorder *outer = recorder;
    struct persist_region region = {.file = -1};

    for (int i = 0; i < 20; i++) {
        recorder = outer;
        recorder_cut(outer, image, &world.random);
        recorder = NULL;
        world.images++;
        if (region_check(image, world.sizes.file_bytes) != 0)
            continue;
        region.persistence = (struct persistence){.base = image, .bytes = world.sizes.file_bytes};
        if (region_recover(&region) != 0)
            FINDING("recovery: %s", persist_error());
        else if (region.recovered != 0)
            FINDING("a new region has transactions");
        region_end(&region);
    }
    recorder = outer;
}

static void create_and_cut(void)
{
    struct persistence persistence = {.base = world.file};

    recorder_end(&world.recorder);
    memset(&world, 0, sizeof world);
    world.random = 1;
    world.sizes = region_sizes((uint64_t)PAGES * PERSIST_PAGE, GROUPS * sizeof(struct log_group));
    persistence.bytes = world.sizes.file_bytes;
    recorder_start(&world.recorder, &persistence);
    world.recorder.after_event = cut_creation;
    recorder = &world.recorder;
    ck_assert_int_eq(region_format(&persistence, &world.sizes, PERSIST_LOG_EAGER, 1), 0);
    recorder = NULL;
}

START_TEST(a_creation_that_is_cut_is_refused_or_whole)
{
    create_and_cut();
    ck_assert_msg(world.finding[0] == 0, "%s", world.finding);
    persist_mutant = MUTANT_NO_FORMAT_FENCE;
    create_and_cut();
    persist_mutant = MUTANT_NONE;
    ck_assert_msg(world.finding[0] != 0, "a header before the head is not noticed");
}
END_TEST

/* Which rules a format has. The fences of wal keep its transactions in order, and all their blocks
 * there. */
static const struct {
    const char *name;
    bool wal, eager;
} rules[MUTANTS] = {
    [MUTANT_NO_COMMIT_FENCE] = {"no_commit_fence", true, true},
    [MUTANT_NO_DATA_FLUSH] = {"no_data_flush", true, true},
    [MUTANT_NO_TAG_FLUSH] = {"no_tag_flush", true, true},
    [MUTANT_NO_COUNT] = {"no_count", false, true},
    [MUTANT_NO_CHECKSUM] = {"no_checksum", true, true},
    [MUTANT_NO_ORDER] = {"no_order", false, true},
    [MUTANT_NO_RECORD_FENCE] = {"no_record_fence", true, false},
    [MUTANT_NO_LOG_FENCE] = {"no_log_fence", false, true},
    [MUTANT_NO_PLACE_FLUSH] = {"no_place_flush", true, true},
    [MUTANT_NO_PLACE_FENCE] = {"no_place_fence", true, true},
    [MUTANT_NO_HEAD_FENCE] = {"no_head_fence", true, true},
    [MUTANT_ONE_HEAD] = {"one_head", true, true},
    [MUTANT_NO_HEAD_CHECKSUM] = {"no_head_checksum", true, true},
    [MUTANT_NO_SEQUENCE] = {"no_sequence", true, true},
    [MUTANT_RECOVERY_KEEPS_HEAD] = {"recovery_keeps_head", true, true},
};

START_TEST(each_rule_that_is_taken_out_is_found)
{
    enum persist_mutant mutant = (enum persist_mutant)_i;

    for (int log = PERSIST_LOG_WAL; log <= PERSIST_LOG_EAGER; log++) {
        if (!(log == PERSIST_LOG_WAL ? rules[mutant].wal : rules[mutant].eager))
            continue;
        persist_mutant = mutant;
        run((enum persist_log)log, 1, IMAGES_A_MUTANT, false);
        persist_mutant = MUTANT_NONE;
        printf("%s without %s: image %llu: %s\n", names[log], rules[mutant].name,
               (unsigned long long)world.images, world.finding);
        ck_assert_msg(world.finding[0] != 0, "%s: %s is not noticed", names[log],
                      rules[mutant].name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("persist_power_cut");
    TCase *tests = tcase_create("power cut");

    tcase_set_timeout(tests, 100);

    tcase_add_loop_test(tests, every_image_holds_the_transactions_up_to_a_commit, 0, 2);
    tcase_add_loop_test(tests, a_cut_recovery_from_a_killed_process_tears_nothing, 0, 2);
    tcase_add_loop_test(tests, each_rule_that_is_taken_out_is_found, 1, MUTANT_NO_FORMAT_FENCE);
    tcase_add_test(tests, a_creation_that_is_cut_is_refused_or_whole);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
