/*
 * SPDX-License-Identifier: MIT
 *
 * Signals that wait for the commit: what an elided section's signals and posts do until it commits,
 * what the commit does, and what other calls see of them. The functions are ours under other names
 * (mutex.cmake); libc's own, which they lead to, are told by what they do to the objects.
 */
#include "../tm/without_membarrier.h"
#include "mutex/thread_id.h"
#include "mutex_elision_fixture.h"
#include "ttstle_lock/elision/deferred.h"
#include "ttstle_lock/signals.h"

#include <limits.h>
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "run_suite.h"

#undef sched_yield /* the tests' own waits are none of the section's */

static sem_t semaphore;
static pthread_cond_t condition;

static void fresh_deferring(void)
{
    fresh();
    setenv("TTSTLE_DEFER", "1", 1);
    signals_start(true);
    ck_assert(deferred_on);
    ck_assert_int_eq(sem_init(&semaphore, 0, 0), 0);
    condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

/* glibc's layout; sem_getvalue is ours here, and has an opinion on pending posts. */
static unsigned value_of(sem_t *of)
{
    return __atomic_load_n((unsigned *)of, __ATOMIC_ACQUIRE);
}

static void lock_a(void)
{
    ck_assert_int_eq(pthread_mutex_lock(&a), 0);
}

static void unlock_a(void)
{
    ck_assert_int_eq(pthread_mutex_unlock(&a), 0);
}

/* ---- posts ---- */

START_TEST(a_post_in_an_elided_section_reaches_the_semaphore_with_the_commit)
{
    lock_a();
    for (int posts = 1; posts <= 3; posts++)
        ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_uint_eq(value_of(&semaphore), 0);
    unlock_a();
    ck_assert_uint_eq(fake.ends, 1);
    ck_assert_uint_eq(value_of(&semaphore), 3);
    lock_a(); /* and once only */
    unlock_a();
    ck_assert_uint_eq(value_of(&semaphore), 3);
}
END_TEST

START_TEST(a_post_in_a_nested_section_waits_for_the_outermost_commit)
{
    lock_a();
    ck_assert_int_eq(pthread_mutex_lock(&b), 0);
    ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&b), 0);
    ck_assert_uint_eq(value_of(&semaphore), 0);
    unlock_a();
    ck_assert_uint_eq(value_of(&semaphore), 1);
}
END_TEST

START_TEST(with_the_lock_held_physically_a_post_is_made_at_once)
{
    FAKE_SCRIPT({.status = HTM_CAPACITY});
    lock_a();
    check_held_physically(&a);
    ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_uint_eq(value_of(&semaphore), 1);
    unlock_a();
    ck_assert_uint_eq(value_of(&semaphore), 1);
}
END_TEST

START_TEST(without_the_setting_or_a_section_a_post_is_made_at_once)
{
    ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_uint_eq(value_of(&semaphore), 1);
    unsetenv("TTSTLE_DEFER");
    signals_start(true);
    lock_a();
    ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_uint_eq(value_of(&semaphore), 2);
    unlock_a();
    ck_assert_uint_eq(value_of(&semaphore), 2);
}
END_TEST

START_TEST(a_transaction_that_is_not_ours_defers_nothing)
{
    lock_a();
    unlock_a();
    ck_assert_uint_eq(htm_begin(), HTM_STARTED);
    ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_uint_eq(value_of(&semaphore), 1);
    lock_a(); /* nor does a section of ours in it: nobody would see its commit */
    ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_uint_eq(value_of(&semaphore), 2);
    unlock_a();
    htm_end();
    ck_assert_uint_eq(value_of(&semaphore), 2);
}
END_TEST

START_TEST(a_process_shared_semaphore_is_posted_at_once)
{
    sem_t shared;

    ck_assert_int_eq(sem_init(&shared, 1, 0), 0);
    lock_a();
    ck_assert_int_eq(sem_post(&shared), 0);
    ck_assert_uint_eq(value_of(&shared), 1);
    unlock_a();
    ck_assert_uint_eq(value_of(&shared), 1);
}
END_TEST

START_TEST(a_fifteenth_entry_runs_the_section_physically)
{
    lock_a();
    for (int posts = 1; posts <= 14; posts++)
        ck_assert_int_eq(sem_post(&semaphore), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, sem_post(&semaphore));
    ck_assert_uint_eq(value_of(&semaphore), 0);
}
END_TEST

