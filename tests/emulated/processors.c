/*
 * SPDX-License-Identifier: MIT
 *
 * Which processor am I on: the system call, the C library, RDTSCP and RDPID agree, threads are
 * spread over the processors there are, and stay on those that they are bound to.
 * Argument: how many processors there are (the emulator's --cpus); without it the host's.
 */
#include "transaction.h"

#include <sched.h>
#include <sys/syscall.h>

enum { MOST = 64, LOOKS = 300 };

static int processors;
static int stop;

static int by_rdtscp(void)
{
    uint32_t low, high, auxiliary;

    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(auxiliary));
    return (int)(auxiliary & 0xfff);
}

static bool has_rdpid(void)
{
    unsigned eax, ebx, ecx = 0, edx;

    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ecx & 1u << 22);
}

static int by_rdpid(void)
{
    uint64_t auxiliary;

    __asm__ volatile(".byte 0xf3, 0x0f, 0xc7, 0xf8" : "=a"(auxiliary)); /* rdpid %rax */
    return (int)(auxiliary & 0xfff);
}

static int by_system_call(void)
{
    unsigned processor = ~0u, node = ~0u;

    EXPECT_EQUAL(syscall(SYS_getcpu, &processor, &node, NULL), 0);
    return (int)processor;
}

static void every_way_to_ask_gives_a_processor_that_is_there_and_they_agree(void)
{
    int agreed = 0;

    for (int i = 0; i < LOOKS; i++) {
        int first = by_rdtscp(), call = by_system_call(), library = sched_getcpu();
        int last = by_rdtscp();

        EXPECT(call >= 0 && call < processors);
        EXPECT(library >= 0 && library < processors);
        EXPECT(first >= 0 && first < processors);
        if (has_rdpid())
            EXPECT(by_rdpid() < processors);
        /* The thread may move in between; if it did not, all say the same. */
        agreed += first == call && call == library && library == last;
    }
    EXPECT(agreed > 0);
}

static void ask_inside(void *result)
{
    *(int *)result = by_rdtscp();
}

static void a_transaction_may_ask_by_rdtscp_and_is_told_the_same(void)
{
    int same = 0;

    for (int i = 0; i < LOOKS; i++) {
        int inside = -1, before = by_rdtscp();

        if (attempt(ask_inside, &inside) == STARTED) {
            EXPECT(inside >= 0 && inside < processors);
            same += inside == before;
        }
    }
    EXPECT(same > 0);
}

static int seen[MOST];

static void *note_where(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        __atomic_store_n(&seen[by_rdtscp() % MOST], 1, __ATOMIC_RELAXED);
    return unused;
}

static void as_many_busy_threads_as_processors_use_them_all(void)
{
    pthread_t threads[MOST];
    int used = 0;

    for (int i = 0; i < processors; i++)
        threads[i] = start_thread(note_where, NULL);
    for (long waited = 0; used < processors; waited++) {
        used = 0;
        for (int i = 0; i < processors; i++)
            used += __atomic_load_n(&seen[i], __ATOMIC_RELAXED);
        EXPECT(waited < 1000000);
        sched_yield();
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < processors; i++)
        end_thread(threads[i]);
}

static void a_thread_bound_to_a_processor_stays_there(void)
{
    cpu_set_t all, one;

    EXPECT_EQUAL(sched_getaffinity(0, sizeof(all), &all), 0);
    for (int cpu = 0; cpu < processors; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue; /* not one of the host's */
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        EXPECT_EQUAL(sched_setaffinity(0, sizeof(one), &one), 0);
        for (int i = 0; i < 20; i++) {
            EXPECT_EQUAL(by_rdtscp(), cpu);
            sched_yield();
        }
    }
    EXPECT_EQUAL(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(int count, char **arguments)
{
    need_transactions();
    processors = count > 1 ? atoi(arguments[1]) : (int)sysconf(_SC_NPROCESSORS_CONF);
    EXPECT(processors >= 1 && processors <= MOST);
    every_way_to_ask_gives_a_processor_that_is_there_and_they_agree();
    a_transaction_may_ask_by_rdtscp_and_is_told_the_same();
    if (is_emulated())
        as_many_busy_threads_as_processors_use_them_all();
    a_thread_bound_to_a_processor_stays_there();
    return 0;
}
