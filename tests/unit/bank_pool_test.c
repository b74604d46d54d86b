/*
 * SPDX-License-Identifier: MIT
 *
 * The pool of libbank_malloc: Algorithm 1 of the paper as a table, and random operations against a
 * slow reference, which counts everything anew for each request. The reference finds each rule that
 * is taken out.
 *
 * BANK_POOL_STEPS is the number of random operations (300000); by hand
 * `BANK_POOL_STEPS=10000000 CK_FORK=no CK_DEFAULT_TIMEOUT=0 build/tests/bank_pool_test`.
 */
#include "bank_malloc/pool/mutant.h"
#include "bank_malloc/pool/pool.h"

#include "base/random.h"
#include "run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum pool_mutant pool_mutant;

enum { CONTROLLERS = 2, BANKS = 3, CHUNKS = 60, PER_BANK = CHUNKS / CONTROLLERS / BANKS };

static struct pool *make_pool(uint32_t capacity, uint32_t controllers, uint32_t banks)
{
    size_t used_bytes = runs_used_bytes(capacity);
    struct pool *pool =
        calloc(1, sizeof *pool + used_bytes + pool_bytes(capacity, controllers, banks));

    ck_assert_ptr_nonnull(pool);
    pool_init(pool, capacity, controllers, banks, pool + 1, (char *)(pool + 1) + used_bytes);
    return pool;
}

static void add_chunk(struct pool *pool, uint32_t chunk)
{
    pool_add(pool, chunk, chunk % CONTROLLERS, chunk / CONTROLLERS % BANKS);
}

/* Chunk c is of controller c % 2 and bank c / 2 % 3, so that no two neighbours are of one bank. */
static struct pool *striped_pool(void)
{
    struct pool *pool = make_pool(CHUNKS, CONTROLLERS, BANKS);

    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++)
        add_chunk(pool, chunk);
    return pool;
}

static struct pool_block take(struct pool *pool, uint32_t controller, uint32_t bank,
                              uint32_t chunks, unsigned modes)
{
    struct pool_request request = {controller, bank, chunks, modes, true};

    return pool_take(pool, &request);
}

static void take_all_but(struct pool *pool, uint32_t controller, uint32_t bank, uint32_t left)
{
    while (pool->bank[pool_colour(pool, controller, bank)].free > left)
        ck_assert_int_eq(take(pool, controller, bank, 1, 0).source, POOL_FROM_BANK);
}

/*
 * What is free before the request for two chunks of controller 0, bank 0. Bank b of controller c
 * has left[c][b] chunks.
 */
struct state {
    const char *name;
    uint32_t left[CONTROLLERS][BANKS];
};

static const struct state states[] = {
    {"nothing is taken", {{10, 10, 10}, {10, 10, 10}}},
    {"the bank is full", {{0, 5, 7}, {10, 9, 10}}},
    {"the bank has one chunk", {{1, 7, 5}, {10, 10, 10}}},
    {"the controller is full", {{0, 0, 0}, {3, 6, 4}}},
    {"the controller has one chunk a bank", {{1, 1, 1}, {3, 4, 6}}},
    {"every bank has one chunk", {{1, 1, 1}, {1, 1, 1}}},
    {"all is full", {{0, 0, 0}, {0, 0, 0}}},
};

enum {
    BANK = POOL_FROM_BANK,
    CTRL = POOL_FROM_CONTROLLER,
    ELSE = POOL_FROM_ELSEWHERE,
    RUN = POOL_FROM_RUN,
    FULL = POOL_FULL
};

/* For each state and each mask (bit 0 restricted, 1 unrestricted, 2 split): the step that finds the
 * block, and its colour where one is promised. Neighbours are of two controllers: while one of them
 * is full there is no run. */