START_TEST(an_overflow_at_the_commit_leaves_the_value_and_errno_alone)
{
    sem_t full;

    ck_assert_int_eq(sem_init(&full, 0, SEM_VALUE_MAX), 0);
    errno = 0;
    lock_a();
    ck_assert_int_eq(sem_post(&full), 0);
    unlock_a();
    ck_assert_int_eq(errno, 0);
    ck_assert_uint_eq(value_of(&full), SEM_VALUE_MAX);
    ck_assert_int_eq(sem_post(&full), -1);
    ck_assert_int_eq(errno, EOVERFLOW);
}
END_TEST

/* ---- calls on a pending object, inside the section ---- */

static void try_to_wait(void)
{
    (void)sem_trywait(&semaphore);
}

static void get_value(void)
{
    int value;

    (void)sem_getvalue(&semaphore, &value);
}

static void wait_until(void)
{
    (void)sem_timedwait(&semaphore, &long_ago);
}

static void wait_until_by_clock(void)
{
    (void)sem_clockwait(&semaphore, CLOCK_MONOTONIC, &long_ago);
}

static void destroy_semaphore(void)
{
    (void)sem_destroy(&semaphore);
}

static void destroy_condition(void)
{
    (void)pthread_cond_destroy(&condition);
}

static void destroy_c11_condition(void)
{
    cnd_destroy((cnd_t *)&condition);
}

static void (*const that_look[])(void) = {
    try_to_wait,       get_value,         wait_until,           wait_until_by_clock,
    destroy_semaphore, destroy_condition, destroy_c11_condition};
enum { THAT_LOOK = sizeof that_look / sizeof that_look[0] };

START_TEST(what_looks_at_a_pending_object_runs_the_section_physically)
{
    lock_a();
    ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_int_eq(pthread_cond_signal(&condition), 0);
    FAKE_ABORTS(HTM_CODE_PHYSICAL, that_look[_i]());
}
END_TEST

START_TEST(what_looks_at_another_object_leaves_the_section_elided)
{
    sem_t other;
    int value;

    ck_assert_int_eq(sem_init(&other, 0, 2), 0);
    lock_a();
    ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_int_eq(sem_trywait(&other), 0);
    ck_assert_int_eq(sem_getvalue(&other, &value), 0);
    ck_assert_int_eq(value, 1);
    unlock_a();
    ck_assert_uint_eq(fake.aborts, 0);
}
END_TEST

/* ---- calls of other threads on a pending object ---- */

static int arrived, returned;

static void *look_from_another_thread(void *look)
{
    __atomic_store_n(&arrived, 1, __ATOMIC_RELEASE);
    ((void (*)(void))look)();
    __atomic_store_n(&returned, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* The back end has one thread's transactions: as if committed, and not carried out. */
static unsigned commit_and_stop(void)
{
    lock_a();
    ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_int_eq(pthread_cond_signal(&condition), 0);
    fake.depth = 0;
    return elision_list_of_thread();
}

START_TEST(what_looks_from_another_thread_waits_until_it_was_carried_out)
{
    unsigned list = commit_and_stop();
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, look_from_another_thread, that_look[_i]), 0);
    while (!__atomic_load_n(&arrived, __ATOMIC_ACQUIRE))
        sched_yield();
    for (int i = 0; i < 300; i++)
        sched_yield();
    ck_assert_int_eq(__atomic_load_n(&returned, __ATOMIC_ACQUIRE), 0);
    ck_assert_uint_eq(value_of(&semaphore), 0);
    deferred_drain(list);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(returned, 1);
    if (that_look[_i] == try_to_wait)
        ck_assert_uint_eq(value_of(&semaphore), 0); /* it got the post */
}
END_TEST

static void *commit_and_end(void *argument)
{
    (void)commit_and_stop();
    return argument;
}

START_TEST(what_an_ended_thread_has_left_is_waited_for_by_nobody)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, commit_and_end, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    destroy_semaphore();
    destroy_condition();
}
END_TEST

static void *remember_list(void *list)
{
    lock_a();
    unlock_a();
    *(unsigned *)list = elision_list_of_thread();
    return NULL;
}

START_TEST(threads_that_come_and_go_share_few_lists)
{
    unsigned most = 0;

    for (int i = 0; i < 200; i++) {
        unsigned list = 0;
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, remember_list, &list), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_uint_ne(list, 0);
        most = list > most ? list : most;
    }
    ck_assert_uint_le(most, 20);
}
END_TEST

enum { ENDED_THREAD = 0x7ffffff0 }; /* above any id that the kernel gives */

/* What libc takes for the calling thread's. */
static void set_thread_id(int id)
{
    *(volatile int *)((uintptr_t)pthread_self() + thread_id_offset) = id;
}

/* In place of the call that asks whether it has ended: says that it has, but not before a new
 * thread got its id, and an entry. */
