/*
 * SPDX-License-Identifier: MIT
 *
 * Leases: when a thread has the magazines of a CPU, that it needs no lock then, and how others get
 * them. Without sequences, see lease.h. All threads of a test stay on one CPU, so that it has one
 * sub-heap and they want the same magazines; they take turns by their own signals.
 */
#include "cia_malloc/lease.h"

#include "cia_fixture.h"
#include "run_suite.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 300, SIZE_CLASS = 4, MANY = 3000, TRIES = 1000 };

/* One thread works, then the other. */
static sem_t other_may_go, main_may_go;

static struct magazine *magazine_of_class(void)
{
    return &heap_here()->magazines->own[SIZE_CLASS];
}

/* The class has its magazine, in which blocks wait. */
static void use_the_class(void)
{
    for (int i = 0; i < MANY; i++)
        cia_free(cia_allocate(BYTES));
}

static bool has_lease(void)
{
    return lease_here != NULL && atomic_load(&heap_here()->lease) == lease_here &&
           lease_of_this_thread() == lease_here;
}

/* As often as it takes: after one was taken away none is granted for a while. */
static void get_lease(void)
{
    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < TRIES && (heap_here() == NULL || !has_lease()); i++) {
        use_the_class();
        usleep(1000);
    }
    ck_assert(has_lease());
}

static void start(pthread_t *thread, void *(*function)(void *))
{
    ck_assert_int_eq(sem_init(&other_may_go, 0, 0), 0);
    ck_assert_int_eq(sem_init(&main_may_go, 0, 0), 0);
    ck_assert_int_eq(pthread_create(thread, NULL, function, NULL), 0);
    sem_wait(&main_may_go);
}

