/*
 * SPDX-License-Identifier: MIT
 *
 * What the TTS lock promises about the lock word, under each TTS_WAIT. libc's condition variables
 * rely on the same states, so tests play libc's part with bare futex calls.
 */
#include "base/futex.h"
#include "tts_lock/spin_budget.h"
#include "tts_lock/tts.h"

#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex;

static int word(void)
{
    return __atomic_load_n(mutex_word(&mutex), __ATOMIC_ACQUIRE);
}

static void set_word(int value)
{
    __atomic_store_n(mutex_word(&mutex), value, __ATOMIC_RELEASE);
}

static void await_word(int value)
{
    while (word() != value)
        sched_yield();
}

static void acquire(void)
{
    if (!tts_try(&mutex))
        tts_acquire_contended(&mutex);
}

static void fresh(void)
{
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    tts_wait = TTS_WAIT_PARK;
}

static struct timespec in_milliseconds(clockid_t clock, long milliseconds)
{
    struct timespec time;

    clock_gettime(clock, &time);
    time.tv_nsec += milliseconds * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static bool has_come(clockid_t clock, const struct timespec *deadline)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec > deadline->tv_sec ||
           (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

/* A second thread that takes the lock and stays until told to go. */
struct visitor {
    pthread_t thread;
    int inside; /* set once it has the lock */
    int word_inside;
    int may_leave;
};

static void *visit(void *argument)
{
    struct visitor *visitor = argument;

    acquire();
    visitor->word_inside = word();
    __atomic_store_n(&visitor->inside, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&visitor->may_leave, __ATOMIC_ACQUIRE))
        sched_yield();
    tts_release(&mutex);
    return NULL;
}

static void let_in(struct visitor *visitor)
{
    *visitor = (struct visitor){.inside = 0};
    ck_assert_int_eq(pthread_create(&visitor->thread, NULL, visit, visitor), 0);
}

static void see_off(struct visitor *visitor)
{
    __atomic_store_n(&visitor->may_leave, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(pthread_join(visitor->thread, NULL), 0);
}

START_TEST(an_uncontended_lock_is_one_and_free_is_zero)
{
    ck_assert(tts_try(&mutex));
    ck_assert_int_eq(word(), WORD_HELD);
    ck_assert(!tts_try(&mutex));
    ck_assert_int_eq(word(), WORD_HELD);
    tts_release(&mutex);
    ck_assert_int_eq(word(), WORD_FREE);
}
END_TEST

static void *nothing(void *argument)
{
    return argument;
}

START_TEST(a_process_with_threads_keeps_the_same_states)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, nothing, NULL), 0);
    ck_assert(tts_try(&mutex));
    ck_assert_int_eq(word(), WORD_HELD);
    ck_assert(!tts_try(&mutex));
    tts_release(&mutex);
    ck_assert_int_eq(word(), WORD_FREE);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

START_TEST(a_parked_thread_marks_the_word_and_takes_the_lock_with_the_mark)
{
    struct visitor visitor;

    acquire();
    let_in(&visitor);
    await_word(WORD_HELD_WITH_SLEEPERS);
    tts_release(&mutex);
    while (!__atomic_load_n(&visitor.inside, __ATOMIC_ACQUIRE))
        sched_yield();
    ck_assert_int_eq(visitor.word_inside, WORD_HELD_WITH_SLEEPERS);
    see_off(&visitor);
    ck_assert_int_eq(word(), WORD_FREE);
}
END_TEST

START_TEST(waiting_without_sleep_never_marks_the_word)
{
    struct visitor visitor;

    tts_wait = (enum tts_wait)_i;
    acquire();
    let_in(&visitor);
    struct timespec until = in_milliseconds(CLOCK_MONOTONIC, 20);
    while (!has_come(CLOCK_MONOTONIC, &until))
        ck_assert_int_eq(word(), WORD_HELD);
    tts_release(&mutex);
    while (!__atomic_load_n(&visitor.inside, __ATOMIC_ACQUIRE))
        sched_yield();
    ck_assert_int_eq(visitor.word_inside, WORD_HELD);
    see_off(&visitor);
}
END_TEST

