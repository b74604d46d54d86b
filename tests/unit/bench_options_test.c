/*
 * SPDX-License-Identifier: MIT
 *
 * What the benchmarks' command lines promise: good values are taken, and each bad one is refused by
 * a single line that names the option and what is allowed.
 */
#include "harness/nearest.h"
#include "harness/options.h"

#include "run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static uint64_t size, bytes, seed;
static const char *text;
static bool flag, seed_given;
static char complaint[256];

static const struct command_option options[] = {
    {.name = "size",
     .kind = OPTION_NUMBER,
     .value_name = "BYTES",
     .help = "size help",
     .least = 16,
     .greatest = 4096,
     .target = &size,
     .required = true},
    {.name = "bytes",
     .kind = OPTION_SIZE,
     .value_name = "BYTES",
     .help = "",
     .least = 16,
     .greatest = 1 << 20,
     .target = &bytes},
    {.name = "seed",
     .kind = OPTION_NUMBER,
     .value_name = "N",
     .help = "seed help",
     .greatest = UINT64_MAX,
     .target = &seed,
     .given = &seed_given},
    {.name = "counters", .kind = OPTION_TEXT, .value_name = "E", .help = "", .target = &text},
    {.name = "csv", .kind = OPTION_FLAG, .help = "csv help", .target = &flag},
};
enum { COUNT = sizeof options / sizeof *options };

/* Parses a command line that ends with NULL, from a clean state. */
static enum options_verdict parse(char *const *arguments)
{
    char *argv[16] = {(char *)"program"};
    int argc = 1;

    size = 7;
    seed = 1;
    text = NULL;
    flag = seed_given = false;
    *complaint = '\0';
    for (; *arguments != NULL; arguments++)
        argv[argc++] = *arguments;
    return options_parse(options, COUNT, argc, argv, complaint, sizeof complaint);
}
#define PARSE(...) parse((char *const[]){__VA_ARGS__, NULL})

START_TEST(options_are_taken_in_both_spellings)
{
    ck_assert_int_eq(PARSE("--size", "512", "--seed=9", "--csv", "--counters", "a,b"), OPTIONS_RUN);
    ck_assert_uint_eq(size, 512);
    ck_assert_uint_eq(seed, 9);
    ck_assert_str_eq(text, "a,b");
    ck_assert(flag);
    ck_assert(seed_given);
    ck_assert_str_eq(complaint, "");
}
END_TEST

START_TEST(an_option_that_was_not_given_keeps_its_default)
{
    ck_assert_int_eq(PARSE("--size", "16"), OPTIONS_RUN);
    ck_assert_uint_eq(seed, 1);
    ck_assert_ptr_null(text);
    ck_assert(!flag);
    ck_assert(!seed_given);
}
END_TEST

START_TEST(both_ends_of_a_range_are_in_it)
{
    ck_assert_int_eq(PARSE("--size", "16"), OPTIONS_RUN);
    ck_assert_int_eq(PARSE("--size", "4096"), OPTIONS_RUN);
    ck_assert_int_eq(PARSE("--size", "4096", "--seed", "18446744073709551615"), OPTIONS_RUN);
    ck_assert_uint_eq(seed, UINT64_MAX);
}
END_TEST

START_TEST(a_bad_number_is_refused_with_its_range)
{
    static const char *const bad[] = {
        "0",   "15",   "4097", "abc",  "-5",   "+16", "1e3",  "16 ",
        " 16", "0x20", "16k",  "16.0", "16,5", "",    "１６", "18446744073709551632",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(PARSE("--size", (char *)bad[i]) == OPTIONS_BAD, "'%s' was taken", bad[i]);
        ck_assert_ptr_nonnull(strstr(complaint, "--size"));
        ck_assert_ptr_nonnull(strstr(complaint, bad[i]));
        ck_assert_ptr_nonnull(strstr(complaint, "from 16 to 4096"));
        ck_assert_ptr_null(strchr(complaint, '\n'));
        ck_assert_uint_eq(size, 7);
    }
}
END_TEST

START_TEST(a_size_may_have_a_suffix)
{
    ck_assert_int_eq(PARSE("--size", "512", "--bytes", "64"), OPTIONS_RUN);
    ck_assert_uint_eq(bytes, 64);
    ck_assert_int_eq(PARSE("--size", "512", "--bytes", "64K"), OPTIONS_RUN);
    ck_assert_uint_eq(bytes, 65536);
    ck_assert_int_eq(PARSE("--size", "512", "--bytes=1m"), OPTIONS_RUN);
    ck_assert_uint_eq(bytes, 1 << 20);
}
END_TEST

START_TEST(a_bad_size_is_refused_with_its_range_and_the_form)
{
    static const char *const bad[] = {
        "15", "0K", "2M", "1G", "K", "1KB", "1 K", "64T", "1KK", "-1K", "", "17179869184G",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(PARSE("--size", "512", "--bytes", (char *)bad[i]) == OPTIONS_BAD,
                      "'%s' was taken", bad[i]);
        ck_assert_ptr_nonnull(strstr(complaint, "a size from 16 to 1048576 bytes"));
        ck_assert_ptr_nonnull(strstr(complaint, "for instance 500 or 64K"));
    }
}
END_TEST

START_TEST(whatever_is_not_an_option_is_refused_by_name)
{
    static const char *const bad[] = {"--sise",    "512",   "-s",      "--",       "-",
                                      "--size512", "--siz", "--siz=1", "--versio", "-size"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(PARSE("--size", "512", (char *)bad[i]) == OPTIONS_BAD, "'%s' was taken",
                      bad[i]);
        ck_assert_ptr_nonnull(strstr(complaint, bad[i]));
        ck_assert_ptr_null(strchr(complaint, '\n'));
    }
}
END_TEST

