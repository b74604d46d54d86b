/*
 * SPDX-License-Identifier: MIT
 *
 * The whole search, from the time of pairs to functions, on simulated memories: those of the maps
 * that come with mplace, random ones, noisy ones, and such that tell nothing.
 */
#include "dram_probe/search.h"
#include "dram_probe/simulated.h"

#include "dram_fixture.h"
#include "run_suite.h"

static enum search_verdict search(struct simulated_memory *memory, struct search_result *result)
{
    struct dram_probe probe;
    enum search_verdict verdict;

    ck_assert(simulated_open(memory, SEARCH_ADDRESSES, simulated_bits(&memory->map)));
    probe = simulated_probe(memory);
    verdict = search_functions(&probe, memory->seed, result);
    simulated_close(memory);
    return verdict;
}

static struct simulated_memory memory_of(const char *name, uint64_t seed)
{
    struct simulated_memory memory = {.noise = simulated_noise_usual, .seed = seed};

    ck_assert_msg(dram_map_shipped(&memory.map, name), "%s", name);
    return memory;
}

START_TEST(every_shipped_map_is_found)
{
    const char *name = dram_map_shipped_name((unsigned)_i);
    struct simulated_memory memory = memory_of(name, 1);
    struct search_result result;

    ck_assert_msg(search(&memory, &result) == SEARCH_FOUND, "%s", name);
    ck_assert_msg(tells_the_same(&result.map, &memory.map), "%s: %u functions", name,
                  result.map.banks);
}
END_TEST

START_TEST(random_maps_are_found)
{
    uint64_t state = 5;

    for (unsigned round = 0; round < 16; round++) {
        struct simulated_memory memory = {.noise = simulated_noise_usual, .seed = round};
        struct search_result result;

        make_random_map(&memory.map, 1 + round % 8, 36, &state);
        ck_assert_msg(search(&memory, &result) == SEARCH_FOUND, "round %u", round);
        ck_assert_msg(tells_the_same(&result.map, &memory.map), "round %u", round);
    }
}
END_TEST

START_TEST(controllers_are_found_as_banks)
{
    struct simulated_memory memory = memory_of("tilepro64", 2);
    struct search_result result;

    ck_assert_int_eq(search(&memory, &result), SEARCH_FOUND);
    ck_assert_uint_eq(result.map.banks, 5);
    ck_assert_uint_eq(result.map.controllers, 0);
}
END_TEST

START_TEST(a_seed_makes_the_search_again)
{
    struct simulated_memory memory = memory_of("haswell-e5-2608lv3", 3);
    struct search_result first, second;

    ck_assert_int_eq(search(&memory, &first), SEARCH_FOUND);
    ck_assert_int_eq(search(&memory, &second), SEARCH_FOUND);
    ck_assert_mem_eq(&first, &second, sizeof first);
}
END_TEST

/* Of addresses below 1 << 28, functions with higher bits are seen without them. */
START_TEST(functions_are_found_as_far_as_bits_vary)
{
    struct simulated_memory memory = memory_of("jetson-orin-nano", 1);
    struct dram_map expected = memory.map;
    struct search_result result;
    struct dram_probe probe;

    for (uint32_t i = 0; i < expected.banks; i++)
        expected.bank[i] &= 0xfffffc0;
    ck_assert(simulated_open(&memory, SEARCH_ADDRESSES, 28));
    probe = simulated_probe(&memory);
    ck_assert_int_eq(search_functions(&probe, 1, &result), SEARCH_FOUND);
    simulated_close(&memory);
    ck_assert_uint_eq(result.bits, 0xfffffc0);
    ck_assert(tells_the_same(&result.map, &expected));
}
END_TEST

/* ---- noise: how much is borne, and that what is beyond yields no map ---- */

static const char *const sizes[] = {"raspberrypi4", "sandybridge", "skylake-2channels",
                                    "zen5-9900x"};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static const struct {
    const char *what;
    struct simulated_noise noise;
    bool is_borne;
} noises[] = {
    {"no noise", {320, 90, 0, 0, 2000, 0}, true},
    {"jitter of a third of a conflict", {320, 90, 30, 20000, 2000, 0}, true},
    {"jitter of two thirds", {320, 90, 60, 20000, 2000, 0}, false},
    {"conflicts of two deviations", {320, 30, 15, 20000, 2000, 0}, false},
    {"a tenth disturbed", {320, 90, 15, 100000, 2000, 0}, true},
    {"two fifths disturbed", {320, 90, 15, 400000, 2000, 0}, false},
    {"3 % of the pairs wrong", {320, 90, 15, 20000, 2000, 30000}, true},
    {"a seventh of the pairs wrong", {320, 90, 15, 20000, 2000, 140000}, false},
};