/* What libc's pthread_cond_wait does to re-take the mutex. */
static void *retake_like_libc(void *argument)
{
    (void)argument;
    while (__atomic_exchange_n(mutex_word(&mutex), WORD_HELD_WITH_SLEEPERS, __ATOMIC_ACQUIRE) !=
           WORD_FREE)
        futex_wait(mutex_word(&mutex), WORD_HELD_WITH_SLEEPERS);
    tts_release(&mutex);
    return NULL;
}

START_TEST(under_every_wait_a_release_wakes_all_whom_libc_parked_one_after_the_other)
{
    pthread_t threads[4];

    tts_wait = (enum tts_wait)_i;
    acquire();
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, retake_like_libc, NULL), 0);
    await_word(WORD_HELD_WITH_SLEEPERS);
    /* Asleep or about to be: the futex compares the word, so both are covered, but give them time
     * to be asleep mostly. */
    struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    tts_release(&mutex);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0); /* a lost wake-up hangs here */
    ck_assert_int_eq(word(), WORD_FREE);
}
END_TEST

START_TEST(a_held_lock_times_out_not_before_its_deadline)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};

    tts_wait = (enum tts_wait)_i;
    acquire();
    for (int i = 0; i < 2; i++) {
        struct timespec deadline = in_milliseconds(clocks[i], 10);
        ck_assert_int_eq(tts_acquire_contended_until(&mutex, clocks[i], &deadline), ETIMEDOUT);
        ck_assert(has_come(clocks[i], &deadline));
    }
    ck_assert_int_ne(word(), WORD_FREE);
}
END_TEST

START_TEST(a_deadline_in_the_past_or_before_1970_times_out_at_once)
{
    static const struct timespec deadlines[] = {
        {.tv_sec = 0}, {.tv_sec = 1, .tv_nsec = 999999999}, {.tv_sec = -1}, {.tv_sec = INT64_MIN}};

    tts_wait = (enum tts_wait)_i;
    acquire();
    for (unsigned i = 0; i < sizeof deadlines / sizeof deadlines[0]; i++)
        ck_assert_int_eq(tts_acquire_contended_until(&mutex, CLOCK_REALTIME, &deadlines[i]),
                         ETIMEDOUT);
}
END_TEST

START_TEST(a_malformed_deadline_is_refused_before_any_wait)
{
    static const long nanoseconds[] = {-1, 1000000000, INT64_MIN, INT64_MAX};

    tts_wait = (enum tts_wait)_i;
    acquire();
    for (unsigned i = 0; i < sizeof nanoseconds / sizeof nanoseconds[0]; i++) {
        struct timespec deadline = {.tv_sec = INT32_MAX, .tv_nsec = nanoseconds[i]};
        ck_assert_int_eq(tts_acquire_contended_until(&mutex, CLOCK_MONOTONIC, &deadline), EINVAL);
    }
    ck_assert_int_eq(word(), WORD_HELD);
}
END_TEST