static void finish(pthread_t thread)
{
    sem_post(&other_may_go);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void *keep_a_lease(void *argument)
{
    (void)argument;
    get_lease();
    sem_post(&main_may_go);
    sem_wait(&other_may_go);
    use_the_class();
    return NULL;
}

/* As a thread that was stopped in the middle of a step. */
static void *stay_in_a_step(void *argument)
{
    (void)argument;
    get_lease();
    lease_enter(lease_here);
    sem_post(&main_may_go);
    sem_wait(&other_may_go);
    lease_leave(lease_here);
    use_the_class();
    return NULL;
}

static void *end_with_a_lease(void *argument)
{
    (void)argument;
    get_lease();
    sem_post(&main_may_go);
    return NULL;
}

START_TEST(a_thread_with_a_lease_needs_no_lock)
{
    get_lease();
    uint64_t served = magazine_served(magazine_of_class());
    atomic_store(&heap_here()->lock, 1);
    for (int i = 0; i < 100; i++)
        cia_free(cia_allocate(BYTES));
    atomic_store(&heap_here()->lock, 0);
    ck_assert_uint_eq(magazine_served(magazine_of_class()), served + 100);
}
END_TEST

START_TEST(boxes_below_the_level_need_no_lock_either)
{
    static void *blocks[200];

    get_lease();
    for (int i = 0; i < 200; i++)
        blocks[i] = cia_allocate(BYTES);
    for (int i = 0; i < 200; i++)
        cia_free(blocks[i]);
    ck_assert(has_lease());
    uint32_t waiting = magazine_waiting(magazine_of_class());
    ck_assert_uint_ge(waiting, 150);
    atomic_store(&heap_here()->lock, 1);
    for (int i = 0; i < 150; i++)
        blocks[i] = cia_allocate(BYTES);
    ck_assert_uint_eq(magazine_waiting(magazine_of_class()), waiting - 150);
    for (int i = 0; i < 150; i++)
        cia_free(blocks[i]);
    ck_assert_uint_eq(magazine_waiting(magazine_of_class()), waiting);
    atomic_store(&heap_here()->lock, 0);
}
END_TEST

START_TEST(a_class_that_has_no_magazine_costs_nobody_the_lease)
{
    get_lease();
    for (int i = 0; i < 100; i++)
        cia_free(cia_allocate(2 * BYTES));
    ck_assert(has_lease());
}
END_TEST

START_TEST(another_thread_takes_the_lease_away_and_in_time_has_its_own)
{
    pthread_t thread;

    stay_on_cpu(sched_getcpu());
    start(&thread, keep_a_lease);
    const struct lease *lease = atomic_load(&heap_here()->lease);
    ck_assert_ptr_nonnull(lease);
    ck_assert_ptr_ne(atomic_load(&lease->take), magazines_without_room);
    uint32_t waiting = magazine_waiting(magazine_of_class());
    ck_assert_uint_gt(waiting, 0);
    void *block = cia_allocate(BYTES);
    ck_assert_ptr_null(atomic_load(&heap_here()->lease));
    ck_assert_ptr_eq(atomic_load(&lease->take), magazines_without_room);
    ck_assert_ptr_eq(atomic_load(&lease->put), magazines_without_room);
    ck_assert_uint_eq(magazine_waiting(magazine_of_class()), waiting - 1);
    cia_free(block);
    get_lease();
    finish(thread);
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(a_lease_is_not_taken_from_a_thread_in_a_step_and_nobody_waits_for_it)
{
    pthread_t thread;

    stay_on_cpu(sched_getcpu());
    start(&thread, stay_in_a_step);
    const struct lease *lease = atomic_load(&heap_here()->lease);
    uint32_t waiting = magazine_waiting(magazine_of_class());
    use_the_class();
    cia_trim();
    ck_assert_ptr_eq(atomic_load(&heap_here()->lease), lease);
    ck_assert_uint_eq(magazine_waiting(magazine_of_class()), waiting);
    finish(thread);
    get_lease();
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(what_waits_with_the_lease_of_a_thread_that_ended_is_served_to_others)
{
    pthread_t thread;

    stay_on_cpu(sched_getcpu());
    start(&thread, end_with_a_lease);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    const struct magazine *magazine = magazine_of_class();
    uint32_t waiting = magazine_waiting(magazine);
    ck_assert_uint_gt(waiting, 0);
    void *block = cia_allocate(BYTES);
    ck_assert_uint_eq(magazine_waiting(magazine), waiting - 1);
    cia_free(block);
}
END_TEST

START_TEST(a_thread_finds_the_lease_of_one_that_ended_and_had_its_thread_pointer)
{
    enum { THREADS = 3 * LEASES };
    pthread_t thread;

    stay_on_cpu(sched_getcpu());
    for (int i = 0; i < THREADS; i++) {
        start(&thread, end_with_a_lease);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        atomic_store(&heap_here()->lease, NULL); /* no pause before the next one is granted */
    }
    get_lease();
}
END_TEST

START_TEST(trim_empties_magazines_whose_lease_another_thread_has)
{
    pthread_t thread;

    stay_on_cpu(sched_getcpu());
    start(&thread, keep_a_lease);
    ck_assert_uint_gt(magazine_waiting(magazine_of_class()), 0);
    cia_trim();
    ck_assert_uint_eq(magazine_waiting(magazine_of_class()), 0);
    finish(thread);
}
END_TEST

static void handler(int signal)
{
    static void *blocks[10];
    uint64_t top = atomic_load(&magazine_of_class()->top);

    (void)signal;
    for (int i = 0; i < 10; i++)
        blocks[i] = cia_allocate(BYTES);
    for (int i = 0; i < 10; i++)
        cia_free(blocks[i]);
    ck_assert_uint_eq(atomic_load(&magazine_of_class()->top), top);
}

START_TEST(a_signal_handler_above_a_step_goes_past_the_magazines)
{
    get_lease();
    ck_assert_ptr_ne(signal(SIGUSR1, handler), SIG_ERR);
    lease_enter(lease_here);
    raise(SIGUSR1);
    ck_assert(lease_is_busy(lease_here));
    lease_leave(lease_here);
    ck_assert(has_lease());
    use_the_class();
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(the_child_of_a_fork_has_the_magazines_of_threads_that_are_not_there)
{
    pthread_t thread;
    int status;

    stay_on_cpu(sched_getcpu());
    heap_table_register_fork();
    start(&thread, stay_in_a_step);
    uint32_t waiting = magazine_waiting(magazine_of_class());
    pid_t child = fork();
    if (child == 0) {
        void *block = cia_allocate(BYTES);

        if (magazine_waiting(magazine_of_class()) != waiting - 1)
            _exit(1);
        cia_free(block);
        for (int i = 0; i < TRIES && !has_lease(); i++) {
            use_the_class();
            usleep(1000);
        }
        _exit(has_lease() ? 0 : 2);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    finish(thread);
}
END_TEST

/* From now on for this thread and those that it makes. */
static void refuse_membarrier(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void use_without_leases(void)
{
    for (int i = 0; i < 100; i++)
        use_the_class();
    ck_assert(!has_lease() && !leases_are_granted());
    ck_assert_uint_gt(magazine_waiting(magazine_of_class()), 0);
}

START_TEST(where_the_kernel_refuses_membarrier_magazines_stay_under_the_lock)
{
    stay_on_cpu(sched_getcpu());
    refuse_membarrier();
    use_without_leases();
}
END_TEST

START_TEST(where_it_is_refused_later_on_no_lease_is_taken_away_or_granted)
{
    pthread_t thread;

    stay_on_cpu(sched_getcpu());
    start(&thread, keep_a_lease);
    refuse_membarrier();
    uint32_t waiting = magazine_waiting(magazine_of_class());
    use_the_class();
    ck_assert_uint_eq(magazine_waiting(magazine_of_class()), waiting);
    finish(thread);
    use_without_leases();
    ck_assert_uint_eq(live_blocks(), 0);
}
END_TEST

START_TEST(none_is_granted_with_the_setting_0)
{
    setenv("CIA_LEASE", "0", 1);
    stay_on_cpu(sched_getcpu());
    use_without_leases();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia lease");
    TCase *tests = tcase_create("leases");

    tcase_set_timeout(tests, 100);
    tcase_add_test(tests, a_thread_with_a_lease_needs_no_lock);
    tcase_add_test(tests, boxes_below_the_level_need_no_lock_either);
    tcase_add_test(tests, a_class_that_has_no_magazine_costs_nobody_the_lease);
    tcase_add_test(tests, another_thread_takes_the_lease_away_and_in_time_has_its_own);
    tcase_add_test(tests, a_lease_is_not_taken_from_a_thread_in_a_step_and_nobody_waits_for_it);
    tcase_add_test(tests, what_waits_with_the_lease_of_a_thread_that_ended_is_served_to_others);
    tcase_add_test(tests, a_thread_finds_the_lease_of_one_that_ended_and_had_its_thread_pointer);
    tcase_add_test(tests, trim_empties_magazines_whose_lease_another_thread_has);
    tcase_add_test(tests, a_signal_handler_above_a_step_goes_past_the_magazines);
    tcase_add_test(tests, the_child_of_a_fork_has_the_magazines_of_threads_that_are_not_there);
    tcase_add_test(tests, where_the_kernel_refuses_membarrier_magazines_stay_under_the_lock);
    tcase_add_test(tests, where_it_is_refused_later_on_no_lease_is_taken_away_or_granted);
    tcase_add_test(tests, none_is_granted_with_the_setting_0);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
