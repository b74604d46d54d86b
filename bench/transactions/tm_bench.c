/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions of gcc -fgnu-tm on a shared structure: how many a second, under libitm or whatever
 * takes its place.
 */
#include "workload.h"

#include "harness/labels.h"
#include "harness/machine.h"
#include "harness/options.h"
#include "harness/random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_WRONG = 1, EXIT_BAD_ARGUMENT = 2 };
enum { THREADS_MOST = 256 };

static struct choices {
    const char *workload;
    uint64_t threads, operations, seed;
    bool csv, header;
} choices = {.threads = 1, .operations = 200000, .seed = 1};

/* clang-format off */
static const struct command_option options[] = {
    {.name = "workload", .kind = OPTION_TEXT, .value_name = "NAME", .required = true,
     .target = &choices.workload,
     .help = "counter; list: sorted, 512 keys; tree: 64 K keys; of a list's and a tree's operations"
             " 20 % insert, 20 % remove, 60 % look up"},
    {.name = "threads", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = THREADS_MOST, .target = &choices.threads,
     .help = "that share the structure (default 1)"},
    {.name = "operations", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1ull << 40, .target = &choices.operations,
     .help = "of each thread, a transaction each (default 200000)"},
    {.name = "seed", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = UINT64_MAX, .target = &choices.seed,
     .help = "of keys and operations (default 1)"},
    {.name = "csv", .kind = OPTION_FLAG, .target = &choices.csv,
     .help = "one CSV row instead of text"},
    {.name = "header", .kind = OPTION_FLAG, .target = &choices.header,
     .help = "the line of column names before the row"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

static const char summary[] =
    "Changes a structure in memory that all threads share, a transaction each time, and reports\n"
    "transactions a second, and the processor time of the threads. Libraries of transactions are\n"
    "chosen by LD_PRELOAD and by their settings; the row names both.\n"
    "Exit status: 0 the structure was whole afterwards and held what was put in, 1 it did not, 2 bad\n"
    "arguments.";
/* clang-format on */

static const struct workload *const workloads[] = {&workload_counter, &workload_list,
                                                   &workload_tree};

static const struct workload *workload_named(const char *name)
{
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        if (strcmp(workloads[i]->name, name) == 0)
            return workloads[i];
    }
    return NULL;
}

static int complain(int status, const char *text)
{
    fprintf(stderr, "tm_bench: %s\n", text);
    return status;
}

/* --- the threads --- */

struct worker {
    _Alignas(64) pthread_t thread;
    const struct workload *workload;
    pthread_barrier_t *start;
    uint64_t random;
    int64_t growth;
    double begin, end, cpu_seconds;
};

static double seconds_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    const struct workload *workload = worker->workload;
    uint64_t random = worker->random;
    int64_t growth = 0;
    double cpu_begin;

    pthread_barrier_wait(worker->start);
    worker->begin = seconds_of(CLOCK_MONOTONIC);
    cpu_begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < choices.operations; i++) {
        unsigned percent = (unsigned)random_below(&random, 100);

        growth += workload->operate(random_below(&random, workload->keys), percent);
    }
    worker->cpu_seconds = seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu_begin;
    worker->end = seconds_of(CLOCK_MONOTONIC);
    worker->growth = growth;
    return NULL;
}

struct result {
    double seconds;     /* from the first thread's first transaction to the last one's last */
    double cpu_seconds; /* of all threads together */
};

