/*
 * SPDX-License-Identifier: MIT
 *
 * What one lock and unlock of a pthread mutex, rwlock or spin lock cost: alone, and contended by
 * threads that work inside and outside of the critical section. Beside the rate it shows what the
 * rate was bought with: CPU time, context switches, how evenly the threads were served and, if
 * asked, how long the one that waited longest had to wait.
 *
 * Every section but a reader's adds one to a plain counter; the run fails unless the counter is the
 * sum of what the threads counted for themselves. A reader's section reads it.
 *
 * The lock library's statistics are left alone: reading them would start the counting, and the
 * counting is not what is to be measured here.
 */
#include "harness/labels.h"
#include "harness/options.h"
#include "harness/pages.h"
#include "harness/random.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_WRONG = 1, EXIT_BAD_ARGUMENT = 2, MOST_THREADS = 4096, LINE = 64 };

static struct choices {
    uint64_t threads, idle, inside, outside, seconds, operations, seed;
    const char *type;
    bool seconds_given, operations_given, pin, waits, csv, header;
} choices = {.threads = 1, .seconds = 1, .operations = 0, .seed = 1, .type = "normal"};

/* clang-format off */
static const struct command_option options[] = {
    {.name = "threads", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = MOST_THREADS, .target = &choices.threads,
     .help = "threads that take the lock; the first is the initial thread (default 1)"},
    {.name = "idle", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = MOST_THREADS, .target = &choices.idle,
     .help = "threads that only exist: libc then knows of several (default 0)"},
    {.name = "inside", .kind = OPTION_NUMBER, .value_name = "STEPS",
     .least = 0, .greatest = 1ull << 32, .target = &choices.inside,
     .help = "work in the critical section; a step is 4 cycles (default 0)"},
    {.name = "outside", .kind = OPTION_NUMBER, .value_name = "STEPS",
     .least = 0, .greatest = 1ull << 32, .target = &choices.outside,
     .help = "work between two of them: drawn anew each time, this much on average (default 0)"},
    {.name = "seconds", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 86400, .target = &choices.seconds, .given = &choices.seconds_given,
     .help = "how long (default 1)"},
    {.name = "operations", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1ull << 48, .target = &choices.operations,
     .given = &choices.operations_given,
     .help = "sections a thread, in place of a time"},
    {.name = "type", .kind = OPTION_TEXT, .value_name = "TYPE", .target = &choices.type,
     .help = "a mutex: normal, recursive, errorcheck or adaptive; a rwlock: read, write or mixed "
             "(one in 8 writes); or spin (default normal)"},
    {.name = "seed", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = UINT64_MAX, .target = &choices.seed,
     .help = "of the work outside (default 1)"},
    {.name = "pin", .kind = OPTION_FLAG, .target = &choices.pin,
     .help = "thread by thread on the next of the CPUs that this process may use"},
    {.name = "waits", .kind = OPTION_FLAG, .target = &choices.waits,
     .help = "read the clock around every lock, for the longest wait; costs about 50 ns a section"},
    {.name = "csv", .kind = OPTION_FLAG, .target = &choices.csv,
     .help = "print one line of comma-separated values"},
    {.name = "header", .kind = OPTION_FLAG, .target = &choices.header,
     .help = "with --csv: the names of the columns first"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };
/* clang-format on */

/* The mutex and what it protects are on lines of their own, as in a program that takes care. */
static alignas(2 * LINE) pthread_mutex_t mutex;
static alignas(2 * LINE) pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static alignas(2 * LINE) pthread_spinlock_t spin_lock;
static alignas(2 * LINE) uint64_t protected_counter;
static alignas(2 * LINE) bool stop; /* set by the alarm's handler; relaxed: it carries no data */

/* What --type asks for. */
static enum locking { MUTEX, READ, WRITE, MIXED, SPIN } locking;

struct worker {
    pthread_t thread;
    uint64_t sections;
    uint64_t writes; /* those of them that added to the counter */
    uint64_t longest_wait_ns;
    uint64_t seed;
    uint64_t residue; /* of the work: keeps the compiler from dropping it */
} __attribute__((aligned(2 * LINE)));

static pthread_barrier_t start_line;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A chain of dependent multiplications and additions: 4 cycles a step, no memory. */
static inline uint64_t work(uint64_t value, uint64_t steps)
{
    for (; steps > 0; steps--) {
        value = value * 0x9e3779b97f4a7c15u + 1;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

/* The lock is a constant in each of the measured loops. */
#define LOOP_INLINE inline __attribute__((always_inline))

static LOOP_INLINE void lock(enum locking which, bool writes)
{
    switch (which) {
    case MUTEX:
        pthread_mutex_lock(&mutex);
        break;
    case SPIN:
        pthread_spin_lock(&spin_lock);
        break;
    default:
        if (writes)
            pthread_rwlock_wrlock(&rwlock);
        else
            pthread_rwlock_rdlock(&rwlock);
    }
}

static LOOP_INLINE void unlock(enum locking which)
{
    switch (which) {
    case MUTEX:
        pthread_mutex_unlock(&mutex);
        break;
    case SPIN:
        pthread_spin_unlock(&spin_lock);
        break;
    default:
        pthread_rwlock_unlock(&rwlock);
    }
}

static LOOP_INLINE void lock_and_time(enum locking which, bool writes, struct worker *worker)
{
    uint64_t before = clock_ns(CLOCK_MONOTONIC);

    lock(which, writes);
    uint64_t waited = clock_ns(CLOCK_MONOTONIC) - before;
    if (waited > worker->longest_wait_ns)
        worker->longest_wait_ns = waited;
}

/*
 * The measured loop. inside and outside are loaded before it, so that without them it is a lock, an
 * increment, an unlock and two tests.
 */
static LOOP_INLINE void loop(enum locking which, struct worker *worker)
{
    const uint64_t inside = choices.inside, outside = choices.outside;
    const uint64_t most = choices.operations_given ? choices.operations : UINT64_MAX;
    const bool waits = choices.waits;
    uint64_t value = worker->seed, sections = 0, reads = 0;

    while (sections < most && !__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        const bool writes = which != READ && (which != MIXED || sections % 8 == 7);

        if (waits)
            lock_and_time(which, writes, worker);
        else
            lock(which, writes);
        /* Read first and written last: whoever comes in between is not counted. */
        uint64_t counted = protected_counter;
        __asm__ volatile("" : "+r"(counted));
        value = work(value, inside);
        __asm__ volatile("" : "+r"(counted) : "r"(value));
        if (writes)
            protected_counter = counted + 1;
        else
            reads++;
        unlock(which);
        sections++;
        /* Not the same each time, or the threads would fall into step. */
        if (outside != 0)
            value = work(value, random_below(&worker->seed, 2 * outside + 1));
    }
    worker->sections = sections;
    worker->writes = sections - reads;
    worker->residue = value;
}

static __attribute__((noinline)) void loop_over_mutex(struct worker *worker)
{
    loop(MUTEX, worker);
}

static __attribute__((noinline)) void loop_reading(struct worker *worker)
{
    loop(READ, worker);
}

static __attribute__((noinline)) void loop_writing(struct worker *worker)
{
    loop(WRITE, worker);
}

static __attribute__((noinline)) void loop_mixed(struct worker *worker)
{
    loop(MIXED, worker);
}

static __attribute__((noinline)) void loop_spinning(struct worker *worker)
{
    loop(SPIN, worker);
}

static void lock_and_unlock(struct worker *worker)
{
    static void (*const loops[])(struct worker *) = {[MUTEX] = loop_over_mutex,
                                                     [READ] = loop_reading,
                                                     [WRITE] = loop_writing,
                                                     [MIXED] = loop_mixed,
                                                     [SPIN] = loop_spinning};

    loops[locking](worker);
}

/* Best effort: the CPUs were ours when they were asked for. Allocates nothing. */
static void pin(uint64_t number)
{
    cpu_set_t allowed, one;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    uint64_t skip = number % (uint64_t)CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || skip-- != 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        return;
    }
}

static struct worker *first_worker;

static void *run_worker(void *argument)
{
    if (choices.pin)
        pin((uint64_t)((struct worker *)argument - first_worker));
    (void)pthread_barrier_wait(&start_line);
    lock_and_unlock(argument);
    return NULL;
}

/* Exists until the run is over: the write end of the pipe is closed then. */
static int idle_pipe[2];

static void *run_idler(void *argument)
{
    char byte;

    while (read(idle_pipe[0], &byte, 1) < 0 && errno == EINTR)
        continue;
    return argument;
}

static void on_alarm(int signal)
{
    (void)signal;
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

static int complain(int status, const char *text)
{
    fprintf(stderr, "lockpair: %s\n", text);
    return status;
}

/* The lock that --type names. */
static bool make_lock(void)
{
    static const struct {
        const char *name;
        enum locking locking;
    } others[] = {{"read", READ}, {"write", WRITE}, {"mixed", MIXED}, {"spin", SPIN}};
    static const struct {
        const char *name;
        int type;
    } types[] = {{"recursive", PTHREAD_MUTEX_RECURSIVE},
                 {"errorcheck", PTHREAD_MUTEX_ERRORCHECK},
                 {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP}};
    pthread_mutexattr_t attributes;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(choices.type, others[i].name) == 0) {
            locking = others[i].locking;
            return pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE) == 0;
        }
    }
    /* As most programs have it: an explicit PTHREAD_MUTEX_NORMAL would forbid elision. */
    if (strcmp(choices.type, "normal") == 0)
        return pthread_mutex_init(&mutex, NULL) == 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(choices.type, types[i].name) == 0)
            return pthread_mutexattr_init(&attributes) == 0 &&
                   pthread_mutexattr_settype(&attributes, types[i].type) == 0 &&
                   pthread_mutex_init(&mutex, &attributes) == 0;
    }
    return false;
}

