/*
 * SPDX-License-Identifier: MIT
 *
 * Posts inside sections that do not end as they should, with and without TTSTLE_DEFER=1: fork,
 * exit, cancellation, signals, a look at the semaphore, and more posts than a list has room for.
 * Each post is made once.
 */
#include "elision_check.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t posts;

static int value_of_posts(void)
{
    int value;

    CHECK_EQUAL(sem_getvalue(&posts, &value), 0);
    return value;
}

static void begin_and_post(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    (void)sem_post(&posts);
}

static void end_section(void)
{
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
}

static void a_child_forked_in_a_section_has_the_post_once(void)
{
    int status;

    begin_and_post();
    pid_t child = fork();
    CHECK(child >= 0);
    end_section();
    CHECK_EQUAL(value_of_posts(), 1);
    CHECK_EQUAL(sem_trywait(&posts), 0);
    if (child == 0) {
        begin_and_post();
        end_section();
        CHECK_EQUAL(value_of_posts(), 1);
        _exit(0);
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

/* The exit status, from a handler of exit: the process ends inside a section. */
static void look_at_exit(void)
{
    _exit(value_of_posts() == 1 ? 3 : 4);
}

static void a_process_that_exits_in_a_section_has_posted(void)
{
    int status;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        CHECK_EQUAL(atexit(look_at_exit), 0);
        begin_and_post();
        exit(0);
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void unlock_it(void *argument)
{
    (void)argument;
    end_section();
}

static bool exits;

static void *end_in_a_section(void *argument)
{
    CHECK_EQUAL(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
    begin_and_post();
    pthread_cleanup_push(unlock_it, NULL);
    if (exits)
        pthread_exit(NULL);
    (void)pthread_cancel(pthread_self());
    (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    pthread_cleanup_pop(1);
    return argument;
}

static void a_thread_that_ends_in_a_section_has_posted_once(void)
{
    for (int i = 0; i < 20; i++) {
        exits = i % 2;
        CHECK_EQUAL((long)elsewhere(end_in_a_section, NULL), exits ? 0 : (long)PTHREAD_CANCELED);
        CHECK_EQUAL(value_of_posts(), 1);
        CHECK_EQUAL(sem_trywait(&posts), 0);
        CHECK_EQUAL(pthread_mutex_lock(&mutex), 0); /* the clean-up has unlocked it */
        end_section();
    }
}

static void post_in_handler(int number)
{
    (void)number;
    (void)sem_post(&posts);
}

static void a_handler_that_posts_in_a_section_adds_one(void)
{
    CHECK(signal(SIGUSR1, post_in_handler) != SIG_ERR);
    for (int i = 0; i < 20; i++) {
        begin_and_post();
        (void)raise(SIGUSR1);
        end_section();
        CHECK_EQUAL(value_of_posts(), 2);
        CHECK_EQUAL(sem_trywait(&posts), 0);
        CHECK_EQUAL(sem_trywait(&posts), 0);
    }
}

/* Many come at any instruction of the sections, some between a commit and its posts. */
static int handled;

static void count_and_post(int number)
{
    (void)number;
    handled++;
    (void)sem_post(&posts);
}

static int stop;

static void *send_signals(void *argument)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        (void)pthread_kill(*(pthread_t *)argument, SIGUSR2);
        for (int i = 0; i < 5; i++)
            sched_yield();
    }
    return NULL;
}

static void signals_at_any_place_lose_and_repeat_no_post(void)
{
    enum { SECTIONS = 300 };
    pthread_t self = pthread_self();

    CHECK(signal(SIGUSR2, count_and_post) != SIG_ERR);
    pthread_t sender = start_thread(send_signals, &self);
    for (int i = 0; i < SECTIONS; i++) {
        begin_and_post();
        work(20);
        end_section();
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    end_thread(sender);
    CHECK_EQUAL(value_of_posts(), SECTIONS + handled);
    while (sem_trywait(&posts) == 0)
        continue;
}

static void a_section_sees_its_own_posts(void)
{
    for (int i = 0; i < 20; i++) {
        int value = -1;
        begin_and_post();
        (void)sem_getvalue(&posts, &value);
        int result = sem_trywait(&posts);
        end_section();
        CHECK_EQUAL(value, 1);
        CHECK_EQUAL(result, 0);
        CHECK_EQUAL(value_of_posts(), 0);
    }
}

static void more_posts_than_a_list_holds_are_all_made(void)
{
    enum { MANY = 40 };

    for (int i = 1; i < MANY; i++)
        begin_and_post(), end_section();
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    for (int i = 0; i < MANY; i++)
        (void)sem_post(&posts);
    end_section();
    CHECK_EQUAL(value_of_posts(), 2 * MANY - 1);
    while (sem_trywait(&posts) == 0)
        continue;
}

int main(void)
{
    CHECK_EQUAL(sem_init(&posts, 0, 0), 0);
    start_counting();
    a_section_sees_its_own_posts();
    more_posts_than_a_list_holds_are_all_made();
    a_child_forked_in_a_section_has_the_post_once();
    a_process_that_exits_in_a_section_has_posted();
    a_thread_that_ends_in_a_section_has_posted_once();
    a_handler_that_posts_in_a_section_adds_one();
    signals_at_any_place_lose_and_repeat_no_post();
    CHECK_ELIDED(1);
    return 0;
}
