/*
 * SPDX-License-Identifier: MIT
 *
 * Sections that are not left by their end: cancellation, thread exit, longjmp. A clean-up handler
 * unlocks, or the mutex stays held until somebody does.
 */
#include "elision_check.h"

#include <setjmp.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long entered, left; /* by the mutex's holder */

static void *try_it(void *argument)
{
    int result = pthread_mutex_trylock(&mutex);

    if (result == 0)
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    (void)argument;
    return (void *)(long)result;
}

static void leave_section(void *argument)
{
    left++;
    CHECK_EQUAL(left, entered);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    (void)argument;
}

static void enter_section(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    CHECK_EQUAL(left, entered);
    entered++;
}

/* ---- ways for a thread to end inside a section ---- */

static void *exit_inside(void *argument)
{
    enter_section();
    pthread_cleanup_push(leave_section, NULL);
    pthread_exit(argument);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *be_cancelled_at_a_test(void *argument)
{
    CHECK_EQUAL(pthread_cancel(pthread_self()), 0);
    enter_section();
    pthread_cleanup_push(leave_section, NULL);
    pthread_testcancel();
    CHECK(!"reached");
    pthread_cleanup_pop(0);
    return argument;
}

static void *be_cancelled_at_a_call(void *argument)
{
    enter_section();
    pthread_cleanup_push(leave_section, NULL);
    for (;;)
        sleep(1000);
    pthread_cleanup_pop(0);
    return argument;
}

static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void leave_wait(void *argument)
{
    (void)argument;
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0); /* the wait's re-take has happened */
}

static void *be_cancelled_in_a_wait(void *argument)
{
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    pthread_cleanup_push(leave_wait, NULL);
    pthread_cond_wait(&never, &mutex);
    pthread_cleanup_pop(0);
    return argument;
}

/* No calls in the loop: asynchronous cancellation allows none. */
static volatile unsigned long turns;

static void *be_cancelled_anywhere(void *argument)
{
    enter_section();
    pthread_cleanup_push(leave_section, NULL);
    CHECK_EQUAL(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
    for (;;)
        turns++;
    pthread_cleanup_pop(0);
    return argument;
}

static void the_mutex_is_free_again_after(void *(*ending)(void *), bool cancel)
{
    for (int i = 0; i < 40; i++) {
        pthread_t thread = start_thread(ending, &mutex);
        if (cancel) {
            for (int k = 0; k < i % 8; k++)
                sched_yield();
            CHECK_EQUAL(pthread_cancel(thread), 0);
        }
        void *result = end_thread(thread);
        CHECK(result == (ending == exit_inside ? (void *)&mutex : PTHREAD_CANCELED));
        CHECK_EQUAL(pthread_mutex_trylock(&mutex), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
        CHECK_EQUAL(left, entered);
    }
}

/* ---- longjmp ---- */

static jmp_buf way_out;

static __attribute__((noinline)) void section_left_by_longjmp(pthread_mutex_t *inner)
{
    enter_section();
    if (inner != NULL) {
        CHECK_EQUAL(pthread_mutex_lock(inner), 0);
        CHECK_EQUAL(pthread_mutex_unlock(inner), 0);
    }
    longjmp(way_out, 1);
}

static void a_section_left_by_longjmp_still_holds_its_mutex(void)
{
    pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
    static int i; /* its value survives the jump */

    start_counting();
    for (i = 0; i < 100; i++) {
        if (setjmp(way_out) == 0)
            section_left_by_longjmp(i % 2 ? &inner : NULL);
        CHECK_EQUAL(entered, left + 1);
        if (i % 10 == 0)
            CHECK_EQUAL((long)elsewhere(try_it, NULL), EBUSY);
        leave_section(NULL);
        if (i % 10 == 0)
            CHECK_EQUAL((long)elsewhere(try_it, NULL), 0);
    }
    CHECK_ELIDED(20);
}

int main(void)
{
    a_section_left_by_longjmp_still_holds_its_mutex();
    the_mutex_is_free_again_after(exit_inside, false);
    the_mutex_is_free_again_after(be_cancelled_at_a_test, false);
    the_mutex_is_free_again_after(be_cancelled_at_a_call, true);
    the_mutex_is_free_again_after(be_cancelled_in_a_wait, true);
    the_mutex_is_free_again_after(be_cancelled_anywhere, true);
    return 0;
}