static void give_the_id_away(int signal, siginfo_t *info, void *context)
{
    int interrupted = thread_id();
    (void)signal;
    (void)info;

    set_thread_id(ENDED_THREAD);
    (void)deferred_add(deferred_list_of_thread(0), &condition, DEFERRED_BROADCAST);
    set_thread_id(interrupted);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -ESRCH;
}

START_TEST(a_list_is_not_taken_from_a_new_thread_with_the_id_of_the_ended_one)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sigaction action = {.sa_sigaction = give_the_id_away, .sa_flags = SA_SIGINFO};

    if (thread_id_offset == 0)
        return; /* glibc before 2.34 */
    set_thread_id(ENDED_THREAD);
    unsigned list = deferred_list_of_thread(0);
    set_thread_id(gettid());
    ck_assert_int_eq(sigaction(SIGSYS, &action, NULL), 0);
    if (!system_call_filter_set(filter, sizeof filter / sizeof *filter))
        return; /* the kernel has no filters */
    ck_assert_uint_ne(deferred_list_of_thread(0), list);
    ck_assert(deferred_is_pending(&condition));
}
END_TEST

/* ---- signals ---- */

enum { WAITERS = 3 };
static pthread_mutex_t plain = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* never elided */
static int waiting, woken;

/* libc's wait gives the mutex up and takes it again where ThreadSanitizer does not see it. */
static void wait_with_plain(void)
{
#ifdef __SANITIZE_THREAD__
    __tsan_release(mutex_word(&plain));
#endif
    ck_assert_int_eq(pthread_cond_wait(&condition, &plain), 0);
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(mutex_word(&plain));
#endif
}

static void *wait_for_signal(void *argument)
{
    ck_assert_int_eq(pthread_mutex_lock(&plain), 0);
    waiting++;
    wait_with_plain();
    woken++;
    ck_assert_int_eq(pthread_mutex_unlock(&plain), 0);
    return argument;
}

static int read_under_plain(const int *counter)
{
    ck_assert_int_eq(pthread_mutex_lock(&plain), 0);
    int value = *counter;
    ck_assert_int_eq(pthread_mutex_unlock(&plain), 0);
    return value;
}

static void signal_it(void)
{
    ck_assert_int_eq(pthread_cond_signal(&condition), 0);
}

static void broadcast_it(void)
{
    ck_assert_int_eq(pthread_cond_broadcast(&condition), 0);
}

static void signal_it_by_c11(void)
{
    ck_assert_int_eq(cnd_signal((cnd_t *)&condition), thrd_success);
}

static void broadcast_it_by_c11(void)
{
    ck_assert_int_eq(cnd_broadcast((cnd_t *)&condition), thrd_success);
}

static void (*const that_tell[])(void) = {signal_it, broadcast_it, signal_it_by_c11,
                                          broadcast_it_by_c11};

START_TEST(a_deferred_signal_wakes_all_who_wait_at_the_commit_and_none_before)
{
    pthread_t threads[WAITERS];

    for (int i = 0; i < WAITERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_for_signal, NULL), 0);
    while (read_under_plain(&waiting) != WAITERS)
        sched_yield();
    lock_a();
    that_tell[_i]();
    that_tell[_i]();
    for (int i = 0; i < 100; i++)
        sched_yield();
    ck_assert_uint_eq(fake.depth, 1);
    fake.depth = 0; /* the look below locks, which is not what is tested */
    ck_assert_int_eq(read_under_plain(&woken), 0);
    fake.depth = 1;
    unlock_a();
    for (int i = 0; i < WAITERS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(woken, WAITERS);
}
END_TEST

START_TEST(many_signals_of_one_condition_are_one_entry)
{
    lock_a();
    for (int i = 0; i < 100; i++)
        signal_it();
    unlock_a();
    ck_assert_uint_eq(fake.ends, 1);
}
END_TEST

/* ---- a signal handler in between, and fork ---- */

static unsigned carried_out[3]; /* the first, the second, the handler's */
static sem_t second, in_handler;

/* The first entry is being carried out when a handler comes that has a section with a post. */
static void interrupted(void *object, enum deferred_kind kind)
{
    ck_assert_int_eq(kind, DEFERRED_POST);
    carried_out[object == &semaphore ? 0 : object == &second ? 1 : 2]++;
    if (object == &semaphore) {
        lock_a();
        ck_assert_int_eq(sem_post(&in_handler), 0);
        unlock_a();
        ck_assert_uint_eq(carried_out[2], 1);
        ck_assert(!deferred_is_pending(&in_handler));
        ck_assert(deferred_is_pending(&semaphore));
    }
}

