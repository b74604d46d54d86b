/*
 * SPDX-License-Identifier: MIT
 *
 * The private levels: one core alone misses where sim/cache_model misses; what the exclusive and
 * the inclusive second level hold.
 */
#include "cache_model/cache_model.h"
#include "chip/caches/private_cache.h"
#include "chip_fixture.h"
#include "run_suite.h"

#include "base/random.h"

/* A mix of strides, of random accesses, and of accesses that cross a block. */
static void fill(struct chip_script *script, uint64_t seed)
{
    for (unsigned i = 0; i < CHIP_EVENTS_MOST; i++) {
        uint64_t address = i % 3 == 0 ? (uint64_t)i * 24 % 65536 : random_below(&seed, 65536);
        struct trace_event *event =
            chip_event(script, 0, i % 5 == 0 ? TRACE_STORE : TRACE_LOAD, address);

        event->dependent = i % 7 == 0;
    }
}

/* As cachegrind counts: an access misses once, even if both blocks that it is in miss. */
static uint64_t model_misses(const struct chip_script *script, const struct machine *machine)
{
    struct cache_model_geometry geometry = {machine->l1.size / machine->block / machine->l1.ways,
                                            machine->l1.ways, machine->block};
    struct cache_model model;
    void *memory = malloc(cache_model_bytes(&geometry));
    uint64_t misses = 0;

    ck_assert_ptr_nonnull(memory);
    cache_model_init(&model, &geometry, CACHE_MODEL_LRU, memory);
    for (unsigned i = 0; i < script->count[0]; i++) {
        uint64_t first = script->events[0][i].address, last = first + 7;
        bool hit = cache_model_access(&model, first, 0).hit;

        if (last / machine->block != first / machine->block)
            hit = cache_model_access(&model, last, 0).hit && hit;
        misses += !hit;
    }
    free(memory);
    return misses;
}

START_TEST(one_core_alone_misses_where_the_cache_model_does)
{
    static const uint32_t windows[] = {1, 4, 64}, sizes[] = {512, 4096, 32768};
    struct chip_script *script = malloc(sizeof *script);
    struct cores *cores = malloc(sizeof *cores);

    ck_assert(script != NULL && cores != NULL);
    for (unsigned i = 0; i < 9; i++) {
        struct machine machine = chip_machine((enum machine_protocol)(i % 3));

        machine.core.count = 1;
        machine.core.window = windows[i / 3];
        machine.l1.size = sizes[i % 3];
        memset(script, 0, sizeof *script);
        fill(script, i);
        chip_replay(script, &machine, cores);
        ck_assert_uint_eq(chip_total(cores, COUNT_ACCESSES), CHIP_EVENTS_MOST);
        ck_assert_uint_eq(CHIP_EVENTS_MOST - chip_total(cores, COUNT_L1_HITS),
                          model_misses(script, &machine));
        cores_destroy(cores);
    }
    free(cores);
    free(script);
}
END_TEST

static struct private_cache cache_of(bool inclusive)
{
    struct private_cache cache = {.inclusive = inclusive};

    /* One block in the first level, two in the second. */
    ck_assert(array_init(&cache.l1, 1, 1, 0) && array_init(&cache.l2, 1, 2, 0));
    return cache;
}

/* The block that leaves, or ARRAY_NONE. */
static uint64_t bring(struct private_cache *cache, uint64_t block,
                      enum private_cache_place expected)
{
    struct private_cache_victim victim;
    struct line *line = NULL;

    ck_assert_int_eq(private_cache_bring(cache, block, &line, &victim), expected);
    if (expected == PRIVATE_CACHE_FULL)
        return ARRAY_NONE;
    line->tokens = (uint16_t)(10 + block);
    return victim.any ? victim.block : ARRAY_NONE;
}

static void destroy(struct private_cache *cache)
{
    array_destroy(&cache->l1);
    array_destroy(&cache->l2);
}

START_TEST(an_exclusive_second_level_holds_what_left_the_first)
{
    struct private_cache cache = cache_of(false);

    ck_assert_uint_eq(bring(&cache, 1, PRIVATE_CACHE_NEW), ARRAY_NONE);
    ck_assert_uint_eq(bring(&cache, 2, PRIVATE_CACHE_NEW), ARRAY_NONE);
    ck_assert_uint_eq(bring(&cache, 3, PRIVATE_CACHE_NEW), ARRAY_NONE); /* 3 blocks fit */
    ck_assert_uint_eq(private_cache_find(&cache, 1)->tokens, 11);
    ck_assert_uint_eq(bring(&cache, 1, PRIVATE_CACHE_L2), ARRAY_NONE); /* 1 and 3 change places */
    ck_assert_uint_eq(bring(&cache, 4, PRIVATE_CACHE_NEW), 2);
    ck_assert_ptr_null(private_cache_find(&cache, 2));
    destroy(&cache);
}
END_TEST

START_TEST(an_inclusive_second_level_holds_the_first_and_takes_it_along)
{
    struct private_cache cache = cache_of(true);

    ck_assert_uint_eq(bring(&cache, 1, PRIVATE_CACHE_NEW), ARRAY_NONE);
    ck_assert_uint_eq(bring(&cache, 2, PRIVATE_CACHE_NEW), ARRAY_NONE); /* 2 blocks fit */
    ck_assert_uint_eq(private_cache_find(&cache, 1)->tokens, 11);
    ck_assert_uint_eq(bring(&cache, 1, PRIVATE_CACHE_L2), ARRAY_NONE);
    ck_assert_uint_eq(private_cache_find(&cache, 1)->tokens, 11);
    ck_assert_uint_eq(bring(&cache, 3, PRIVATE_CACHE_NEW), 2);
    ck_assert_ptr_nonnull(array_find(&cache.l2, 1));
    private_cache_remove(&cache, 3);
    ck_assert_ptr_null(private_cache_find(&cache, 3));
    destroy(&cache);
}
END_TEST

START_TEST(a_block_that_is_waited_for_stays)
{
    for (int inclusive = 0; inclusive < 2; inclusive++) {
        struct private_cache cache = cache_of(inclusive != 0);

        bring(&cache, 1, PRIVATE_CACHE_NEW);
        array_find(&cache.l1, 1)->pending = true;
        bring(&cache, 2, PRIVATE_CACHE_FULL);
        ck_assert_ptr_nonnull(array_find(&cache.l1, 1));
        destroy(&cache);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_caches");
    TCase *tests = tcase_create("chip_caches");

    tcase_add_test(tests, one_core_alone_misses_where_the_cache_model_does);
    tcase_add_test(tests, an_exclusive_second_level_holds_what_left_the_first);
    tcase_add_test(tests, an_inclusive_second_level_holds_the_first_and_takes_it_along);
    tcase_add_test(tests, a_block_that_is_waited_for_stays);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
