/*
 * SPDX-License-Identifier: MIT
 *
 * What a thread does that finds sub-heaps taken: how many spare ones there are, that it waits, and
 * that many who wait look again no oftener than few, that waiting is no point of cancellation and
 * ends in the child of a fork without handlers. And that those who find no room together do not add
 * a chunk each.
 */
#include "base/memory_nodes.h"
#include "base/system_call.h"
#include "cia_malloc/cpu_cache/fork.h"
#include "cia_malloc/pages/page_source.h"

#include "cia_fixture.h"
#include "run_suite.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

pid_t _Fork(void);

enum { BYTES = 5000 };

static uint32_t spare_count(void)
{
    uint32_t count = 0;

    for (uint32_t i = CPU_HEAPS; i < ALL_HEAPS; i++)
        count += atomic_load(&heap_table[i]) != NULL;
    return count;
}

static _Atomic uint32_t unmapped_nothing;

/* Called when the library asks the kernel for a chunk; NULL: nothing. */
static void (*asks_for_chunk)(void);

/* These two are in place of the library's. */
long page_source_munmap(void *address, size_t bytes)
{
    unmapped_nothing += (uintptr_t)address < PAGE_BYTES;
    return system_call_6(SYS_munmap, (long)address, (long)bytes, 0, 0, 0, 0);
}

long page_source_mmap(void *hint, size_t bytes, int protection)
{
    void (*call)(void) = bytes == CHUNK_BYTES ? asks_for_chunk : NULL;

    if (call != NULL) {
        asks_for_chunk = NULL;
        call();
    }
    return system_call_6(SYS_mmap, (long)hint, (long)bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
}

static void *allocate_one(void *argument)
{
    if (*(const int *)argument >= 0)
        stay_on_cpu(*(const int *)argument);
    void *block = cia_allocate(BYTES);

    ck_assert_ptr_nonnull(block);
    cia_free(block);
    return NULL;
}

static void run_thread(int cpu)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, allocate_one, &cpu), 0);
    pthread_join(thread, NULL);
}

/* Holds the sub-heap of the one CPU and the spare one. */
static struct subheap *hold_all(int cpu)
{
    stay_on_cpu(cpu);
    make_first_call();
    ck_assert(subheap_try_lock(heap_here()));
    run_thread(cpu);
    ck_assert_uint_eq(spare_count(), 1);
    struct subheap *spare = atomic_load(&heap_table[CPU_HEAPS]);
    ck_assert(subheap_try_lock(spare));
    return spare;
}

START_TEST(a_thread_waits_where_there_are_as_many_spare_sub_heaps_as_cpus)
{
    int cpu = sched_getcpu();
    struct subheap *spare = hold_all(cpu);
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, allocate_one, &cpu), 0);
    usleep(50000);
    ck_assert_uint_eq(spare_count(), 1);
    subheap_unlock(spare);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(spare_count(), 1);
    subheap_unlock(heap_here());
}
END_TEST

static uint64_t milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t sleeps(void)
{
    struct rusage usage;

    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_nvcsw;
}

START_TEST(many_threads_that_wait_look_again_no_oftener_than_few)
{
    enum { THREADS = 128, TIME = 400, LOOKS_OF_ALL = 16 };
    pthread_t threads[THREADS];
    int cpu = sched_getcpu();
    struct subheap *spare = hold_all(cpu);

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, allocate_one, &cpu), 0);
    while (atomic_load(&heap_here()->sleepers) < THREADS / 2)
        usleep(1000);
    uint64_t start = milliseconds(), before = sleeps();
    usleep(TIME * 1000);
    uint64_t after = sleeps(), time = milliseconds() - start;
    subheap_unlock(spare);
    subheap_unlock(heap_here());
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_le(after - before, THREADS + LOOKS_OF_ALL * time);
}
END_TEST

START_TEST(a_holder_that_was_spun_for_in_vain_is_known_until_it_lets_go)
{
    int cpu = sched_getcpu();

    stay_on_cpu(cpu);
    make_first_call();
    ck_assert(subheap_try_lock(heap_here()));
    ck_assert_uint_eq(atomic_load(&heap_here()->lock), subheap_self());
    run_thread(cpu); /* it goes on with a spare one */
    ck_assert_uint_eq(atomic_load(&heap_here()->lock), subheap_self() | SUBHEAP_AWAITED);
    ck_assert(subheap_is_ours(heap_here()));
    subheap_unlock(heap_here());
    ck_assert(subheap_try_lock(heap_here()));
    ck_assert_uint_eq(atomic_load(&heap_here()->lock), subheap_self());
    subheap_unlock(heap_here());
}
END_TEST

