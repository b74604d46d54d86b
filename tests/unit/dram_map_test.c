/*
 * SPDX-License-Identifier: MIT
 *
 * Map files, the maps that come with mplace, and what a map tells without its low bits.
 */
#include "bank_malloc/dram_map.h"
#include "bank_malloc/gf2.h"
#include "base/random.h"

#include "run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEM_SIZE = 256 };

static bool parse(struct dram_map *map, const char *text, char problem[PROBLEM_SIZE])
{
    return dram_map_parse(map, "map.txt", text, strlen(text), problem, PROBLEM_SIZE);
}

static struct dram_map parsed(const char *text)
{
    char problem[PROBLEM_SIZE] = "";
    struct dram_map map;

    ck_assert_msg(parse(&map, text, problem), "%s", problem);
    return map;
}

static struct dram_map shipped(const char *name)
{
    struct dram_map map;

    ck_assert_msg(dram_map_shipped(&map, name), "%s", name);
    return map;
}

/* ---- map files ---- */

START_TEST(a_function_a_line_is_the_parity_of_its_bits)
{
    struct dram_map map = parsed("14 18\n15 19\n8 9 12 13 14 15\n");

    ck_assert_uint_eq(map.banks, 3);
    ck_assert_uint_eq(map.controllers, 0);
    ck_assert_str_eq(map.name, "map.txt");
    ck_assert_uint_eq(dram_map_bank(&map, 0), 0);
    ck_assert_uint_eq(dram_map_bank(&map, 1 << 18), 1);
    ck_assert_uint_eq(dram_map_bank(&map, 1 << 14), 5);
    ck_assert_uint_eq(dram_map_bank(&map, 1 << 14 | 1 << 18), 4);
    ck_assert_uint_eq(dram_map_bank(&map, 1 << 15 | 1 << 8), 2);
    ck_assert_uint_eq(dram_map_controller(&map, ~UINT64_C(0)), 0);
}
END_TEST

START_TEST(blanks_commas_comments_and_empty_lines_are_as_pallocs_and_drama_pps)
{
    struct dram_map map = parsed("# found\n\n 7,\t14 # channel\r\n,15, 19,\r\n#\n63");

    ck_assert_uint_eq(map.banks, 3);
    ck_assert_uint_eq(map.bank[0], 1 << 7 | 1 << 14);
    ck_assert_uint_eq(map.bank[1], 1 << 15 | 1 << 19);
    ck_assert_uint_eq(map.bank[2], UINT64_C(1) << 63);
}
END_TEST

START_TEST(functions_behind_the_line_controllers_are_the_controllers)
{
    struct dram_map map = parsed("13\n14\ncontrollers\n34\n35 36\n");

    ck_assert_uint_eq(map.banks, 2);
    ck_assert_uint_eq(map.controllers, 2);
    ck_assert(!map.nodes);
    ck_assert_uint_eq(dram_map_controller(&map, UINT64_C(1) << 36), 2);
    ck_assert_uint_eq(dram_map_controller(&map, UINT64_C(3) << 35 | UINT64_C(1) << 34), 1);
}
END_TEST

START_TEST(controllers_may_be_nodes_with_or_without_banks)
{
    struct dram_map map = parsed("13\ncontrollers nodes # of the kernel\n");

    ck_assert(map.nodes);
    ck_assert_uint_eq(map.controllers, 0);
    map = parsed("controllers nodes");
    ck_assert(map.nodes);
    ck_assert_uint_eq(map.banks, 0);
}
END_TEST

START_TEST(a_text_ends_at_its_length)
{
    struct dram_map map;

    ck_assert(dram_map_parse(&map, "m", "13\n14\n15", 4, NULL, 0));
    ck_assert_uint_eq(map.banks, 2);
    ck_assert_uint_eq(map.bank[1], 1 << 1);
}
END_TEST

