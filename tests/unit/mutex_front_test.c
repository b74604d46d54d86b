/*
 * SPDX-License-Identifier: MIT
 *
 * What the front promises whatever the core: which mutexes it leaves to libc, and that those never
 * meet a transaction of ours. The back end is scripted (mutex_fake_htm.h); each pthread_mutex_*
 * below is ours, renamed by macros, and passes on to libc's.
 */
#include "mutex/mutex_layout.h"
#include "mutex/thread_id.h"
#include "mutex_fake_htm.h"
#include "ttstle_lock/elision/elision.h"

#include "run_suite.h"

#include <check.h>
#include <errno.h>

static const struct timespec long_ago = {.tv_sec = 1};

static void fresh(void)
{
    elision_policy = POLICY_PAPER;
    fake_script(NULL, 0);
}

/* The kinds that are libc's, but for ceilings, which only a real-time thread can lock. */
static const struct {
    int robust, protocol, shared;
} foreign[] = {
    {PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED},
    {PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE},
    {PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE},
    {PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_SHARED},
};
enum { FOREIGN = sizeof foreign / sizeof foreign[0] };

static pthread_mutex_t made_foreign(int row, int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;

    ck_assert_int_eq(pthread_mutexattr_init(&attributes), 0);
    ck_assert_int_eq(pthread_mutexattr_settype(&attributes, type), 0);
    ck_assert_int_eq(pthread_mutexattr_setrobust(&attributes, foreign[row].robust), 0);
    ck_assert_int_eq(pthread_mutexattr_setprotocol(&attributes, foreign[row].protocol), 0);
    ck_assert_int_eq(pthread_mutexattr_setpshared(&attributes, foreign[row].shared), 0);
    ck_assert_int_eq(pthread_mutex_init(&mutex, &attributes), 0);
    return mutex;
}

START_TEST(foreign_mutexes_are_taken_by_libc_and_never_elided)
{
    static const int types[] = {PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_NORMAL,
                                PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK};

    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
        pthread_mutex_t mutex = made_foreign(_i, types[i]);
        bool robust = foreign[_i].robust == PTHREAD_MUTEX_ROBUST;

        ck_assert(!kind_is_ours(mutex_kind(&mutex)));
        ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
        ck_assert_int_ne(*mutex_word(&mutex), WORD_FREE);
        ck_assert_int_eq(mutex_owner(&mutex), thread_id());
        if (!robust) /* libc does not ask whether a robust one is held */
            ck_assert_int_eq(pthread_mutex_destroy(&mutex), EBUSY);
        ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
        ck_assert_int_eq(pthread_mutex_trylock(&mutex), 0);
        ck_assert_int_ne(*mutex_word(&mutex), WORD_FREE);
        ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
        ck_assert_int_eq(pthread_mutex_timedlock(&mutex, &long_ago), 0);
        ck_assert_int_ne(*mutex_word(&mutex), WORD_FREE);
        ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
        ck_assert_int_eq(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &long_ago), 0);
        ck_assert_int_ne(*mutex_word(&mutex), WORD_FREE);
        ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
        ck_assert_int_eq(*mutex_word(&mutex), WORD_FREE);
        ck_assert_int_eq(pthread_mutex_destroy(&mutex), 0);
    }
    ck_assert_uint_eq(fake.begins, 0);
}
END_TEST

/* A transaction of another section ends at that section's unlock, not at a foreign mutex's. */
START_TEST(a_foreign_mutex_inside_an_elided_section_does_not_end_it)
{
    pthread_mutex_t ours = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t mutex = made_foreign(_i, PTHREAD_MUTEX_DEFAULT);

    ck_assert_int_eq(pthread_mutex_lock(&ours), 0);
    ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&ours), 0);
    ck_assert_uint_eq(fake.ends, 1);
}
END_TEST

/* Even a mutex in use may be asked for its ceiling, with the same answer elided or not. */
START_TEST(mutexes_of_ours_have_no_robustness_and_no_ceiling)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int ceiling = -7;

    ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
    ck_assert_int_eq(pthread_mutex_consistent(&mutex), EINVAL);
    ck_assert_int_eq(pthread_mutex_getprioceiling(&mutex, &ceiling), EINVAL);
    ck_assert_int_eq(pthread_mutex_setprioceiling(&mutex, 1, &ceiling), EINVAL);
    ck_assert_int_eq(ceiling, -7);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
}
END_TEST

/*
 * libc's mark of a mutex that it elides itself (glibc.elision.enable), set by its lock and by the
 * re-lock in its condition waits. There is no attribute for it, so the test writes it. libc records
 * no owner and counts no users then.
 */
START_TEST(a_mutex_that_libc_marks_as_elided_stays_ours)
{
    static const int types[] = {PTHREAD_MUTEX_TIMED_NP, PTHREAD_MUTEX_ADAPTIVE_NP,
                                PTHREAD_MUTEX_RECURSIVE_NP, PTHREAD_MUTEX_ERRORCHECK_NP};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    for (int i = 0; i < 4; i++)
        ck_assert(kind_is_ours((unsigned)types[i] | KIND_ELIDED_BY_LIBC));
    mutex.__data.__kind = KIND_ELIDED_BY_LIBC;
    ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
    ck_assert_uint_eq(fake.depth, 1);
    ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
    ck_assert_uint_eq(fake.depth, 0);

    /* Locked by us before it was marked; then taken again, and by another thread, by libc alone. */
    htm_usable = false;
    mutex.__data.__kind = 0;
    ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
    mutex.__data.__kind = KIND_ELIDED_BY_LIBC;
    mutex_set_owner(&mutex, 0);
    ck_assert_int_eq(pthread_mutex_destroy(&mutex), EBUSY);
    ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
    ck_assert_uint_eq(mutex.__data.__nusers, 0);
    *mutex_word(&mutex) = WORD_HELD;
    ck_assert_int_eq(pthread_mutex_trylock(&mutex), EBUSY);
    ck_assert_int_eq(pthread_mutex_destroy(&mutex), EBUSY);
    ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
    ck_assert_int_eq(*mutex_word(&mutex), WORD_FREE);
    ck_assert_int_eq(pthread_mutex_destroy(&mutex), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutex front");
    TCase *claims = tcase_create("claims");

    tcase_add_checked_fixture(claims, fresh, NULL);
    tcase_add_loop_test(claims, foreign_mutexes_are_taken_by_libc_and_never_elided, 0, FOREIGN);
    tcase_add_loop_test(claims, a_foreign_mutex_inside_an_elided_section_does_not_end_it, 0,
                        FOREIGN);
    tcase_add_test(claims, mutexes_of_ours_have_no_robustness_and_no_ceiling);
    tcase_add_test(claims, a_mutex_that_libc_marks_as_elided_stays_ours);
    suite_add_tcase(suite, claims);
    return run_suite(suite);
}