START_TEST(a_lock_that_comes_free_in_time_is_taken)
{
    struct visitor visitor;
    struct timespec deadline = in_milliseconds(CLOCK_MONOTONIC, 100000);

    tts_wait = (enum tts_wait)_i;
    let_in(&visitor);
    while (!__atomic_load_n(&visitor.inside, __ATOMIC_ACQUIRE))
        sched_yield();
    __atomic_store_n(&visitor.may_leave, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(tts_acquire_contended_until(&mutex, CLOCK_MONOTONIC, &deadline), 0);
    ck_assert_int_ne(word(), WORD_FREE);
    tts_release(&mutex);
    see_off(&visitor);
    ck_assert_int_eq(word(), WORD_FREE);
}
END_TEST

START_TEST(waiting_for_elision_gives_up_only_where_it_would_have_to_sleep)
{
    ck_assert(tts_wait_until_free(&mutex, false));
    ck_assert_int_eq(word(), WORD_FREE);
    set_word(WORD_HELD);
    ck_assert(!tts_wait_until_free(&mutex, false));
    ck_assert_int_eq(word(), WORD_HELD); /* looked, and left no mark */
}
END_TEST

static void *free_word_later(void *argument)
{
    struct timespec pause = {.tv_nsec = 10000000};

    nanosleep(&pause, NULL);
    set_word(WORD_FREE);
    return argument;
}

START_TEST(waiting_for_elision_has_no_bound_where_it_need_not_or_must_not_sleep)
{
    pthread_t thread;

    tts_wait = (enum tts_wait)_i;
    set_word(WORD_HELD);
    ck_assert_int_eq(pthread_create(&thread, NULL, free_word_later, NULL), 0);
    /* The one that would sleep was asked not to. */
    ck_assert(tts_wait_until_free(&mutex, tts_wait == TTS_WAIT_PARK));
    ck_assert_int_eq(word(), WORD_FREE);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

enum { STRESS_THREADS = 6, STRESS_ROUNDS = 3000 };
static long counter; /* plain: a race would lose counts, and ThreadSanitizer would name it */

static void *count_up(void *argument)
{
    struct timespec far = in_milliseconds(CLOCK_MONOTONIC, 1000000);

    for (int i = 0; i < STRESS_ROUNDS; i++) {
        if (i % 3 == 0) {
            while (!tts_try(&mutex))
                sched_yield();
        } else if (i % 3 == 1) {
            acquire();
        } else {
            ck_assert_int_eq(tts_acquire_contended_until(&mutex, CLOCK_MONOTONIC, &far), 0);
        }
        counter++;
        tts_release(&mutex);
    }
    return argument;
}

START_TEST(critical_sections_exclude_each_other)
{
    pthread_t threads[STRESS_THREADS];

    tts_wait = (enum tts_wait)_i;
    counter = 0;
    for (int i = 0; i < STRESS_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (int i = 0; i < STRESS_THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(counter, (long)STRESS_THREADS * STRESS_ROUNDS);
    ck_assert_int_eq(word(), WORD_FREE);
}
END_TEST

START_TEST(waits_in_vain_shorten_the_looking_and_the_others_lengthen_it_again)
{
    uint16_t memory = 0;

    ck_assert_uint_eq(spin_budget_pauses(memory), SPIN_BUDGET_FULL);
    ck_assert_uint_eq(spin_budget_after_success(memory),
                      memory); /* a quick lock is never written */
    for (unsigned level = 1; level <= SPIN_BUDGET_LEVEL_MOST; level++) {
        memory = spin_budget_after_failure(memory);
        ck_assert_uint_eq(spin_budget_pauses(memory), SPIN_BUDGET_FULL >> level);
    }
    memory = spin_budget_after_failure(memory);
    ck_assert_uint_eq(spin_budget_pauses(memory), SPIN_BUDGET_FULL >> SPIN_BUDGET_LEVEL_MOST);
    memory = spin_budget_after_success(memory);
    ck_assert_uint_eq(spin_budget_pauses(memory), SPIN_BUDGET_FULL >> (SPIN_BUDGET_LEVEL_MOST - 2));
    memory = spin_budget_after_success(spin_budget_after_success(memory));
    ck_assert_uint_eq(memory, 0);
}
END_TEST

START_TEST(after_enough_waits_in_vain_one_looks_for_the_full_length_and_is_believed)
{
    uint16_t memory = 0;
    unsigned since = 0;

    for (int probes = 0; probes < 3; since = 0) {
        while (!spin_budget_probes(memory)) {
            memory = spin_budget_after_failure(memory);
            ck_assert_uint_le(++since, SPIN_BUDGET_PROBE);
        }
        ck_assert_uint_eq(since, SPIN_BUDGET_PROBE);
        ck_assert_uint_eq(spin_budget_pauses(memory), SPIN_BUDGET_FULL);
        ck_assert_uint_eq(spin_budget_after_success(memory), 0);
        memory = spin_budget_after_failure(memory);
        ck_assert_uint_eq(spin_budget_pauses(memory), SPIN_BUDGET_FULL >> SPIN_BUDGET_LEVEL_MOST);
        probes++;
    }
}
END_TEST

START_TEST(any_bits_are_a_memory_that_heals)
{
    for (unsigned bits = 0; bits <= UINT16_MAX; bits++) {
        uint16_t memory = (uint16_t)bits;

        ck_assert_uint_ge(spin_budget_pauses(memory), SPIN_BUDGET_FULL >> SPIN_BUDGET_LEVEL_MOST);
        ck_assert_uint_le(spin_budget_pauses(memory), SPIN_BUDGET_FULL);
        memory = spin_budget_after_failure(memory);
        ck_assert_uint_le(spin_budget_failed_waits(memory), SPIN_BUDGET_PROBE);
        for (int successes = 0; successes < 3; successes++)
            memory = spin_budget_after_success(memory);
        ck_assert_uint_eq(memory, 0);
    }
}
END_TEST

START_TEST(a_lock_remembers_waits_in_vain_and_an_uncontended_one_stays_untouched)
{
    tts_wait = (enum tts_wait)_i;
    acquire();
    tts_release(&mutex);
    ck_assert_int_eq(mutex.__data.__spins, 0);

    acquire();
    for (int i = 1; i <= 3; i++) {
        struct timespec deadline = in_milliseconds(CLOCK_MONOTONIC, 1);
        ck_assert_int_eq(tts_acquire_contended_until(&mutex, CLOCK_MONOTONIC, &deadline),
                         ETIMEDOUT);
        ck_assert_uint_eq(spin_budget_pauses((uint16_t)mutex.__data.__spins),
                          SPIN_BUDGET_FULL >> i);
    }
    tts_release(&mutex);
    tts_acquire_contended(&mutex); /* free at its first look */
    ck_assert_uint_eq(spin_budget_pauses((uint16_t)mutex.__data.__spins), SPIN_BUDGET_FULL >> 1);
    tts_release(&mutex);
}
END_TEST

START_TEST(the_setting_chooses_the_wait_and_park_is_the_default)
{
    static const struct {
        const char *text;
        enum tts_wait wait;
    } rows[] = {{"spin", TTS_WAIT_SPIN}, {"yield", TTS_WAIT_YIELD}, {"park", TTS_WAIT_PARK}};

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setenv("TTS_WAIT", rows[i].text, 1);
        tts_read_settings();
        ck_assert_int_eq(tts_wait, rows[i].wait);
        ck_assert_str_eq(tts_wait_name(), rows[i].text);
    }
    unsetenv("TTS_WAIT");
    tts_read_settings();
    ck_assert_int_eq(tts_wait, TTS_WAIT_PARK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutex tts");
    TCase *tests = tcase_create("mutex tts");
    const int first = TTS_WAIT_SPIN, end = TTS_WAIT_PARK + 1;

    tcase_set_timeout(tests, 40);
    tcase_add_checked_fixture(tests, fresh, NULL);
    tcase_add_test(tests, an_uncontended_lock_is_one_and_free_is_zero);
    tcase_add_test(tests, a_process_with_threads_keeps_the_same_states);
    tcase_add_test(tests, a_parked_thread_marks_the_word_and_takes_the_lock_with_the_mark);
    tcase_add_loop_test(tests, waiting_without_sleep_never_marks_the_word, TTS_WAIT_SPIN,
                        TTS_WAIT_YIELD + 1);
    tcase_add_loop_test(tests,
                        under_every_wait_a_release_wakes_all_whom_libc_parked_one_after_the_other,
                        first, end);
    tcase_add_loop_test(tests, a_held_lock_times_out_not_before_its_deadline, first, end);
    tcase_add_loop_test(tests, a_deadline_in_the_past_or_before_1970_times_out_at_once, first, end);
    tcase_add_loop_test(tests, a_malformed_deadline_is_refused_before_any_wait, first, end);
    tcase_add_loop_test(tests, a_lock_that_comes_free_in_time_is_taken, first, end);
    tcase_add_test(tests, waiting_for_elision_gives_up_only_where_it_would_have_to_sleep);
    tcase_add_loop_test(tests, waiting_for_elision_has_no_bound_where_it_need_not_or_must_not_sleep,
                        first, end);
    tcase_add_loop_test(tests, critical_sections_exclude_each_other, first, end);
    tcase_add_test(tests, waits_in_vain_shorten_the_looking_and_the_others_lengthen_it_again);
    tcase_add_test(tests, after_enough_waits_in_vain_one_looks_for_the_full_length_and_is_believed);
    tcase_add_test(tests, any_bits_are_a_memory_that_heals);
    tcase_add_loop_test(tests,
                        a_lock_remembers_waits_in_vain_and_an_uncontended_one_stays_untouched,
                        TTS_WAIT_YIELD, end);
    tcase_add_test(tests, the_setting_chooses_the_wait_and_park_is_the_default);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