static const struct {
    const char *text, *problem;
} refused[] = {
    {"", "map.txt:1: no function in this map, at least one line of bits is needed"},
    {"# nothing\n", "map.txt:2: no function in this map, at least one line of bits is needed"},
    {"13\n14 x\n", "map.txt:2: 'x' is no bit of an address, allowed are 0 to 63 with blanks or "
                   "commas between, a line 'controllers', and comments behind '#'"},
    {"64\n", "map.txt:1: '64' is no bit of an address, allowed are 0 to 63 with blanks or commas "
             "between, a line 'controllers', and comments behind '#'"},
    {"99999999999999999999\n",
     "map.txt:1: '99999999999999999999' is no bit of an address, allowed are 0 to 63 with blanks "
     "or commas between, a line 'controllers', and comments behind '#'"},
    {"-1\n", "map.txt:1: '-1' is no bit of an address, allowed are 0 to 63 with blanks or commas "
             "between, a line 'controllers', and comments behind '#'"},
    {"13 14 13\n", "map.txt:1: '13' stands twice in this function, each bit is allowed once"},
    {"13 14\n14 15\n13 15\n",
     "map.txt:3: this function is the XOR of functions above and tells no banks apart, only "
     "independent ones are allowed"},
    {"13\ncontrollers\n13\n",
     "map.txt:3: this function is the XOR of functions above and tells no banks apart, only "
     "independent ones are allowed"},
    {"13\ncontrollers 14\n", "map.txt:2: '14' cannot stand here, allowed are 'controllers' alone "
                             "and 'controllers nodes'"},
    {"13\ncontrollers nodes 2\n", "map.txt:2: '2' cannot stand here, allowed are 'controllers' "
                                  "alone and 'controllers nodes'"},
    {"controllers\n14\ncontrollers\n",
     "map.txt:3: a second line 'controllers', only one is allowed"},
    {"13\ncontrollers\n", "map.txt:3: no function behind 'controllers', allowed are functions or "
                          "'controllers nodes'"},
    {"controllers nodes\n14\n", "map.txt:2: a function behind 'controllers nodes', where the nodes "
                                "are the controllers and none is allowed"},
    {"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n",
     "map.txt:17: too many functions of the bank, at most 16 are allowed"},
};

START_TEST(a_bad_map_gets_one_line_that_says_where_and_what)
{
    char problem[PROBLEM_SIZE] = "";
    struct dram_map map;

    ck_assert(!parse(&map, refused[_i].text, problem));
    ck_assert_str_eq(problem, refused[_i].problem);
}
END_TEST

START_TEST(a_problem_is_cut_to_its_room)
{
    char problem[16] = "---------------";
    struct dram_map map;

    ck_assert(!dram_map_parse(&map, "map.txt", "x", 1, problem, 12));
    ck_assert_str_eq(problem, "map.txt:1: ");
    ck_assert_str_eq(problem + 12, "---");
    ck_assert(!dram_map_parse(&map, "map.txt", "x", 1, problem, 0));
    ck_assert_str_eq(problem, "map.txt:1: ");
}
END_TEST

START_TEST(a_long_name_is_cut_in_the_map_and_whole_in_the_problem)
{
    char name[100], problem[PROBLEM_SIZE];
    struct dram_map map;

    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    ck_assert(dram_map_parse(&map, name, "13", 2, NULL, 0));
    ck_assert_uint_eq(strlen(map.name), DRAM_MAP_NAME_SIZE - 1);
    ck_assert(!dram_map_parse(&map, name, "", 0, problem, sizeof problem));
    ck_assert_int_eq(strncmp(problem, name, sizeof name - 1), 0);
}
END_TEST

static bool is_one_line(const char *problem)
{
    if (*problem == '\0')
        return false;
    for (; *problem != '\0'; problem++) {
        if (*problem < ' ' || *problem > '~')
            return false;
    }
    return true;
}

/* Random texts of the parser's alphabet, each in a block of its own length: under the address
 * sanitizer a byte read past the end is seen. */
