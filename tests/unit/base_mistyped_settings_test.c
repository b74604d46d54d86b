/*
 * SPDX-License-Identifier: MIT
 *
 * Which variables nearly are a setting, and which one.
 */
#include "base/text/mistyped_settings.h"

#include "run_suite.h"

#include <check.h>

enum { EVERY = SETTINGS_CIA | SETTINGS_RAND | SETTINGS_LOCKS | SETTINGS_ALL };

/* What a variable was probably meant to be; "" when nothing is said about it. */
static const char *meant(const char *variable, unsigned families)
{
    static char name[SETTING_NAME_SIZE];

    return mistyped_setting(variable, families, name) ? name : "";
}

START_TEST(one_edit_is_near)
{
    ck_assert_str_eq(meant("CIA_HARDE=1", EVERY), "CIA_HARDEN");
    ck_assert_str_eq(meant("CIA_HHARDEN=1", EVERY), "CIA_HARDEN");
    ck_assert_str_eq(meant("CIA_HARDAN=1", EVERY), "CIA_HARDEN");
    ck_assert_str_eq(meant("CIA_HADREN=1", EVERY), "CIA_HARDEN");
    ck_assert_str_eq(meant("MPLACE_L1=64x8", EVERY), "MPLACE_L1D");
    ck_assert_str_eq(meant("TTSTLE_HTN=none", EVERY), "TTSTLE_HTM");
}
END_TEST

START_TEST(two_edits_are_near_in_a_longer_name_that_begins_alike)
{
    ck_assert_str_eq(meant("CIA_HARDENED=1", EVERY), "CIA_HARDEN");
    ck_assert_str_eq(meant("CIA_HUGEPAGE=1", EVERY), "CIA_HUGE_PAGES");
    ck_assert_str_eq(meant("CIA_GARDEND=1", EVERY), "");
    ck_assert_str_eq(meant("RAND_SE=1", EVERY), "");
    ck_assert_str_eq(meant("TTS_WARE=1", EVERY), "");
}
END_TEST

START_TEST(a_name_that_begins_as_a_setting_does_is_near)
{
    ck_assert_str_eq(meant("CIA_DECAY=0", EVERY), "CIA_DECAY_MS");
    ck_assert_str_eq(meant("CIA_HARDENING=1", EVERY), "CIA_HARDEN");
    ck_assert_str_eq(meant("MPLACE_STATS=1", EVERY), "MPLACE_STATS_LIVE");
    ck_assert_str_eq(meant("RAND_MAX=1", EVERY), "");
    ck_assert_str_eq(meant("TTS_WAITING_ROOM=1", EVERY), "");
}
END_TEST

START_TEST(a_name_of_the_other_lock_library_must_be_whole)
{
    ck_assert_str_eq(meant("TTSTLE_WAIT=spin", EVERY), "TTS_WAIT");
    ck_assert_str_eq(meant("TTS_POLICY=paper", EVERY), "TTSTLE_POLICY");
    ck_assert_str_eq(meant("TTS_POLICIES=paper", EVERY), "");
    ck_assert_str_eq(meant("RAND_WAIT=spin", EVERY), "");
}
END_TEST

START_TEST(settings_and_what_is_like_none_are_not_told_of)
{
    static const char *const others[] = {
        "CIA_HARDEN=1",
        "CIA_STATS=1",
        "TTS_STATS=1",
        "TTSTLE_STATS=1",
        "MPLACE_L2=1024x8",
        "CIA_",
        "CIA_=1",
        "CIA",
        "TTS_VOICE=x",
        "RAND_API_KEY=x",
        "PATH=/bin",
        "",
        "=1",
        "cia_harden=1",
        "CIA_A_NAME_OF_MANY_MORE_LETTERS_THAN_ANY_SETTING_HAS_OR_WILL_EVER_HAVE=1",
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_str_eq(meant(others[i], EVERY), "");
}
END_TEST

START_TEST(only_the_families_asked_for_are_looked_at)
{
    ck_assert_str_eq(meant("CIA_HARDENED=1", SETTINGS_RAND | SETTINGS_LOCKS), "");
    ck_assert_str_eq(meant("MPLACE_NUM=1", SETTINGS_CIA), "");
    ck_assert_str_eq(meant("MPLACE_NUM=1", SETTINGS_ALL), "MPLACE_NUMA");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_mistyped_settings");
    TCase *tests = tcase_create("mistyped");

    tcase_add_test(tests, one_edit_is_near);
    tcase_add_test(tests, two_edits_are_near_in_a_longer_name_that_begins_alike);
    tcase_add_test(tests, a_name_that_begins_as_a_setting_does_is_near);
    tcase_add_test(tests, a_name_of_the_other_lock_library_must_be_whole);
    tcase_add_test(tests, settings_and_what_is_like_none_are_not_told_of);
    tcase_add_test(tests, only_the_families_asked_for_are_looked_at);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