static const struct {
    int source;
    uint32_t colour;
} expected[][8] = {
    {{BANK, 0}, {BANK, 0}, {BANK, 0}, {BANK, 0}, {BANK, 0}, {BANK, 0}, {BANK, 0}, {BANK, 0}},
    {{FULL, 0}, {CTRL, 2}, {ELSE, 3}, {CTRL, 2}, {RUN, 0}, {CTRL, 2}, {ELSE, 3}, {CTRL, 2}},
    {{FULL, 0}, {CTRL, 1}, {ELSE, 3}, {CTRL, 1}, {RUN, 0}, {CTRL, 1}, {ELSE, 3}, {CTRL, 1}},
    {{FULL, 0}, {FULL, 0}, {ELSE, 4}, {ELSE, 4}, {FULL, 0}, {FULL, 0}, {ELSE, 4}, {ELSE, 4}},
    {{FULL, 0}, {FULL, 0}, {ELSE, 5}, {ELSE, 5}, {RUN, 0}, {RUN, 0}, {ELSE, 5}, {ELSE, 5}},
    {{FULL, 0}, {FULL, 0}, {FULL, 0}, {FULL, 0}, {RUN, 0}, {RUN, 0}, {RUN, 0}, {RUN, 0}},
    {{FULL, 0}, {FULL, 0}, {FULL, 0}, {FULL, 0}, {FULL, 0}, {FULL, 0}, {FULL, 0}, {FULL, 0}},
};

START_TEST(a_block_comes_from_where_the_algorithm_says_for_each_mask_and_each_state)
{
    for (size_t s = 0; s < sizeof states / sizeof *states; s++) {
        for (unsigned modes = 0; modes <= POOL_ALL_MODES; modes++) {
            struct pool *pool = striped_pool();

            for (uint32_t c = 0; c < CONTROLLERS; c++) {
                for (uint32_t b = 0; b < BANKS; b++)
                    take_all_but(pool, c, b, states[s].left[c][b]);
            }
            struct pool_block block = take(pool, 0, 0, 2, modes);
            ck_assert_msg(block.source == (enum pool_source)expected[s][modes].source,
                          "%s, modes %u: source %d", states[s].name, modes, block.source);
            if (block.source != POOL_FULL && block.source != POOL_FROM_RUN)
                ck_assert_msg(pool->colour[block.first] == expected[s][modes].colour,
                              "%s, modes %u: colour %u", states[s].name, modes,
                              pool->colour[block.first]);
            free(pool);
        }
    }
}
END_TEST

START_TEST(a_block_that_cannot_be_moved_together_comes_from_a_run_or_not_at_all)
{
    struct pool *pool = striped_pool();
    struct pool_request request = {0, 0, 2, POOL_RESTRICTED | POOL_UNRESTRICTED, false};

    ck_assert_int_eq(pool_take(pool, &request).source, POOL_FULL);
    request.modes = POOL_ALL_MODES;
    ck_assert_int_eq(pool_take(pool, &request).source, POOL_FROM_RUN);
    request.chunks = 1;
    ck_assert_int_eq(pool_take(pool, &request).source, POOL_FROM_BANK);
    free(pool);
}
END_TEST

START_TEST(a_request_longer_than_the_pool_takes_nothing)
{
    struct pool *pool = striped_pool();

    ck_assert_int_eq(take(pool, 0, 0, CHUNKS + 1, POOL_ALL_MODES).source, POOL_FULL);
    ck_assert_int_eq(take(pool, 0, 0, UINT32_MAX, POOL_ALL_MODES).source, POOL_FULL);
    ck_assert_int_eq(take(pool, 1, 2, CHUNKS, POOL_ALL_MODES).source, POOL_FROM_RUN);
    ck_assert_int_eq(take(pool, 0, 0, 1, POOL_ALL_MODES).source, POOL_FULL);
    free(pool);
}
END_TEST