START_TEST(any_text_is_a_map_of_independent_functions_or_one_printable_line)
{
    static const char *const pieces[] = {"13", " ",   ",",     "\n",   "\n",
                                         "6 ", "7\n", "nodes", "#",    "controllers",
                                         "4",  "\t",  "\r",    "\xff", "\x7f"};
    uint64_t state = 1;

    for (unsigned round = 0; round < 20000; round++) {
        char text[128] = "", problem[PROBLEM_SIZE] = "";
        size_t length = 0;
        struct dram_map map;

        for (unsigned i = 0, count = random_below(&state, 12); i < count; i++) {
            const char *piece = pieces[random_below(&state, sizeof pieces / sizeof pieces[0])];

            length = strlen(strcat(text, piece));
        }
        char *copy = malloc(length + (length == 0));
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, text, length);
        if (dram_map_parse(&map, "m", copy, length, problem, sizeof problem)) {
            struct gf2_basis basis = {{0}};

            ck_assert_str_eq(problem, "");
            ck_assert(map.banks + map.controllers != 0 || map.nodes);
            for (uint32_t i = 0; i < map.banks; i++)
                ck_assert(gf2_add(&basis, map.bank[i]));
            for (uint32_t i = 0; i < map.controllers; i++)
                ck_assert(gf2_add(&basis, map.controller[i]));
        } else {
            ck_assert_msg(is_one_line(problem), "%s", problem);
        }
        free(copy);
    }
}
END_TEST

/* ---- the maps that come with mplace ---- */

START_TEST(every_shipped_map_is_a_map)
{
    unsigned count = 0;

    for (const char *name; (name = dram_map_shipped_name(count)) != NULL; count++) {
        struct dram_map map = shipped(name);

        ck_assert_str_eq(map.name, name);
        ck_assert_uint_ge(map.banks, 3);
        for (unsigned other = 0; other < count; other++)
            ck_assert_str_ne(name, dram_map_shipped_name(other));
    }
    ck_assert_uint_ge(count, 11);
    ck_assert_ptr_null(dram_map_shipped_name(count + 1));
}
END_TEST

START_TEST(a_map_that_is_not_shipped_is_not_found)
{
    struct dram_map map;

    ck_assert(!dram_map_shipped(&map, "tilepro6"));
    ck_assert(!dram_map_shipped(&map, ""));
}
END_TEST

START_TEST(tilepro64_is_the_papers)
{
    struct dram_map map = shipped("tilepro64");

    ck_assert_uint_eq(map.banks, 3);
    ck_assert_uint_eq(map.controllers, 2);
    for (uint32_t bank = 0; bank < 8; bank++)
        ck_assert_uint_eq(dram_map_bank(&map, (uint64_t)bank << 13 | 0x1fff), bank);
    for (uint32_t controller = 0; controller < 4; controller++)
        ck_assert_uint_eq(dram_map_controller(&map, (uint64_t)controller << 34), controller);
    ck_assert_uint_eq(dram_map_lowest_bit(&map), 13);
}
END_TEST

/* ---- what is told without the low bits ---- */

START_TEST(functions_without_low_bits_stay_as_they_are)
{
    struct dram_map map = shipped("tilepro64"), whole = map;
    uint32_t banks_out, controllers_out;

    dram_map_restrict(&map, 13, &banks_out, &controllers_out);
    ck_assert_uint_eq(banks_out, 0);
    ck_assert_uint_eq(controllers_out, 0);
    ck_assert_int_eq(memcmp(&map, &whole, sizeof map), 0);
    dram_map_restrict(&map, 14, &banks_out, &controllers_out);
    ck_assert_uint_eq(banks_out, 1);
    ck_assert_uint_eq(map.banks, 2);
    ck_assert_uint_eq(dram_map_bank(&map, 1 << 15), 2);
    dram_map_restrict(&map, 64, &banks_out, &controllers_out);
    ck_assert_uint_eq(banks_out, 2);
    ck_assert_uint_eq(controllers_out, 2);
    ck_assert_uint_eq(dram_map_lowest_bit(&map), 64);
}
END_TEST

/* 7 14 and 7 15 are lost, 14 15 is not. */
START_TEST(combinations_that_cancel_the_low_bits_stay)
{
    struct dram_map map = parsed("7 14\n7 15\n16\n");
    uint32_t banks_out, controllers_out;

    dram_map_restrict(&map, 12, &banks_out, &controllers_out);
    ck_assert_uint_eq(banks_out, 1);
    ck_assert_uint_eq(map.banks, 2);
    ck_assert_uint_eq(map.bank[0], 1 << 14 | 1 << 15);
    ck_assert_uint_eq(map.bank[1], 1 << 16);
}
END_TEST