START_TEST(a_missing_value_is_not_the_next_option)
{
    ck_assert_int_eq(PARSE("--size"), OPTIONS_BAD);
    ck_assert_str_eq(complaint, "--size needs a value: BYTES");
    ck_assert_int_eq(PARSE("--size", "16", "--counters", "--csv"), OPTIONS_BAD);
    ck_assert_str_eq(complaint, "--counters needs a value: E");
    ck_assert_int_eq(PARSE("--size", "16", "--counters="), OPTIONS_BAD);
    ck_assert_int_eq(PARSE("--size="), OPTIONS_BAD);
}
END_TEST

START_TEST(a_flag_takes_no_value)
{
    ck_assert_int_eq(PARSE("--size", "16", "--csv=1"), OPTIONS_BAD);
    ck_assert_str_eq(complaint, "--csv takes no value");
    ck_assert_int_eq(PARSE("--help=me"), OPTIONS_BAD);
    ck_assert_str_eq(complaint, "--help takes no value");
}
END_TEST

START_TEST(a_required_option_is_missed)
{
    ck_assert_int_eq(PARSE("--csv"), OPTIONS_BAD);
    ck_assert_str_eq(complaint, "--size BYTES is missing");
}
END_TEST

START_TEST(help_wins_over_what_is_missing_and_names_every_option)
{
    char help[4096] = "";
    FILE *stream = fmemopen(help, sizeof help, "w");

    ck_assert_int_eq(PARSE("--help"), OPTIONS_HELP);
    options_help(stream, "program", "What it does.", options, COUNT);
    fclose(stream);
    ck_assert_ptr_nonnull(strstr(help, "usage: program --size BYTES [--bytes BYTES] [--seed N]"));
    ck_assert_ptr_nonnull(strstr(help, "What it does."));
    ck_assert_ptr_nonnull(strstr(help, "size help"));
    ck_assert_ptr_nonnull(strstr(help, "csv help"));
}
END_TEST

START_TEST(the_version_wins_over_what_is_missing)
{
    char line[64] = "";
    FILE *stream = fmemopen(line, sizeof line, "w");

    ck_assert_int_eq(PARSE("--version"), OPTIONS_VERSION);
    options_version(stream, "program");
    fclose(stream);
    ck_assert_ptr_nonnull(strstr(line, "program (mplace) 0."));
}
END_TEST

/* The nearest of a few names to a word; "" if none is near. */
static const char *nearest_to(const char *word)
{
    static const char *const names[] = {"pair", "batch", "larson", "sh6", "sh8", "cache-thrash"};
    struct nearest nearest;

    nearest_begin(&nearest, word, strlen(word));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        nearest_offer(&nearest, names[i], strlen(names[i]));
    return nearest.name != NULL ? nearest.name : "";
}

START_TEST(the_nearest_name_is_two_edits_away_at_most)
{
    ck_assert_str_eq(nearest_to("larson"), "larson");
    ck_assert_str_eq(nearest_to("larsson"), "larson");
    ck_assert_str_eq(nearest_to("lrason"), "larson");
    ck_assert_str_eq(nearest_to("lars"), "larson");
    ck_assert_str_eq(nearest_to("lar"), "");
    ck_assert_str_eq(nearest_to("cachethrahs"), "cache-thrash");
    ck_assert_str_eq(nearest_to("pari"), "pair");
    ck_assert_str_eq(nearest_to("harson"), "larson");
    ck_assert_str_eq(nearest_to("horson"), "");
    ck_assert_str_eq(nearest_to("nothing"), "");
}
END_TEST

START_TEST(the_nearest_name_to_a_short_word_is_one_edit_away)
{
    ck_assert_str_eq(nearest_to("sh"), "sh6");
    ck_assert_str_eq(nearest_to("hs8"), "sh8");
    ck_assert_str_eq(nearest_to("s"), "");
    ck_assert_str_eq(nearest_to(""), "");
}
END_TEST

START_TEST(a_word_longer_than_any_name_is_like_nothing)
{
    char word[1000];

    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    ck_assert_str_eq(nearest_to(word), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench_options");
    TCase *tests = tcase_create("options");

    tcase_add_test(tests, options_are_taken_in_both_spellings);
    tcase_add_test(tests, an_option_that_was_not_given_keeps_its_default);
    tcase_add_test(tests, both_ends_of_a_range_are_in_it);
    tcase_add_test(tests, a_bad_number_is_refused_with_its_range);
    tcase_add_test(tests, whatever_is_not_an_option_is_refused_by_name);
    tcase_add_test(tests, a_missing_value_is_not_the_next_option);
    tcase_add_test(tests, a_flag_takes_no_value);
    tcase_add_test(tests, a_required_option_is_missed);
    tcase_add_test(tests, help_wins_over_what_is_missing_and_names_every_option);
    tcase_add_test(tests, a_size_may_have_a_suffix);
    tcase_add_test(tests, a_bad_size_is_refused_with_its_range_and_the_form);
    tcase_add_test(tests, the_version_wins_over_what_is_missing);
    tcase_add_test(tests, the_nearest_name_is_two_edits_away_at_most);
    tcase_add_test(tests, the_nearest_name_to_a_short_word_is_one_edit_away);
    tcase_add_test(tests, a_word_longer_than_any_name_is_like_nothing);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