START_TEST(what_is_given_back_joins_its_neighbours_to_one_run)
{
    struct pool *pool = striped_pool();

    ck_assert_uint_eq(take(pool, 0, 0, CHUNKS, POOL_SPLIT).first, 0);
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk += 2)
        pool_give(pool, chunk);
    ck_assert_int_eq(take(pool, 0, 0, 2, POOL_SPLIT).source, POOL_FROM_BANK);
    ck_assert_int_eq(take(pool, 1, 0, 2, POOL_SPLIT).source, POOL_FULL);
    for (uint32_t chunk = 1; chunk < CHUNKS; chunk += 2)
        pool_give(pool, chunk);
    ck_assert_uint_eq(runs_fit(&pool->runs, 10) > 10, 1);
    free(pool);
}
END_TEST

START_TEST(a_chunk_that_is_removed_is_never_given_out)
{
    struct pool *pool = striped_pool();

    for (uint32_t chunk = 0; chunk < CHUNKS; chunk += 3)
        pool_remove(pool, chunk, true);
    for (uint32_t left = CHUNKS - CHUNKS / 3; left > 0; left--) {
        struct pool_block block = take(pool, 0, 0, 1, POOL_ALL_MODES);

        ck_assert_int_ne(block.source, POOL_FULL);
        ck_assert_uint_ne(block.first % 3, 0);
    }
    ck_assert_int_eq(take(pool, 0, 0, 1, POOL_ALL_MODES).source, POOL_FULL);
    free(pool);
}
END_TEST

START_TEST(memory_of_no_one_bank_is_in_runs_only)
{
    struct pool *pool = make_pool(CHUNKS, CONTROLLERS, BANKS);

    for (uint32_t chunk = 0; chunk < 4; chunk++)
        pool_add(pool, chunk, CONTROLLERS, 0);
    ck_assert_int_eq(take(pool, 0, 0, 1, POOL_RESTRICTED | POOL_UNRESTRICTED).source, POOL_FULL);
    ck_assert_int_eq(take(pool, 0, 0, 1, POOL_ALL_MODES).source, POOL_FROM_RUN);
    ck_assert_int_eq(take(pool, 0, 0, 3, POOL_ALL_MODES).source, POOL_FROM_RUN);
    ck_assert_int_eq(take(pool, 0, 0, 1, POOL_ALL_MODES).source, POOL_FULL);
    pool_give(pool, 2);
    ck_assert_uint_eq(take(pool, 1, 1, 1, POOL_SPLIT).first, 2);
    free(pool);
}
END_TEST

/* --- the reference: what each chunk is, and nothing that was counted before --- */

enum what { ABSENT, FREE, TAKEN };

enum { REF_CHUNKS = 150, REF_CONTROLLERS = 3, REF_BANKS = 4, BLOCKS = 64 };

struct reference {
    enum what what[REF_CHUNKS];
    uint32_t controller[REF_CHUNKS], bank[REF_CHUNKS];
};

/* Chunks free in that bank, or in all banks of the controller (bank REF_BANKS). */
static uint32_t ref_free(const struct reference *ref, uint32_t controller, uint32_t bank)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < REF_CHUNKS; i++)
        count += ref->what[i] == FREE && ref->controller[i] == controller &&
                 (bank == REF_BANKS || ref->bank[i] == bank);
    return count;
}