struct result {
    uint64_t sections, writes, least, most, longest_wait_ns;
    uint64_t nanoseconds, cpu_nanoseconds;
    long sleeps, preemptions; /* voluntary and involuntary context switches */
    bool intact;
};

/* Between the first section and the end of the last thread. False: a thread cannot be started. */
static bool run(struct worker *workers, struct result *result)
{
    struct rusage before, after;
    pthread_t *idlers = pages_map(choices.idle + 1, sizeof *idlers);
    first_worker = workers;
    bool started = idlers != NULL && pipe(idle_pipe) == 0;

    for (uint64_t i = 0; started && i < choices.idle; i++)
        started = pthread_create(&idlers[i], NULL, run_idler, NULL) == 0;
    /* One thread alone must stay alone, or libc would know of a second one. */
    for (uint64_t i = 0; started && i < choices.threads; i++) {
        workers[i].seed = choices.seed + i * 0x9e3779b97f4a7c15u;
        started = i == 0 || pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) == 0;
    }
    if (!started)
        return false;

    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)choices.seconds}};
    sigaction(SIGALRM, &action, NULL);
    if (choices.pin)
        pin(0); /* only now: threads inherit it */
    if (choices.threads > 1)
        (void)pthread_barrier_wait(&start_line);
    getrusage(RUSAGE_SELF, &before);
    uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    if (!choices.operations_given)
        setitimer(ITIMER_REAL, &timer, NULL);
    lock_and_unlock(&workers[0]);
    for (uint64_t i = 1; i < choices.threads; i++)
        pthread_join(workers[i].thread, NULL);
    result->nanoseconds = clock_ns(CLOCK_MONOTONIC) - begin;
    result->cpu_nanoseconds = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    getrusage(RUSAGE_SELF, &after);
    result->sleeps = after.ru_nvcsw - before.ru_nvcsw;
    result->preemptions = after.ru_nivcsw - before.ru_nivcsw;

    close(idle_pipe[1]);
    for (uint64_t i = 0; i < choices.idle; i++)
        pthread_join(idlers[i], NULL);
    pages_unmap(idlers, choices.idle + 1, sizeof *idlers);
    return true;
}