/* How the lock is marked when the thread that slept for it has it. */
static void *sleep_and_take(void *argument)
{
    struct subheap *heap = argument;

    while (!subheap_lock_soon(heap, true))
        ;
    bool marked = (atomic_load(&heap->lock) & SUBHEAP_AWAITED) != 0;
    subheap_unlock(heap);
    return marked ? argument : NULL;
}

START_TEST(a_thread_that_was_woken_wakes_the_next_one)
{
    enum { OTHERS = 3 };
    struct subheap *heap;
    pthread_t thread;
    void *marked;

    make_first_call();
    heap = heap_here();
    for (uint32_t others = 0; others <= OTHERS; others += OTHERS) {
        ck_assert(subheap_try_lock(heap));
        atomic_store(&heap->sleepers, others);
        ck_assert_int_eq(pthread_create(&thread, NULL, sleep_and_take, heap), 0);
        while (atomic_load(&heap->sleepers) == others)
            sched_yield();
        subheap_unlock(heap);
        pthread_join(thread, &marked);
        ck_assert_ptr_eq(marked, others > 0 ? heap : NULL);
        ck_assert_uint_eq(atomic_load(&heap->sleepers), others);
    }
    atomic_store(&heap->sleepers, 0);
}
END_TEST

static void *wait_once(void *heap)
{
    return subheap_lock_soon(heap, true) ? heap : NULL;
}

START_TEST(a_thread_that_waited_in_vain_has_the_next_holder_wake_the_next_one)
{
    enum { OTHERS = 4000, ASLEEP_US = 50000 }; /* with so many others it sleeps for 500 ms */
    struct subheap *heap;
    pthread_t thread;
    void *taken;

    make_first_call();
    heap = heap_here();
    ck_assert(subheap_try_lock(heap));
    atomic_store(&heap->sleepers, OTHERS);
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_once, heap), 0);
    while (atomic_load(&heap->sleepers) == OTHERS)
        sched_yield();
    usleep(ASLEEP_US);
    atomic_store(&heap->lock, subheap_self()); /* as if there were a new holder */
    pthread_join(thread, &taken);
    ck_assert_ptr_null(taken);
    ck_assert_uint_eq(atomic_load(&heap->lock), subheap_self() | SUBHEAP_AWAITED);
    atomic_store(&heap->sleepers, 0);
    subheap_unlock(heap);
}
END_TEST

static pthread_barrier_t barrier;

static void *race(void *argument)
{
    pthread_barrier_wait(&barrier);
    return allocate_one(argument);
}

START_TEST(threads_that_make_the_same_spare_sub_heap_unmap_nothing_that_is_not_theirs)
{
    enum { THREADS = 16 };
    pthread_t threads[THREADS];
    int cpu = sched_getcpu();

    stay_on_cpu(cpu);
    make_first_call();
    ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    ck_assert(subheap_try_lock(heap_here()));
    int other = -1; /* any CPU */
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, i % 2 ? &cpu : &other), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    subheap_unlock(heap_here());
    ck_assert_uint_eq(unmapped_nothing, 0);
}
END_TEST

static void *trim_when_cancelled(void *argument)
{
    pthread_cancel(pthread_self());
    cia_trim();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return argument;
}

static struct page_heap page_heap;
static const struct page_request few_pages = {.pages = 4, .modulus = 1};

/* While one thread asks the kernel for a chunk without the lock, others come that find no room. */
static void others_take_pages(struct subheap *owner)
{
    static int others = 10;
    struct page_run run;

    (void)owner;
    if (others-- > 0)
        ck_assert(page_heap_take(&page_heap, &few_pages, &run));
}

static void take_lock(struct subheap *owner)
{
    (void)owner;
}

START_TEST(threads_that_find_no_room_at_the_same_time_add_one_chunk)
{
    static const struct page_heap_lock lock = {.give_up = others_take_pages, .take = take_lock};
    struct page_work work;
    struct page_run run;

    cia_free(cia_allocate(BYTES)); /* settings are read */
    page_heap = (struct page_heap){.lock = &lock, .node = MEMORY_NODE_UNKNOWN};
    size_t mapped = page_source_mapped_bytes;
    ck_assert(page_heap_take(&page_heap, &few_pages, &run));
    ck_assert_uint_eq(page_heap.chunk_count, 1);
    page_work_take(&page_heap, &work);
    page_work_do(&page_heap, &work);
    ck_assert_uint_le(page_source_mapped_bytes - mapped,
                      CHUNK_BYTES + sizeof(struct chunk) + sizeof(struct page_map_leaf));
}
END_TEST