/* 0 ... count - 1 in descending order of weight, as the paper's queues; stable. */
static void queue(const uint32_t *weight, uint32_t count, uint32_t *order)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;

        for (; at > 0 && weight[order[at - 1]] < weight[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static bool ref_has(const struct reference *ref, uint32_t controller, uint32_t bank,
                    const struct pool_request *request)
{
    return (request->chunks == 1 || request->is_movable) &&
           ref_free(ref, controller, bank) >= request->chunks;
}

/* The first bank of the controller's queue that has the block; REF_BANKS: none. */
static uint32_t ref_bank_of(const struct reference *ref, uint32_t controller,
                            const struct pool_request *request)
{
    uint32_t weight[REF_BANKS], order[REF_BANKS];

    for (uint32_t b = 0; b < REF_BANKS; b++)
        weight[b] = ref_free(ref, controller, b);
    queue(weight, REF_BANKS, order);
    for (uint32_t i = 0; i < REF_BANKS; i++) {
        if (ref_has(ref, controller, order[i], request))
            return order[i];
    }
    return REF_BANKS;
}

static bool ref_has_run(const struct reference *ref, uint32_t chunks)
{
    uint32_t length = 0;

    for (uint32_t i = 0; i < REF_CHUNKS; i++) {
        length = ref->what[i] == FREE ? length + 1 : 0;
        if (length >= chunks)
            return true;
    }
    return false;
}

static enum pool_source ref_take(const struct reference *ref, const struct pool_request *request,
                                 uint32_t *controller, uint32_t *bank)
{
    uint32_t weight[REF_CONTROLLERS], order[REF_CONTROLLERS];

    *controller = request->controller;
    *bank = request->bank;
    if (ref_has(ref, *controller, *bank, request))
        return POOL_FROM_BANK;
    if ((request->modes & POOL_RESTRICTED) != 0) {
        *bank = ref_bank_of(ref, *controller, request);
        if (*bank < REF_BANKS)
            return POOL_FROM_CONTROLLER;
    }
    if ((request->modes & POOL_UNRESTRICTED) != 0) {
        for (uint32_t c = 0; c < REF_CONTROLLERS; c++)
            weight[c] = ref_free(ref, c, REF_BANKS);
        queue(weight, REF_CONTROLLERS, order);
        for (uint32_t i = 0; i < REF_CONTROLLERS; i++) {
            *controller = order[i];
            *bank = ref_bank_of(ref, *controller, request);
            if (*bank < REF_BANKS)
                return POOL_FROM_ELSEWHERE;
        }
    }
    return (request->modes & POOL_SPLIT) != 0 && ref_has_run(ref, request->chunks) ? POOL_FROM_RUN
                                                                                   : POOL_FULL;
}

/* What is taken, so that it can be given back. */
struct taken {
    uint32_t chunks, chunk[REF_CHUNKS];
};

/* Follows the block; false if it is not what the reference says. */
static bool record(struct reference *ref, const struct pool *pool, struct pool_block block,
                   uint32_t controller, uint32_t bank, struct taken *taken)
{
    uint32_t chunk = block.first;

    for (uint32_t i = 0; i < taken->chunks; i++) {
        bool is_run = block.source == POOL_FROM_RUN;

        if (chunk >= REF_CHUNKS || ref->what[chunk] != FREE || pool_is_free(pool, chunk) ||
            (!is_run && (ref->controller[chunk] != controller || ref->bank[chunk] != bank)))
            return false;
        ref->what[chunk] = TAKEN;
        taken->chunk[i] = chunk;
        chunk = is_run ? chunk + 1 : pool_next(pool, chunk);
    }
    return block.source == POOL_FROM_RUN || chunk == POOL_NONE;
}

static uint32_t count_free(const struct reference *ref)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < REF_CHUNKS; i++)
        count += ref->what[i] == FREE;
    return count;
}

struct both {
    struct reference ref;
    struct pool *pool;
    struct taken blocks[BLOCKS];
    uint64_t random;
};

static bool counts_agree(const struct both *both)
{
    uint32_t free_chunks = 0;

    for (uint32_t c = 0; c < REF_CONTROLLERS; c++) {
        free_chunks += both->pool->controller_free[c];
        if (both->pool->controller_free[c] != ref_free(&both->ref, c, REF_BANKS))
            return false;
    }
    return free_chunks == count_free(&both->ref);
}

static bool step_take(struct both *both, struct taken *taken)
{
    uint64_t *random = &both->random;
    uint32_t controller, bank;
    struct pool_request request = {
        .controller = random_below(random, REF_CONTROLLERS),
        .bank = random_below(random, REF_BANKS),
        .chunks = random_below(random, 4) == 0 ? 1 + random_below(random, 20) : 1,
        .modes = random_below(random, POOL_ALL_MODES + 1),
        .is_movable = random_below(random, 4) != 0,
    };
    enum pool_source source = ref_take(&both->ref, &request, &controller, &bank);
    struct pool_block block = pool_take(both->pool, &request);

    if (block.source != source)
        return false;
    if (source == POOL_FULL)
        return true;
    taken->chunks = request.chunks;
    return record(&both->ref, both->pool, block, controller, bank, taken);
}