START_TEST(a_combination_with_a_lost_controller_function_still_tells_banks_apart)
{
    struct dram_map map = parsed("7 14\ncontrollers\n7 30\n");
    uint32_t banks_out, controllers_out;

    dram_map_restrict(&map, 12, &banks_out, &controllers_out);
    ck_assert_uint_eq(controllers_out, 1);
    ck_assert_uint_eq(banks_out, 0);
    ck_assert_uint_eq(map.bank[0], 1 << 14 | 1 << 30);
}
END_TEST

static void random_map(struct dram_map *map, uint64_t *state)
{
    struct gf2_basis basis = {{0}};

    *map = (struct dram_map){.banks = 0};
    while (map->banks < 5) {
        uint64_t function = random_next(state) & random_next(state) & 0xfffff;

        if (gf2_add(&basis, function))
            map->bank[map->banks++] = function;
    }
}

/* Against all 32 combinations of five functions. */
START_TEST(what_stays_is_every_combination_without_low_bits)
{
    uint64_t state = 2;

    for (unsigned round = 0; round < 1000; round++) {
        unsigned lowest_bit = random_below(&state, 21);
        uint32_t banks_out, controllers_out, expected = 0;
        struct gf2_basis kept = {{0}};
        struct dram_map whole, map;

        random_map(&whole, &state);
        map = whole;
        dram_map_restrict(&map, lowest_bit, &banks_out, &controllers_out);
        ck_assert_uint_eq(map.banks + banks_out, 5);
        for (uint32_t i = 0; i < map.banks; i++)
            ck_assert(gf2_add(&kept, map.bank[i]));
        for (uint32_t chosen = 0; chosen < 32; chosen++) {
            uint64_t sum = 0;
            bool is_high;

            for (uint32_t i = 0; i < 5; i++)
                sum ^= (chosen >> i & 1) != 0 ? whole.bank[i] : 0;
            is_high = (sum & ((UINT64_C(1) << lowest_bit) - 1)) == 0;
            ck_assert_int_eq(gf2_reduce(&kept, sum) == 0, is_high);
            expected += is_high;
        }
        ck_assert_uint_eq(1u << map.banks, expected);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dram_map");
    TCase *files = tcase_create("files");
    TCase *shipped_maps = tcase_create("shipped");
    TCase *restricted = tcase_create("restricted");

    tcase_add_test(files, a_function_a_line_is_the_parity_of_its_bits);
    tcase_add_test(files, blanks_commas_comments_and_empty_lines_are_as_pallocs_and_drama_pps);
    tcase_add_test(files, functions_behind_the_line_controllers_are_the_controllers);
    tcase_add_test(files, controllers_may_be_nodes_with_or_without_banks);
    tcase_add_test(files, a_text_ends_at_its_length);
    tcase_add_loop_test(files, a_bad_map_gets_one_line_that_says_where_and_what, 0,
                        sizeof refused / sizeof refused[0]);
    tcase_add_test(files, a_problem_is_cut_to_its_room);
    tcase_add_test(files, a_long_name_is_cut_in_the_map_and_whole_in_the_problem);
    tcase_add_test(files, any_text_is_a_map_of_independent_functions_or_one_printable_line);
    tcase_add_test(shipped_maps, every_shipped_map_is_a_map);
    tcase_add_test(shipped_maps, a_map_that_is_not_shipped_is_not_found);
    tcase_add_test(shipped_maps, tilepro64_is_the_papers);
    tcase_add_test(restricted, functions_without_low_bits_stay_as_they_are);
    tcase_add_test(restricted, combinations_that_cancel_the_low_bits_stay);
    tcase_add_test(restricted,
                   a_combination_with_a_lost_controller_function_still_tells_banks_apart);
    tcase_add_test(restricted, what_stays_is_every_combination_without_low_bits);
    suite_add_tcase(suite, files);
    suite_add_tcase(suite, shipped_maps);
    suite_add_tcase(suite, restricted);
    return run_suite(suite);
}