/* Returns NULL, or what is wrong. */
static const char *run(const struct workload *workload, struct result *result)
{
    static struct worker workers[THREADS_MOST];
    pthread_barrier_t start;
    uint64_t random = choices.seed;
    int64_t size = workload->create(random_next(&random));
    double begin = 0, end = 0;

    pthread_barrier_init(&start, NULL, (unsigned)choices.threads);
    for (uint64_t i = 0; i < choices.threads; i++) {
        workers[i] =
            (struct worker){.workload = workload, .start = &start, .random = random_next(&random)};
        /* Those that are there wait at the barrier for ever; the exit ends them. */
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return "cannot start that many threads";
    }
    for (uint64_t i = 0; i < choices.threads; i++) {
        pthread_join(workers[i].thread, NULL);
        size += workers[i].growth;
        begin = i == 0 || workers[i].begin < begin ? workers[i].begin : begin;
        end = workers[i].end > end ? workers[i].end : end;
        result->cpu_seconds += workers[i].cpu_seconds;
    }
    result->seconds = end - begin;
    pthread_barrier_destroy(&start);
    return workload->check(size);
}

/* --- the row --- */

/* What the environment asks of the library, "NAME=VALUE NAME=VALUE". */
static void name_settings(char *to, size_t size)
{
    size_t length = 0;

    *to = '\0';
    for (char **variable = environ; *variable != NULL; variable++) {
        if (strncmp(*variable, "ITM_", 4) != 0 && strncmp(*variable, "TM_", 3) != 0)
            continue;
        length +=
            (size_t)snprintf(to + length, size - length, "%s%s", length > 0 ? " " : "", *variable);
        if (length >= size)
            return;
    }
}

static void print_result(const struct result *result, const struct labels *labels,
                         const struct machine *machine)
{
    char runtime[64], asked[256], settings[256], rate[32] = "";
    double transactions = (double)(choices.threads * choices.operations);

    labels_tm_runtime(runtime, sizeof runtime);
    name_settings(asked, sizeof asked);
    machine_clean_name(settings, sizeof settings, asked);
    if (!labels->time_is_meaningless)
        snprintf(rate, sizeof rate, "%.1f", transactions / result->seconds);
    if (!choices.csv) {
        printf("%s on %s%s%s: %llu threads, %llu transactions each, seed %llu\n", choices.workload,
               runtime, *settings != '\0' ? ", " : "", settings,
               (unsigned long long)choices.threads, (unsigned long long)choices.operations,
               (unsigned long long)choices.seed);
        if (*rate == '\0')
            printf("  rate            none: times mean nothing under emulation\n");
        else
            printf("  rate            %s transactions/s\n  processor time  %.0f ns a transaction\n",
                   rate, 1e9 * result->cpu_seconds / transactions);
        return;
    }
    if (choices.header)
        puts("bench,workload,runtime,settings,malloc,threads,operations,seed,seconds,cpu_seconds,"
             "rate,unit,host,cpu,date");
    printf("transactions,%s,%s,%s,%s,%llu,%llu,%llu,%.6f,%.6f,%s,transactions/s,%s,%s,%s\n",
           choices.workload, runtime, settings, labels->malloc, (unsigned long long)choices.threads,
           (unsigned long long)choices.operations, (unsigned long long)choices.seed,
           result->seconds, result->cpu_seconds, rate, machine->host, machine->cpu, machine->date);
}

static int measure(void)
{
    static struct machine machine;
    static struct labels labels;
    struct result result = {0};
    char complaint[256];
    const char *wrong;
    const struct workload *workload = workload_named(choices.workload);

    if (workload == NULL) {
        snprintf(complaint, sizeof complaint, "--workload %.40s: counter, list or tree",
                 choices.workload);
        return complain(EXIT_BAD_ARGUMENT, complaint);
    }
    labels_read(&labels);
    if (!machine_read(&machine, MACHINE_NO_PIN, labels.time_is_meaningless, complaint,
                      sizeof complaint))
        return complain(EXIT_BAD_ARGUMENT, complaint);
    wrong = run(workload, &result);
    if (wrong != NULL)
        return complain(EXIT_WRONG, wrong);
    print_result(&result, &labels, &machine);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    int status;

    if (!options_read("tm_bench", summary, options, OPTION_COUNT, argc, argv, &status))
        return status;
    if (choices.header && !choices.csv)
        return complain(EXIT_BAD_ARGUMENT, "--header needs --csv");
    return options_end("tm_bench", measure());
}
