/*
 * SPDX-License-Identifier: MIT
 *
 * A thread that is stopped anywhere in the allocator delays nobody: not while it holds a sub-heap's
 * lock, not in a restartable sequence, not in the middle of malloc_trim.
 * One thread calls the allocator all the time; a signal stops it, its handler waits, and meanwhile
 * the other threads do, on the same CPU, all that the allocator has. Where it was stopped it says
 * itself, and a case is over when it was there often enough. Whoever waited for it would wait for
 * ever: a test that fails so runs into its time-out.
 */
#include "base/random.h"

#include "cia_fixture.h"
#include "run_suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

enum {
    RSEQ_SIGNATURE =
        0x53053053, /* before the instruction that an interrupted sequence goes on at */
    STOPS_WANTED = 30,
    STOPS_MOST = 200000,
    BLOCKS = 300,
};

enum place { OUTSIDE, WITH_A_LOCK, IN_A_SEQUENCE, WITHDRAWN };

/* The victim writes place, then stopped; the other one reads it, and sets stopped to 0 when it may
   go on. */
static _Atomic uint32_t stopped;
static _Atomic int place;
static atomic_bool over, ready;

static bool holds_a_lock(void)
{
    for (uint32_t i = 0; i < ALL_HEAPS; i++) {
        struct subheap *heap = atomic_load(&heap_table[i]);

        if (heap != NULL && atomic_load(&heap->lock) != 0)
            return true;
    }
    return false;
}

/* Whether some CPU's magazines are out of the table. */
static bool has_withdrawn(void)
{
    for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++) {
        const struct magazines *magazines = magazines_of(cpu);

        if (magazines != NULL && atomic_load(&magazine_to_put[cpu]) != magazines->region)
            return true;
    }
    return false;
}

/* The other threads hold nothing while they stop this one. */
static void stop_here(int signal, siginfo_t *information, void *context)
{
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    uint32_t before;

    (void)signal;
    (void)information;
    memcpy(&before, (const char *)registers[REG_RIP] - sizeof before, sizeof before);
    if (magazines_use_sequences() && before == RSEQ_SIGNATURE)
        atomic_store(&place, IN_A_SEQUENCE);
    else if (magazines_use_sequences() && has_withdrawn())
        atomic_store(&place, WITHDRAWN);
    else
        atomic_store(&place, holds_a_lock() ? WITH_A_LOCK : OUTSIDE);
    atomic_store(&stopped, 1);
    while (atomic_load(&stopped) != 0)
        sched_yield();
}

static void call_the_fast_paths(void)
{
    for (int i = 0; i < 100; i++)
        cia_free(cia_allocate(64));
}

static void call_what_takes_the_lock(void)
{
    for (int i = 0; i < 100; i++)
        cia_free(cia_allocate(MAGAZINE_LARGEST + 1 + (size_t)i * 500));
}

static void call_trim(void)
{
    call_the_fast_paths();
    cia_trim();
}

static void *be_stopped(void *argument)
{
    void (*call)(void) = *(void (**)(void))argument;

    for (int i = 0; i < 2000; i++) /* the class has its magazine */
        cia_free(cia_allocate(64));
    atomic_store(&ready, true);
    while (!atomic_load(&over))
        call();
    return NULL;
}

/* All that the allocator has, with sizes of all kinds. */
static void call_everything(uint64_t *seed)
{
    static char *blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        size_t bytes = 1 + random_below(seed, 1u << (6 + random_below(seed, 13)));

        blocks[i] = random_below(seed, 4) == 0   ? cia_allocate_zeroed(bytes)
                    : random_below(seed, 4) == 0 ? cia_allocate_aligned(256, bytes)
                                                 : cia_allocate(bytes);
        ck_assert_ptr_nonnull(blocks[i]);
        blocks[i][bytes - 1] = 1;
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (i % 8 == 0)
            blocks[i] = cia_reallocate(blocks[i], 1 + random_below(seed, 5000));
        cia_free(blocks[i]);
    }
}

static void *come_and_go(void *argument)
{
    call_everything(argument);
    return NULL;
}

static void stop_it(void (*call)(void), enum place wanted)
{
    struct sigaction action = {.sa_sigaction = stop_here, .sa_flags = SA_SIGINFO};
    int counts[] = {0, 0, 0, 0}, stops = 0;
    uint64_t seed = 1;
    pthread_t victim;

    stay_on_cpu(sched_getcpu());
    cia_free(cia_allocate(64));
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    ck_assert_int_eq(pthread_create(&victim, NULL, be_stopped, &call), 0);
    while (!atomic_load(&ready))
        sched_yield();
    for (; counts[wanted] < STOPS_WANTED && stops < STOPS_MOST; stops++) {
        /* Some time for the victim, so that it is anywhere. */
        for (uint32_t i = random_below(&seed, 3); i > 0; i--)
            sched_yield();
        ck_assert_int_eq(pthread_kill(victim, SIGUSR1), 0);
        while (atomic_load(&stopped) == 0)
            sched_yield();
        if (counts[atomic_load(&place)]++ < STOPS_WANTED) {
            pthread_t newcomer;

            call_everything(&seed);
            if (stops % 4 == 0)
                cia_trim();
            call_everything(&seed);
            ck_assert_int_eq(pthread_create(&newcomer, NULL, come_and_go, &seed), 0);
            ck_assert_int_eq(pthread_join(newcomer, NULL), 0);
        }
        atomic_store(&stopped, 0);
    }
    atomic_store(&over, true);
    pthread_join(victim, NULL);
    printf("seed 1, %d stops: %d outside, %d with a lock, %d in a sequence, %d with "
           "magazines revoked\n",
           stops, counts[OUTSIDE], counts[WITH_A_LOCK], counts[IN_A_SEQUENCE], counts[WITHDRAWN]);
    ck_assert_int_eq(counts[wanted], STOPS_WANTED);
}

START_TEST(a_thread_stopped_with_a_sub_heaps_lock_delays_nobody)
{
    stop_it(call_what_takes_the_lock, WITH_A_LOCK);
}
END_TEST

START_TEST(a_thread_stopped_in_the_fast_paths_delays_nobody)
{
    cia_free(cia_allocate(64)); /* the way is chosen */
    stop_it(call_the_fast_paths, magazines_use_sequences() ? IN_A_SEQUENCE : WITH_A_LOCK);
}
END_TEST

START_TEST(a_thread_stopped_in_trim_delays_nobody)
{
    cia_free(cia_allocate(64));
    stop_it(call_trim, magazines_use_sequences() ? WITHDRAWN : WITH_A_LOCK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia stopped");
    TCase *tests = tcase_create("stopped");

    tcase_set_timeout(tests, 100);
    tcase_add_test(tests, a_thread_stopped_with_a_sub_heaps_lock_delays_nobody);
    tcase_add_test(tests, a_thread_stopped_in_the_fast_paths_delays_nobody);
    tcase_add_test(tests, a_thread_stopped_in_trim_delays_nobody);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