START_TEST(noise_is_borne_or_said_to_hide_the_banks)
{
    for (unsigned i = 0; i < SIZES; i++) {
        struct simulated_memory memory = memory_of(sizes[i], 4);
        struct search_result result;
        enum search_verdict verdict;

        memory.noise = noises[_i].noise;
        verdict = search(&memory, &result);
        ck_assert_msg((verdict == SEARCH_FOUND) == noises[_i].is_borne, "%s, %s: verdict %d",
                      noises[_i].what, sizes[i], verdict);
        ck_assert_msg(verdict != SEARCH_FOUND || tells_the_same(&result.map, &memory.map),
                      "%s, %s: another map", noises[_i].what, sizes[i]);
    }
}
END_TEST

/* Between them it may find the map or not, but no other one. */
START_TEST(no_noise_yields_a_wrong_map)
{
    uint64_t state = 9;

    for (unsigned round = 0; round < 24; round++) {
        struct simulated_memory memory = {.seed = round};
        struct search_result result;

        memory.noise = (struct simulated_noise){
            .different = 320,
            .conflict = 20 + random_below(&state, 100),
            .jitter = random_below(&state, 60),
            .spike_rate = random_below(&state, 300000),
            .spike = 1 + random_below(&state, 4000),
            .wrong_rate = random_below(&state, 150000),
        };
        make_random_map(&memory.map, 1 + round % 8, 34, &state);
        ck_assert_msg(search(&memory, &result) != SEARCH_FOUND ||
                          tells_the_same(&result.map, &memory.map),
                      "round %u", round);
    }
}
END_TEST

/* ---- memories that tell nothing ---- */

START_TEST(a_memory_without_conflicts_has_one_latency)
{
    for (unsigned seed = 0; seed < 8; seed++) {
        struct simulated_memory memory = memory_of(sizes[seed % SIZES], seed);
        struct search_result result;

        memory.noise.conflict = 0;
        memory.noise.jitter = seed * 10;
        ck_assert_int_eq(search(&memory, &result), SEARCH_ONE_LATENCY);
        ck_assert_double_eq_tol(result.fast, 320, 30);
    }
}
END_TEST

START_TEST(a_memory_of_one_bank_has_one_latency)
{
    struct simulated_memory memory = {.noise = simulated_noise_usual, .seed = 1};
    struct search_result result;

    ck_assert_int_eq(search(&memory, &result), SEARCH_ONE_LATENCY);
    ck_assert_double_eq_tol(result.fast, 410, 30);
}
END_TEST

START_TEST(pairs_that_are_slow_by_themselves_make_no_bank)
{
    struct simulated_memory memory = {.noise = simulated_noise_usual, .seed = 1};
    uint64_t state = 1;
    struct search_result result;

    make_random_map(&memory.map, DRAM_FUNCTIONS_MOST, 36, &state);
    memory.noise.wrong_rate = 5000;
    ck_assert_int_eq(search(&memory, &result), SEARCH_NO_BANK);
}
END_TEST

START_TEST(frames_that_a_hypervisor_scatters_hide_the_functions)
{
    for (int i = 0; dram_map_shipped_name((unsigned)i) != NULL; i++) {
        struct simulated_memory memory = memory_of(dram_map_shipped_name((unsigned)i), 1);
        struct search_result result;
        enum search_verdict verdict;

        memory.scrambled = true;
        verdict = search(&memory, &result);
        ck_assert_msg(verdict == SEARCH_NO_FUNCTION || verdict == SEARCH_NOT_CONFIRMED,
                      "%s: verdict %d", memory.map.name, verdict);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dram_search");
    TCase *found = tcase_create("found");
    TCase *noise = tcase_create("noise");
    TCase *nothing = tcase_create("nothing");
    int maps = 0;

    while (dram_map_shipped_name((unsigned)maps) != NULL)
        maps++;
    tcase_add_loop_test(found, every_shipped_map_is_found, 0, maps);
    tcase_add_test(found, random_maps_are_found);
    tcase_add_test(found, controllers_are_found_as_banks);
    tcase_add_test(found, a_seed_makes_the_search_again);
    tcase_add_test(found, functions_are_found_as_far_as_bits_vary);
    tcase_add_loop_test(noise, noise_is_borne_or_said_to_hide_the_banks, 0,
                        sizeof noises / sizeof noises[0]);
    tcase_add_test(noise, no_noise_yields_a_wrong_map);
    tcase_add_test(nothing, a_memory_without_conflicts_has_one_latency);
    tcase_add_test(nothing, a_memory_of_one_bank_has_one_latency);
    tcase_add_test(nothing, pairs_that_are_slow_by_themselves_make_no_bank);
    tcase_add_test(nothing, frames_that_a_hypervisor_scatters_hide_the_functions);
    suite_add_tcase(suite, found);
    suite_add_tcase(suite, noise);
    suite_add_tcase(suite, nothing);
    return run_suite(suite);
}
