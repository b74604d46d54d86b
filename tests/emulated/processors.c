/*
 * SPDX-License-Identifier: MIT
 *
 * Which processor am I on: the system call, the C library, RDTSCP and RDPID agree, threads are
 * spread over the processors there are, and stay on those that they are bound to; the C library
 * counts as many as there are. Argument: how many processors there are (the emulator's --cpus);
 * without it the host's.
 */
#include "transaction.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

enum { MOST = 64, LOOKS = 300 };

static int processors;

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

static bool all_are_seen(void)
{
    int used = 0;

    for (int i = 0; i < processors; i++)
        used += __atomic_load_n(&seen[i], __ATOMIC_RELAXED);
    return used == processors;
}

static void *note_where(void *unused)
{
    while (!all_are_seen())
        __atomic_store_n(&seen[by_rdtscp()], 1, __ATOMIC_RELAXED);
    return unused;
}

static void as_many_busy_threads_as_processors_use_them_all(void)
{
    pthread_t threads[MOST];

    for (int i = 0; i < processors; i++)
        threads[i] = start_thread(note_where, NULL);
    for (int i = 0; i < processors; i++)
        end_thread(threads[i]);
}

/* Programs make that many of what they have by processor. */
static void the_library_counts_the_processors(void)
{
    cpu_set_t all;

    EXPECT_EQUAL(get_nprocs(), processors);
    EXPECT_EQUAL(get_nprocs_conf(), processors);
    EXPECT_EQUAL(sched_getaffinity(0, sizeof(all), &all), 0);
    EXPECT_EQUAL(CPU_COUNT(&all), processors);
    for (int cpu = 0; cpu < processors; cpu++)
        EXPECT(CPU_ISSET(cpu, &all));
}

static void bind(const cpu_set_t *set)
{
    EXPECT_EQUAL(sched_setaffinity(0, sizeof(*set), set), 0);
}

static cpu_set_t only(int first, int second)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(first, &set);
    CPU_SET(second, &set);
    return set;
}

static void a_thread_bound_to_a_processor_stays_there(void)
{
    cpu_set_t all, one;

    EXPECT_EQUAL(sched_getaffinity(0, sizeof(all), &all), 0);
    for (int cpu = 0; cpu < MOST; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        one = only(cpu, cpu);
        bind(&one);
        for (int i = 0; i < 20; i++) {
            EXPECT_EQUAL(by_rdtscp(), cpu);
            EXPECT_EQUAL(by_system_call(), cpu);
            sched_yield();
        }
    }
    bind(&all);
}

static int usable[MOST], usable_count; /* what this process may use, in order */

static void find_usable(void)
{
    cpu_set_t all;

    EXPECT_EQUAL(sched_getaffinity(0, sizeof(all), &all), 0);
    for (int cpu = 0; cpu < MOST; cpu++) {
        if (CPU_ISSET(cpu, &all))
            usable[usable_count++] = cpu;
    }
}

static void *be_on_the_last_two(void *unused)
{
    int last = usable[usable_count - 1], last_but_one = usable[usable_count - 2];
    cpu_set_t set, expected = only(last, last_but_one);

    EXPECT_EQUAL(sched_getaffinity(0, sizeof(set), &set), 0);
    EXPECT(CPU_EQUAL(&set, &expected));
    for (int i = 0; i < LOOKS; i++) {
        int at = by_rdtscp();

        EXPECT(at == last || at == last_but_one);
        if (i % 10 == 0)
            sched_yield();
    }
    return unused;
}

static void new_threads_and_children_may_use_what_their_creator_may(void)
{
    cpu_set_t all, two = only(usable[usable_count - 1], usable[usable_count - 2]);
    pthread_t threads[4];
    int status;

    EXPECT_EQUAL(sched_getaffinity(0, sizeof(all), &all), 0);
    bind(&two);
    for (int i = 0; i < 4; i++)
        threads[i] = start_thread(be_on_the_last_two, NULL);
    for (int i = 0; i < 4; i++)
        end_thread(threads[i]);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        be_on_the_last_two(NULL);
        _exit(0);
    }
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
    bind(&all);
}

static int moved;

static void *wait_to_be_moved(void *unused)
{
    while (!__atomic_load_n(&moved, __ATOMIC_ACQUIRE))
        __asm__ volatile("pause");
    for (int i = 0; i < LOOKS; i++)
        EXPECT_EQUAL(by_rdtscp(), usable[usable_count - 1]);
    return unused;
}

static void a_thread_that_runs_can_be_bound_by_another_one(void)
{
    cpu_set_t last = only(usable[usable_count - 1], usable[usable_count - 1]);
    pthread_t thread = start_thread(wait_to_be_moved, NULL);

    EXPECT_EQUAL(pthread_setaffinity_np(thread, sizeof(last), &last), 0);
    __atomic_store_n(&moved, 1, __ATOMIC_RELEASE);
    end_thread(thread);
}

