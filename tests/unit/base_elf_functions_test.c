/*
 * SPDX-License-Identifier: MIT
 *
 * Many places of one file at once, in functions and between them.
 */
#include "base/code/elf_functions.h"

#include "run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct process_mapping mapping;
static struct elf_file file;

/* The mapping of this program's code. */
static void open_own_code(const void *code)
{
    static struct process_maps maps;
    uint64_t address = (uint64_t)(uintptr_t)code;
    bool found = false;

    ck_assert(process_maps_open(&maps, "/proc/self/maps"));
    while (!found && process_maps_next(&maps, &mapping))
        found = address >= mapping.start && address < mapping.end;
    process_maps_close(&maps);
    ck_assert(found);
    ck_assert(elf_open_mapped(&file, &mapping, ""));
}

static struct elf_place place_of(const void *code)
{
    struct elf_place place;
    uint64_t offset = (uint64_t)(uintptr_t)code - mapping.start + mapping.file_offset;

    ck_assert(elf_place_at(&file, offset, &place));
    return place;
}

static __attribute__((noinline)) int first_function(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

static __attribute__((noinline)) int second_function(int value)
{
    __asm__ volatile("nop" : "+r"(value));
    return value;
}

static int compare(const void *a, const void *b)
{
    const struct elf_place *left = a, *right = b;

    return left->address < right->address ? -1 : left->address > right->address;
}

static void check_name(const struct elf_place *places, size_t count, uint64_t address,
                       const char *expected)
{
    char name[64];

    for (size_t i = 0; i < count; i++) {
        if (places[i].address == address) {
            ck_assert_int_eq(elf_read_name(&file, &places[i], name, sizeof name),
                             expected[0] != '\0');
            ck_assert_str_eq(name, expected);
        }
    }
}

START_TEST(each_of_many_places_gets_the_function_that_covers_it)
{
    const char *first = (const char *)(const void *)&first_function;
    const char *second = (const char *)(const void *)&second_function;

    open_own_code(first);
    struct elf_place places[] = {place_of(first), place_of(first + 1), place_of(second),
                                 place_of(second), place_of(second + 1)};
    enum { COUNT = sizeof places / sizeof places[0] };
    uint64_t in_first = places[1].address, at_second = places[2].address;

    qsort(places, COUNT, sizeof places[0], compare);
    elf_find_functions(&file, places, COUNT);
    check_name(places, COUNT, in_first - 1, "first_function");
    check_name(places, COUNT, in_first, "first_function");
    check_name(places, COUNT, at_second, "second_function");
    check_name(places, COUNT, at_second + 1, "second_function");
    elf_close(&file);
}
END_TEST

START_TEST(a_place_that_no_function_covers_has_no_name)
{
    open_own_code((const void *)&first_function);
    struct elf_place places[] = {{.address = 1}, {.address = (uint64_t)1 << 60}};

    elf_find_functions(&file, places, 2);
    check_name(places, 2, 1, "");
    check_name(places, 2, (uint64_t)1 << 60, "");
    elf_close(&file);
}
END_TEST

START_TEST(a_name_without_room_is_cut)
{
    char name[6];

    open_own_code((const void *)&first_function);
    struct elf_place place = place_of((const void *)&first_function);
    elf_find_functions(&file, &place, 1);
    ck_assert(elf_read_name(&file, &place, name, sizeof name));
    ck_assert_str_eq(name, "first");
    elf_close(&file);
}
END_TEST

START_TEST(a_file_that_is_not_the_mapped_one_is_not_opened)
{
    open_own_code((const void *)&first_function);
    elf_close(&file);
    mapping.inode++;
    ck_assert(!elf_open_mapped(&file, &mapping, ""));
    mapping.inode--;
    ck_assert(!elf_open_mapped(&file, &mapping, "/no/such/root"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elf functions");
    TCase *tests = tcase_create("elf functions");

    tcase_add_test(tests, each_of_many_places_gets_the_function_that_covers_it);
    tcase_add_test(tests, a_place_that_no_function_covers_has_no_name);
    tcase_add_test(tests, a_name_without_room_is_cut);
    tcase_add_test(tests, a_file_that_is_not_the_mapped_one_is_not_opened);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