static void sum_up(const struct worker *workers, struct result *result)
{
    result->least = UINT64_MAX;
    for (uint64_t i = 0; i < choices.threads; i++) {
        const struct worker *worker = &workers[i];

        result->sections += worker->sections;
        result->writes += worker->writes;
        if (worker->sections < result->least)
            result->least = worker->sections;
        if (worker->sections > result->most)
            result->most = worker->sections;
        if (worker->longest_wait_ns > result->longest_wait_ns)
            result->longest_wait_ns = worker->longest_wait_ns;
    }
    result->intact = protected_counter == result->writes;
}

static void print_csv(const struct labels *labels, const struct result *result)
{
    double sections = (double)result->sections;

    if (choices.header)
        puts("bench,lock,htm,policy,wait,type,threads,idle,inside,outside,seed,sections,rate,ns,"
             "cpu_ns,cpus,fairness,sleeps,preemptions,longest_wait_us");
    printf("lockpair,%s,%s,%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
           ",%" PRIu64,
           labels->lock, labels->htm, labels->policy, labels->wait, choices.type, choices.threads,
           choices.idle, choices.inside, choices.outside, choices.seed, result->sections);
    if (labels->time_is_meaningless)
        fputs(",,,,", stdout);
    else
        printf(",%.1f,%.2f,%.2f,%.3f", sections * 1e9 / (double)result->nanoseconds,
               (double)result->nanoseconds / sections, (double)result->cpu_nanoseconds / sections,
               (double)result->cpu_nanoseconds / (double)result->nanoseconds);
    printf(",%.3f,%ld,%ld,", (double)result->least / (double)result->most, result->sleeps,
           result->preemptions);
    if (choices.waits && !labels->time_is_meaningless)
        printf("%.1f", (double)result->longest_wait_ns / 1e3);
    putchar('\n');
}