START_TEST(a_handler_that_comes_while_entries_are_carried_out_repeats_and_loses_none)
{
    ck_assert_int_eq(sem_init(&second, 0, 0), 0);
    ck_assert_int_eq(sem_init(&in_handler, 0, 0), 0);
    deferred_start(true, interrupted);
    lock_a();
    ck_assert_int_eq(sem_post(&semaphore), 0);
    ck_assert_int_eq(sem_post(&second), 0);
    unlock_a();
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(carried_out[i], 1);
    ck_assert(!deferred_is_pending(&semaphore));
    ck_assert(!deferred_is_pending(&second));
}
END_TEST

static int stay;

static void *commit_and_stay(void *argument)
{
    (void)commit_and_stop();
    __atomic_store_n(&arrived, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&stay, __ATOMIC_ACQUIRE))
        sched_yield();
    return argument;
}

START_TEST(a_child_of_fork_waits_for_no_thread_of_its_parent)
{
    pthread_t thread;
    int status;

    ck_assert_int_eq(pthread_create(&thread, NULL, commit_and_stay, NULL), 0);
    while (!__atomic_load_n(&arrived, __ATOMIC_ACQUIRE))
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        signals_after_fork_in_child();
        bool left = deferred_is_pending(&semaphore);
        destroy_semaphore();
        _exit(left);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    __atomic_store_n(&stay, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

#ifndef __SANITIZE_THREAD__ /* which makes vfork a fork, and then nothing is shared */

/* The child runs in this memory under another process id, where no thread of ours exists. */
START_TEST(a_vfork_child_takes_no_living_threads_list)
{
    pthread_t thread;
    int status;

    ck_assert_int_eq(pthread_create(&thread, NULL, commit_and_stay, NULL), 0);
    while (!__atomic_load_n(&arrived, __ATOMIC_ACQUIRE))
        sched_yield();
    pid_t child = vfork();
    if (child == 0)
        _exit(deferred_list_of_thread(0) != 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(deferred_is_pending(&semaphore));
    __atomic_store_n(&stay, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

START_TEST(a_vfork_child_waits_for_nothing_that_an_ended_thread_has_left)
{
    pthread_t thread;
    int status;

    ck_assert_int_eq(pthread_create(&thread, NULL, commit_and_end, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pid_t child = vfork();
    if (child == 0) {
        destroy_semaphore();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("mutex deferred");
    TCase *tests = tcase_create("mutex deferred");

    tcase_set_timeout(tests, 40);
    tcase_add_checked_fixture(tests, fresh_deferring, NULL);
    tcase_add_test(tests, a_post_in_an_elided_section_reaches_the_semaphore_with_the_commit);
    tcase_add_test(tests, a_post_in_a_nested_section_waits_for_the_outermost_commit);
    tcase_add_test(tests, with_the_lock_held_physically_a_post_is_made_at_once);
    tcase_add_test(tests, without_the_setting_or_a_section_a_post_is_made_at_once);
    tcase_add_test(tests, a_transaction_that_is_not_ours_defers_nothing);
    tcase_add_test(tests, a_process_shared_semaphore_is_posted_at_once);
    tcase_add_test(tests, a_fifteenth_entry_runs_the_section_physically);
    tcase_add_test(tests, an_overflow_at_the_commit_leaves_the_value_and_errno_alone);
    tcase_add_loop_test(tests, what_looks_at_a_pending_object_runs_the_section_physically, 0,
                        THAT_LOOK);
    tcase_add_test(tests, what_looks_at_another_object_leaves_the_section_elided);
    tcase_add_loop_test(tests, what_looks_from_another_thread_waits_until_it_was_carried_out, 0,
                        THAT_LOOK);
    tcase_add_test(tests, what_an_ended_thread_has_left_is_waited_for_by_nobody);
    tcase_add_test(tests, a_list_is_not_taken_from_a_new_thread_with_the_id_of_the_ended_one);
    tcase_add_test(tests, threads_that_come_and_go_share_few_lists);
    tcase_add_loop_test(tests, a_deferred_signal_wakes_all_who_wait_at_the_commit_and_none_before,
                        0, sizeof that_tell / sizeof that_tell[0]);
    tcase_add_test(tests, many_signals_of_one_condition_are_one_entry);
    tcase_add_test(tests,
                   a_handler_that_comes_while_entries_are_carried_out_repeats_and_loses_none);
    tcase_add_test(tests, a_child_of_fork_waits_for_no_thread_of_its_parent);
#ifndef __SANITIZE_THREAD__
    tcase_add_test(tests, a_vfork_child_takes_no_living_threads_list);
    tcase_add_test(tests, a_vfork_child_waits_for_nothing_that_an_ended_thread_has_left);
#endif
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