static void step_give(struct both *both, struct taken *taken)
{
    for (uint32_t i = 0; i < taken->chunks; i++) {
        both->ref.what[taken->chunk[i]] = FREE;
        pool_give(both->pool, taken->chunk[i]);
    }
    taken->chunks = 0;
}

/* Adds an absent chunk, with random colours, or removes a free one. */
static void step_change(struct both *both)
{
    uint32_t chunk = random_below(&both->random, REF_CHUNKS);

    if (both->ref.what[chunk] == ABSENT) {
        both->ref.what[chunk] = FREE;
        both->ref.controller[chunk] = random_below(&both->random, REF_CONTROLLERS);
        both->ref.bank[chunk] = random_below(&both->random, REF_BANKS);
        pool_add(both->pool, chunk, both->ref.controller[chunk], both->ref.bank[chunk]);
    } else if (both->ref.what[chunk] == FREE && random_below(&both->random, 8) == 0) {
        both->ref.what[chunk] = ABSENT;
        pool_remove(both->pool, chunk, true);
    }
}

/* The steps after which they differed; 0: they never did. */
static uint64_t first_difference(uint64_t steps, uint64_t seed)
{
    struct both both = {.pool = make_pool(REF_CHUNKS, REF_CONTROLLERS, REF_BANKS), .random = seed};
    uint64_t found = 0;

    for (uint64_t step = 1; step <= steps && found == 0; step++) {
        struct taken *taken = &both.blocks[random_below(&both.random, BLOCKS)];

        if (random_below(&both.random, 10) == 0)
            step_change(&both);
        else if (taken->chunks != 0)
            step_give(&both, taken);
        else if (!step_take(&both, taken))
            found = step;
        if (!counts_agree(&both))
            found = step;
    }
    free(both.pool);
    return found;
}

START_TEST(random_operations_agree_with_a_slow_reference)
{
    const char *text = getenv("BANK_POOL_STEPS");
    uint64_t steps = text != NULL ? strtoull(text, NULL, 10) : 300000;

    ck_assert_uint_eq(first_difference(steps, 1), 0);
}
END_TEST

START_TEST(the_reference_notices_each_rule_that_is_taken_out)
{
    pool_mutant = (enum pool_mutant)_i;
    ck_assert_uint_ne(first_difference(300000, 1), 0);
}
END_TEST

/* Rows of every length, around the words of 64 bits too, with random units free. */
START_TEST(a_row_made_anew_from_its_used_units_has_the_same_runs)
{
    enum { LONGEST = 300 };
    uint64_t random = 1;

    for (uint32_t count = 1; count <= LONGEST; count++) {
        struct runs before, after;
        size_t used_bytes = runs_used_bytes(count);
        char *tables = calloc(2, used_bytes + runs_bytes(count));
        char *copy = tables + used_bytes + runs_bytes(count);

        ck_assert_ptr_nonnull(tables);
        runs_init(&before, count, tables, tables + used_bytes);
        for (uint32_t unit = 0; unit < count; unit++) {
            if (random_next(&random) % 4 != 0)
                runs_give(&before, unit, 1);
        }
        /* What the levels above the units say is not looked at. */
        memset(copy, 0xff, used_bytes);
        memcpy(copy, before.used.level[0], (count / 64 + 1) * sizeof(uint64_t));
        runs_restore(&after, count, copy, copy + used_bytes);
        for (uint32_t n = count; n > 0; n--) {
            ck_assert_uint_eq(runs_fit(&after, n), runs_fit(&before, n));
        }
        for (uint32_t n = runs_fit(&after, 1); n > 0; n = runs_fit(&after, 1)) {
            uint32_t first = runs_take(&after, n);

            for (uint32_t unit = first; unit < first + n; unit++)
                ck_assert(runs_is_free(&before, unit));
        }
        for (uint32_t unit = 0; unit < count; unit++)
            ck_assert(!runs_is_free(&after, unit));
        free(tables);
    }
}
END_TEST