START_TEST(waiting_for_a_sub_heap_is_no_point_of_cancellation)
{
    int cpu = sched_getcpu();
    void *result;
    pthread_t thread;

    stay_on_cpu(cpu);
    make_first_call();
    ck_assert(subheap_try_lock(heap_here()));
    ck_assert_int_eq(pthread_create(&thread, NULL, trim_when_cancelled, &cpu), 0);
    pthread_join(thread, &result);
    ck_assert_ptr_eq(result, &cpu);
    subheap_unlock(heap_here());
}
END_TEST

static atomic_bool held, over;

static void *hold(void *argument)
{
    struct subheap *spare = hold_all(*(int *)argument);

    atomic_store(&held, true);
    while (!atomic_load(&over))
        usleep(1000);
    subheap_unlock(spare);
    subheap_unlock(heap_here());
    return NULL;
}

START_TEST(the_child_of_a_fork_without_handlers_finds_what_others_held_free)
{
    int cpu = sched_getcpu(), status;
    pthread_t thread;

    stay_on_cpu(cpu);
    ck_assert_int_eq(pthread_create(&thread, NULL, hold, &cpu), 0);
    while (!atomic_load(&held))
        usleep(1000);
    pid_t child = _Fork();
    if (child == 0) {
        void *block = cia_allocate(BYTES);

        cia_free(block);
        _exit(block != NULL ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}
END_TEST

static struct subheap *wanted_by_other;
static atomic_bool forks, has_tried;

/* Holds the sub-heap from some moment of a fork on, if it can be had. */
static void *take_while_forked(void *argument)
{
    while (!atomic_load(&forks))
        usleep(100);
    bool taken = subheap_try_lock(wanted_by_other);
    atomic_store(&has_tried, true);
    while (!atomic_load(&over))
        usleep(1000);
    if (taken)
        subheap_unlock(wanted_by_other);
    return argument;
}

/* Runs behind the allocator's handler, because it was registered before that. */
static void let_other_try(void)
{
    atomic_store(&forks, true);
    while (!atomic_load(&has_tried))
        usleep(100);
}

static pid_t forked = -1;

/* As a signal handler of this thread. */
static void fork_here(void)
{
    forked = fork();
    if (forked == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(15);
    }
    atomic_store(&over, true);
}

START_TEST(the_child_of_a_thread_that_forks_while_it_asks_for_a_chunk_has_its_sub_heap_again)
{
    pthread_t other;
    int status;

    stay_on_cpu(sched_getcpu());
    make_first_call();
    ck_assert_int_eq(pthread_atfork(let_other_try, NULL, NULL), 0);
    fork_register_handlers();
    ck_assert_int_eq(pthread_create(&other, NULL, take_while_forked, NULL), 0);
    wanted_by_other = heap_here();
    asks_for_chunk = fork_here;
    for (int i = 0; i < 100 && forked < 0; i++)
        ck_assert_ptr_nonnull(cia_allocate(500000));
    if (forked == 0)
        _exit(cia_allocate(BYTES) != NULL ? 0 : 1);
    ck_assert_int_eq(waitpid(forked, &status, 0), forked);
    ck_assert_int_eq(status, 0);
    pthread_join(other, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia waiting");
    TCase *tests = tcase_create("waiting");

    tcase_set_timeout(tests, 20);
    tcase_add_test(tests, a_thread_waits_where_there_are_as_many_spare_sub_heaps_as_cpus);
    tcase_add_test(tests, many_threads_that_wait_look_again_no_oftener_than_few);
    tcase_add_test(tests, a_holder_that_was_spun_for_in_vain_is_known_until_it_lets_go);
    tcase_add_test(tests, a_thread_that_was_woken_wakes_the_next_one);
    tcase_add_test(tests, a_thread_that_waited_in_vain_has_the_next_holder_wake_the_next_one);
    tcase_add_test(tests,
                   threads_that_make_the_same_spare_sub_heap_unmap_nothing_that_is_not_theirs);
    tcase_add_test(tests, threads_that_find_no_room_at_the_same_time_add_one_chunk);
    tcase_add_test(tests, waiting_for_a_sub_heap_is_no_point_of_cancellation);
    tcase_add_test(tests, the_child_of_a_fork_without_handlers_finds_what_others_held_free);
    tcase_add_test(
        tests, the_child_of_a_thread_that_forks_while_it_asks_for_a_chunk_has_its_sub_heap_again);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