static void print_text(const struct labels *labels, const struct result *result)
{
    double sections = (double)result->sections;
    double average = sections / (double)choices.threads;

    printf("lockpair: %" PRIu64 " thread%s and %" PRIu64 " idle, %s lock, %" PRIu64
           " steps inside, %" PRIu64 " outside, seed %" PRIu64 "\n",
           choices.threads, choices.threads == 1 ? "" : "s", choices.idle, choices.type,
           choices.inside, choices.outside, choices.seed);
    printf("  lock          %s%s%s%s%s, htm %s\n", labels->lock,
           *labels->wait != '\0' ? ", wait " : "", labels->wait,
           *labels->policy != '\0' ? ", policy " : "", labels->policy, labels->htm);
    if (labels->time_is_meaningless) {
        printf("  rate          none: times mean nothing under emulation\n");
    } else {
        printf("  rate          %.0f sections/s, %.2f ns each\n",
               sections * 1e9 / (double)result->nanoseconds,
               (double)result->nanoseconds / sections);
        printf("  CPU time      %.2f ns a section, %.2f CPUs busy\n",
               (double)result->cpu_nanoseconds / sections,
               (double)result->cpu_nanoseconds / (double)result->nanoseconds);
    }
    printf("  shares        %.2f to %.2f of the average thread's\n",
           (double)result->least / average, (double)result->most / average);
    printf("  switches      %ld sleeps, %ld preemptions\n", result->sleeps, result->preemptions);
    if (choices.waits && !labels->time_is_meaningless)
        printf("  longest wait  %.1f us\n", (double)result->longest_wait_ns / 1e3);
}

static int measure(void)
{
    struct labels labels;
    struct result result = {0};

    labels_read(&labels);
    if (!make_lock())
        return complain(EXIT_BAD_ARGUMENT,
                        "--type is normal, recursive, errorcheck, adaptive, read, "
                        "write, mixed or spin");
    struct worker *workers = pages_map(choices.threads, sizeof *workers);
    if (workers == NULL || pthread_barrier_init(&start_line, NULL, (unsigned)choices.threads) != 0)
        return complain(EXIT_WRONG, strerror(errno));
    if (!run(workers, &result))
        return complain(EXIT_WRONG, "the threads cannot be started");
    sum_up(workers, &result);
    pages_unmap(workers, choices.threads, sizeof *workers);
    if (!result.intact) {
        char text[160];
        snprintf(text, sizeof text,
                 "no mutual exclusion: %" PRIu64 " sections counted one by one, %" PRIu64
                 " in the protected counter",
                 result.writes, protected_counter);
        return complain(EXIT_WRONG, text);
    }
    if (choices.csv)
        print_csv(&labels, &result);
    else
        print_text(&labels, &result);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    int status;

    if (!options_read("lockpair",
                      "Measures a pthread lock: rate, CPU time and fairness of critical sections.",
                      options, OPTION_COUNT, argc, argv, &status))
        return status;
    if (choices.header && !choices.csv)
        return complain(EXIT_BAD_ARGUMENT, "--header needs --csv");
    if (choices.seconds_given && choices.operations_given)
        return complain(EXIT_BAD_ARGUMENT, "--seconds and --operations exclude each other");
    return options_end("lockpair", measure());
}