static void linger_inside(void *unused)
{
    (void)unused;
    linger(2000);
}

static void *be_in_transactions(void *over)
{
    while (!__atomic_load_n((bool *)over, __ATOMIC_ACQUIRE))
        (void)attempt(linger_inside, NULL);
    return NULL;
}

static void a_thread_may_move_to_where_another_one_is_in_a_transaction(void)
{
    pthread_t threads[MOST];
    cpu_set_t all;
    bool over = false;

    EXPECT_EQUAL(sched_getaffinity(0, sizeof(all), &all), 0);
    for (int i = 0; i < usable_count; i++)
        threads[i] = start_thread(be_in_transactions, &over);
    for (int i = 0; i < LOOKS; i++) {
        cpu_set_t one = only(usable[i % usable_count], usable[i % usable_count]);

        bind(&one);
        (void)attempt(linger_inside, NULL);
        EXPECT_EQUAL(by_rdtscp(), usable[i % usable_count]);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    for (int i = 0; i < usable_count; i++)
        end_thread(threads[i]);
    bind(&all);
}

static void a_processor_that_is_not_there_is_refused(void)
{
    cpu_set_t beyond, before, after;

    CPU_ZERO(&beyond);
    CPU_SET(CPU_SETSIZE - 1, &beyond);
    EXPECT_EQUAL(sched_getaffinity(0, sizeof(before), &before), 0);
    EXPECT_EQUAL(sched_setaffinity(0, sizeof(beyond), &beyond), -1);
    EXPECT_EQUAL(errno, EINVAL);
    EXPECT_EQUAL(sched_getaffinity(0, sizeof(after), &after), 0);
    EXPECT(CPU_EQUAL(&before, &after));
}

/* glibc's restartable sequences give a processor's number, or say that they have none. */
static void the_number_in_glibcs_rseq_is_right_or_none(void)
{
    const char *thread = __builtin_thread_pointer();
    cpu_set_t all, one = only(usable[usable_count - 1], usable[usable_count - 1]);
    int32_t number;

    EXPECT_EQUAL(sched_getaffinity(0, sizeof(all), &all), 0);
    bind(&one);
    memcpy(&number, thread + __rseq_offset + offsetof(struct rseq, cpu_id), sizeof(number));
    EXPECT(number < 0 || number == usable[usable_count - 1]);
    EXPECT(__rseq_size != 0 || number < 0);
    bind(&all);
}

enum { ADDITIONS = 300 };

static struct {
    long sum;
} __attribute__((aligned(64))) by_processor[MOST];

static void *add_up(void *unused)
{
    for (int i = 0; i < ADDITIONS; i++) {
        for (;;) {
            int status = begin();

            if (status == STARTED) {
                by_processor[by_rdtscp()].sum++;
                end();
                break;
            }
            if ((status & CAUSES) != CONFLICT) /* a page that has to come in, for instance */
                __atomic_fetch_add(&by_processor[by_rdtscp()].sum, 0, __ATOMIC_RELAXED);
        }
    }
    return unused;
}

/* Threads of one processor take turns and all others have their own slot: nobody's sum is lost, and
 * each processor's is its own. */
static void sums_kept_by_processor_add_up(void)
{
    pthread_t threads[2 * MOST];
    long sum = 0;

    for (int i = 0; i < 2 * processors; i++)
        threads[i] = start_thread(add_up, NULL);
    for (int i = 0; i < 2 * processors; i++)
        end_thread(threads[i]);
    for (int i = 0; i < MOST; i++) {
        EXPECT(i < processors || by_processor[i].sum == 0);
        sum += by_processor[i].sum;
    }
    EXPECT_EQUAL(sum, 2L * processors * ADDITIONS);
}

int main(int count, char **arguments)
{
    need_transactions();
    processors = count > 1 ? atoi(arguments[1]) : (int)sysconf(_SC_NPROCESSORS_CONF);
    EXPECT(processors >= 1 && processors <= MOST);
    every_way_to_ask_gives_a_processor_that_is_there_and_they_agree();
    a_transaction_may_ask_by_rdtscp_and_is_told_the_same();
    find_usable();
    if (is_emulated()) {
        the_library_counts_the_processors();
        as_many_busy_threads_as_processors_use_them_all();
    }
    a_thread_bound_to_a_processor_stays_there();
    if (usable_count >= 2) {
        new_threads_and_children_may_use_what_their_creator_may();
        a_thread_that_runs_can_be_bound_by_another_one();
    }
    a_thread_may_move_to_where_another_one_is_in_a_transaction();
    a_processor_that_is_not_there_is_refused();
    the_number_in_glibcs_rseq_is_right_or_none();
    sums_kept_by_processor_add_up();
    return 0;
}