/* From each length to each longer one, with random units free before and behind. */
START_TEST(a_row_that_is_extended_keeps_its_free_units_and_gets_used_ones)
{
    enum { LONGEST = 150, STEP = 7 };
    uint64_t random = 1;

    for (uint32_t count = 1; count <= LONGEST; count++) {
        for (uint32_t longer = count; longer <= LONGEST; longer += STEP) {
            struct runs before, after;
            size_t used_bytes = runs_used_bytes(longer);
            char *tables = calloc(2, used_bytes + runs_bytes(longer));
            char *second = tables + used_bytes + runs_bytes(longer);
            uint32_t free_units = 0;

            ck_assert_ptr_nonnull(tables);
            runs_init(&before, count, tables, tables + used_bytes);
            for (uint32_t unit = 0; unit < count; unit++) {
                if (random_next(&random) % 2 != 0)
                    runs_give(&before, unit, 1);
            }
            after = before;
            runs_extend(&after, longer, second, second + used_bytes);
            for (uint32_t unit = 0; unit < longer; unit++) {
                bool is_free = unit < count && runs_is_free(&before, unit);

                ck_assert_int_eq(runs_is_free(&after, unit), is_free);
                free_units += is_free;
            }
            while (runs_take(&after, 1) != RUNS_NONE)
                free_units--;
            ck_assert_uint_eq(free_units, 0);
            free(tables);
        }
    }
}
END_TEST

START_TEST(a_pool_that_is_extended_keeps_its_chunks)
{
    struct pool *pool = striped_pool(), before = *pool;
    uint32_t capacity = 3 * CHUNKS;
    char *tables = calloc(1, runs_used_bytes(capacity) + pool_bytes(capacity, CONTROLLERS, BANKS));
    struct pool_request request = {.bank = 1, .chunks = PER_BANK, .is_movable = true};

    ck_assert_ptr_nonnull(tables);
    pool_extend(pool, capacity, tables, tables + runs_used_bytes(capacity));
    for (uint32_t chunk = CHUNKS; chunk < capacity; chunk++)
        add_chunk(pool, chunk);
    for (uint32_t colour = 0; colour < CONTROLLERS * BANKS; colour++)
        ck_assert_uint_eq(pool->bank[colour].free, 3 * before.bank[colour].free);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pool_take(pool, &request).source, POOL_FROM_BANK);
    ck_assert_int_eq(pool_take(pool, &request).source, POOL_FULL);
    ck_assert_uint_eq(runs_fit(&pool->runs, 1) > 0, 1);
    free(tables);
    free(pool);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bank_pool");
    TCase *tests = tcase_create("pool");

    tcase_add_test(tests, a_block_comes_from_where_the_algorithm_says_for_each_mask_and_each_state);
    tcase_add_test(tests, a_block_that_cannot_be_moved_together_comes_from_a_run_or_not_at_all);
    tcase_add_test(tests, a_request_longer_than_the_pool_takes_nothing);
    tcase_add_test(tests, what_is_given_back_joins_its_neighbours_to_one_run);
    tcase_add_test(tests, a_chunk_that_is_removed_is_never_given_out);
    tcase_add_test(tests, memory_of_no_one_bank_is_in_runs_only);
    tcase_add_test(tests, a_row_made_anew_from_its_used_units_has_the_same_runs);
    tcase_add_test(tests, a_row_that_is_extended_keeps_its_free_units_and_gets_used_ones);
    tcase_add_test(tests, a_pool_that_is_extended_keeps_its_chunks);
    tcase_add_test(tests, random_operations_agree_with_a_slow_reference);
    tcase_add_loop_test(tests, the_reference_notices_each_rule_that_is_taken_out, MUTANT_NONE + 1,
                        MUTANTS);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
