/*
 * SPDX-License-Identifier: MIT
 *
 * What malloc and free cost: well-known patterns of use, each a fixed amount of work, timed; and
 * what they take of memory. Preload an allocator to measure it; compare runs that were
 * interleaved ("mplace compare" does). Here are the options and the rows; the workloads are in
 * workloads.c.
 */
#include "harness/labels.h"
#include "harness/nearest.h"
#include "harness/options.h"
#include "watch.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { EXIT_WRONG = 1, EXIT_BAD_ARGUMENT = 2 };

static struct choices {
    const char *workload, *memory;
    uint64_t threads, size, operations, seconds, shorten, rounds, seed, watched_by;
    bool size_given, operations_given, seconds_given, watched, csv, header, list;
} choices = {.workload = "all", .threads = 1, .shorten = 1, .rounds = 1, .seed = 1};

/* clang-format off */
static const struct command_option options[] = {
    {.name = "workload", .kind = OPTION_TEXT, .value_name = "NAME[,NAME]", .target = &choices.workload,
     .help = "these workloads (default all but those of memory over time)"},
    {.name = "threads", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = THREADS_MOST, .target = &choices.threads,
     .help = "threads that do the work side by side (default 1)"},
    {.name = "size", .kind = OPTION_SIZE, .value_name = "BYTES",
     .least = 1, .greatest = 1 << 26, .target = &choices.size, .given = &choices.size_given,
     .help = "what each malloc asks for, in workloads of one size; MB of the peak and of phases; threads "
             "of many-threads"},
    {.name = "operations", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1ull << 40, .target = &choices.operations,
     .given = &choices.operations_given,
     .help = "operations of each thread (default: the workload's, see --list)"},
    {.name = "seconds", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1000000, .target = &choices.seconds, .given = &choices.seconds_given,
     .help = "of memory over time: go on for so long (default: the operations, once; peak-and-free: 30 "
             "after the peak)"},
    {.name = "memory", .kind = OPTION_TEXT, .value_name = "FILE", .target = &choices.memory,
     .help = "watch resident and virtual memory and mappings, each second and at the moments that the "
             "workload names, and append them to FILE as CSV (-: print them)"},
    {.name = "watched-by", .kind = OPTION_NUMBER, .value_name = "SOCKET",
     .least = 0, .greatest = 1 << 20, .target = &choices.watched_by, .given = &choices.watched,
     .help = "of --memory itself: who watches this process"},
    {.name = "shorten", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1ull << 40, .target = &choices.shorten,
     .help = "do an N-th of the operations (default 1)"},
    {.name = "rounds", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1000, .target = &choices.rounds,
     .help = "the time is the least of so many (default 1)"},
    {.name = "seed", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = UINT64_MAX, .target = &choices.seed,
     .help = "of everything random (default 1)"},
    {.name = "csv", .kind = OPTION_FLAG, .target = &choices.csv,
     .help = "a CSV row for each workload instead of text"},
    {.name = "header", .kind = OPTION_FLAG, .target = &choices.header,
     .help = "the line of column names before the first row"},
    {.name = "list", .kind = OPTION_FLAG, .target = &choices.list,
     .help = "print what would run, one \"workload size operations threads\" a line, \"over-time\" "
             "behind memory over time, and end"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

static const char summary[] =
    "Runs workloads of malloc and free, each a fixed amount of work, and reports the time and the\n"
    "peak resident memory of each. Preload an allocator to measure it. Several workloads run in a\n"
    "process each, one after the other. Exit status: 0 all blocks kept their content, 1 some did not\n"
    "or memory ran out, 2 bad arguments.";
/* clang-format on */

static int complain(const char *complaint)
{
    fprintf(stderr, "malloc_bench: %s\n", complaint);
    return EXIT_BAD_ARGUMENT;
}

/* The entry of a comma-separated list behind this one; NULL behind the last. */
static const char *next_entry(const char *entry)
{
    entry += strcspn(entry, ",");
    return *entry == ',' ? entry + 1 : NULL;
}

/* The name itself, or what is before the slash of a workload and its variant. */
static bool is_entry(const char *entry, const char *name)
{
    size_t length = strcspn(entry, ",");

    return strncmp(entry, name, length) == 0 &&
           (strlen(name) == length || (length > 0 && name[length] == '/'));
}

/* Whether the workload is among the chosen ones. */
static bool is_chosen(const struct workload *workload)
{
    if (strcmp(choices.workload, "all") == 0)
        return !workload->over_time;
    for (const char *entry = choices.workload; entry != NULL; entry = next_entry(entry)) {
        if (is_entry(entry, workload->name))
            return true;
    }
    return false;
}

/* What is to run: each workload and size is a job. */
static size_t jobs_chosen(struct job *jobs)
{
    size_t count = 0;

    for (size_t i = 0; i < workload_count; i++) {
        const struct workload *workload = &workloads[i];
        bool sized = workload->size_greatest > 0;
        uint64_t operations =
            (choices.operations_given ? choices.operations : workload->operations) /
            choices.shorten;

        if (!is_chosen(workload))
            continue;
        operations -= operations % workload->operations_step;
        if (operations == 0)
            operations = workload->operations_step;
        for (size_t s = 0; s == 0 || (s < WORKLOAD_SIZES_MOST && workload->sizes[s] > 0); s++) {
            jobs[count++] = (struct job){
                .workload = workload,
                .operations = operations,
                .size = !sized               ? 0
                        : choices.size_given ? choices.size
                                             : workload->sizes[s],
                .seed = choices.seed,
                .seconds = choices.seconds_given ? choices.seconds : workload->seconds,
                .threads = (unsigned)choices.threads,
            };
            if (workload->size_is_threads)
                jobs[count - 1].threads = (unsigned)jobs[count - 1].size;
            if (!sized || choices.size_given)
                break;
        }
    }
    return count;
}

static void describe_unknown(const char *entry, size_t length, char *text, size_t size)
{
    struct nearest nearest;

    nearest_begin(&nearest, entry, length);
    for (size_t i = 0; i < workload_count; i++)
        nearest_offer(&nearest, workloads[i].name, strcspn(workloads[i].name, "/"));
    int written = snprintf(text, size, "unknown workload '%.*s' (see --help)", (int)length, entry);
    if (nearest.name != NULL && written >= 0 && (size_t)written < size)
        snprintf(text + written, size - (size_t)written, "; did you mean '%.*s'?",
                 (int)nearest.name_length, nearest.name);
}

/* What is wrong with the choices that the table of options does not know; NULL: nothing. */
static const char *wrong_choice(const struct job *jobs, size_t count)
{
    static char text[256];

    for (const char *entry = choices.workload; entry != NULL; entry = next_entry(entry)) {
        bool known = strcmp(choices.workload, "all") == 0;

        for (size_t i = 0; i < workload_count; i++)
            known = known || is_entry(entry, workloads[i].name);
        if (!known) {
            describe_unknown(entry, strcspn(entry, ","), text, sizeof text);
            return text;
        }
    }
    for (size_t i = 0; choices.seconds_given && i < count; i++) {
        if (!jobs[i].workload->over_time) {
            snprintf(text, sizeof text, "--seconds does not apply to %s", jobs[i].workload->name);
            return text;
        }
    }
    for (size_t i = 0; choices.size_given && i < count; i++) {
        const struct workload *workload = jobs[i].workload;

        if (workload->size_greatest == 0) {
            snprintf(text, sizeof text, "--size does not apply to %s", workload->name);
            return text;
        }
        if (choices.size < workload->size_least || choices.size > workload->size_greatest) {
            snprintf(text, sizeof text, "--size of %s is a whole number from %zu to %zu",
                     workload->name, workload->size_least, workload->size_greatest);
            return text;
        }
    }
    return NULL;
}

static void print_row(const struct job *job, const struct result *result)
{
    char size[24] = "", time[64] = ",";
    struct rusage usage;
    struct labels labels;
    double each = result->seconds * 1e9 / (double)result->operations;

    /* Before the labels: reading them allocates. The figure is this process's own, but for a parent
     * larger than it that started it by vfork. */
    getrusage(RUSAGE_SELF, &usage);
    long peak_kib = usage.ru_maxrss - (long)(result->own_bytes / 1024);
    labels_read(&labels);
    if (job->size > 0)
        snprintf(size, sizeof size, "%lu", job->size);
    if (choices.csv) {
        if (!labels.time_is_meaningless)
            snprintf(time, sizeof time, "%.6f,%.3f", result->seconds, each);
        if (choices.header)
            puts("malloc,workload,size,threads,operations,seed,seconds,ns,peak_rss_kib");
        printf("%s,%s,%s,%u,%lu,%lu,%s,%ld\n", labels.malloc, job->workload->name, size,
               job->threads, result->operations, job->seed, time, peak_kib);
        return;
    }
    printf("%-10s %-21s %7s  %u thread%s", labels.malloc, job->workload->name, size, job->threads,
           job->threads > 1 ? "s" : " ");
    if (!labels.time_is_meaningless)
        printf(" %9.3f s %12.1f ns an operation", result->seconds, each);
    printf(" %9.1f MiB peak\n", (double)peak_kib / 1024);
}

static double time_of_each(const struct result *result)
{
    return result->seconds / (double)result->operations;
}

static void run_here(const struct job *job)
{
    struct result best = {0};

    if (choices.watched)
        watch_by((int)choices.watched_by);
    for (uint64_t round = 0; round < choices.rounds; round++) {
        struct result result = workload_measure(job);

        if (round == 0 || time_of_each(&result) < time_of_each(&best))
            best = result;
    }
    print_row(job, &best);
}

/* Where the samples of the process that is watched now go, and what they are of. */
static struct {
    const struct job *job;
    struct labels labels;
    FILE *file; /* NULL: standard output, for a person */
} watched;

static void take_sample(const struct watch_sample *sample)
{
    const struct job *job = watched.job;
    const char *slash = strchr(job->workload->name, '/');
    char size[24] = "";

    if (watched.file == NULL) {
        printf("%9.2f s %9.1f MiB resident %10.1f MiB virtual %6lu mappings  %s\n", sample->second,
               (double)sample->resident_kib / 1024, (double)sample->virtual_kib / 1024,
               sample->mappings, sample->moment);
        fflush(stdout);
        return;
    }
    if (job->size > 0)
        snprintf(size, sizeof size, "%lu", job->size);
    fprintf(watched.file, "%s,%.*s,%s,%s,%u,%lu,%.3f,%s,%lu,%lu,%lu\n", watched.labels.malloc,
            (int)strcspn(job->workload->name, "/"), job->workload->name,
            slash != NULL ? slash + 1 : "", size, job->threads, job->seed, sample->second,
            sample->moment, sample->resident_kib, sample->virtual_kib, sample->mappings);
}

/* Opens the file of --memory; a new one begins with the names of the columns. False: it cannot be.
 */
static bool open_memory_file(void)
{
    if (choices.memory == NULL || strcmp(choices.memory, "-") == 0)
        return true;
    labels_read(&watched.labels);
    watched.file = fopen(choices.memory, "ae");
    if (watched.file == NULL || fseek(watched.file, 0, SEEK_END) != 0) {
        fprintf(stderr, "malloc_bench: %s cannot be written: %s\n", choices.memory,
                strerror(errno));
        return false;
    }
    if (ftell(watched.file) == 0)
        fputs("malloc,workload,variant,size,threads,seed,second,moment,resident_kib,virtual_kib,"
              "mappings\n",
              watched.file);
    return true;
}

static bool close_memory_file(void)
{
    if (watched.file == NULL)
        return true;
    bool failed = ferror(watched.file) != 0;
    if (fclose(watched.file) == 0 && !failed)
        return true;
    fprintf(stderr, "malloc_bench: %s cannot be written: %s\n", choices.memory, strerror(errno));
    return false;
}

/* In a process of its own, so that no workload finds what another one left, and each has a peak of
 * its own. Returns its exit status. */
static int run_apart(const struct job *job, const char *program)
{
    enum { ARGUMENTS_MOST = 24, TEXT_MOST = 32 };
    char threads[TEXT_MOST], operations[TEXT_MOST], rounds[TEXT_MOST], seed[TEXT_MOST],
        size[TEXT_MOST], seconds[TEXT_MOST], socket[TEXT_MOST];
    char *arguments[ARGUMENTS_MOST] = {(char *)program, "--workload", (char *)job->workload->name,
                                       "--threads",     threads,      "--operations",
                                       operations,      "--rounds",   rounds,
                                       "--seed",        seed};
    int count = 11, status, sockets[2] = {-1, -1};
    pid_t child;

    /* Of the two sockets the child inherits the first alone. */
    if (choices.memory != NULL && (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0 ||
                                   fcntl(sockets[1], F_SETFD, FD_CLOEXEC) != 0)) {
        fprintf(stderr, "malloc_bench: there is no socket to watch by: %s\n", strerror(errno));
        return EXIT_WRONG;
    }

    snprintf(threads, sizeof threads, "%u", job->threads);
    snprintf(operations, sizeof operations, "%lu", job->operations);
    snprintf(rounds, sizeof rounds, "%lu", choices.rounds);
    snprintf(seed, sizeof seed, "%lu", job->seed);
    snprintf(size, sizeof size, "%lu", job->size);
    if (job->size > 0) {
        arguments[count++] = "--size";
        arguments[count++] = size;
    }
    snprintf(seconds, sizeof seconds, "%lu", job->seconds);
    if (job->seconds > 0) {
        arguments[count++] = "--seconds";
        arguments[count++] = seconds;
    }
    snprintf(socket, sizeof socket, "%d", sockets[0]);
    if (choices.memory != NULL) {
        arguments[count++] = "--watched-by";
        arguments[count++] = socket;
    }
    if (choices.csv)
        arguments[count++] = "--csv";
    if (choices.csv && choices.header)
        arguments[count++] = "--header";
    choices.header = false; /* the first one had it */

    int error = posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ);
    if (error != 0) {
        fprintf(stderr, "malloc_bench: %s cannot be started: %s\n", program, strerror(error));
        return EXIT_WRONG;
    }
    if (choices.memory != NULL) {
        close(sockets[0]);
        watched.job = job;
        status = watch_process(child, sockets[1], take_sample);
        close(sockets[1]);
    } else {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "malloc_bench: %s ended by signal %d\n", job->workload->name,
                WTERMSIG(status));
        return EXIT_WRONG;
    }
    return WEXITSTATUS(status);
}

static void print_help(void)
{
    options_help(stdout, "malloc_bench", summary, options, OPTION_COUNT);
    puts("\nworkloads:");
    for (size_t i = 0; i < workload_count; i++)
        printf("  %-21s %s%s\n", workloads[i].name, workloads[i].pattern,
               workloads[i].over_time ? " (only when named)" : "");
}

int main(int argc, char **argv)
{
    static struct job jobs[64 * WORKLOAD_SIZES_MOST];
    char complaint[256];
    int worst = 0;

    switch (options_parse(options, OPTION_COUNT, argc, argv, complaint, sizeof complaint)) {
    case OPTIONS_HELP:
        print_help();
        return 0;
    case OPTIONS_VERSION:
        options_version(stdout, "malloc_bench");
        return 0;
    case OPTIONS_BAD:
        return complain(complaint);
    case OPTIONS_RUN:
        break;
    }
    size_t count = jobs_chosen(jobs);
    const char *wrong = wrong_choice(jobs, count);
    if (wrong != NULL)
        return complain(wrong);
    if (choices.list) {
        for (size_t i = 0; i < count; i++)
            printf("%s %lu %lu %u%s\n", jobs[i].workload->name, jobs[i].size, jobs[i].operations,
                   jobs[i].threads, jobs[i].workload->over_time ? " over-time" : "");
    } else if (count == 1 && choices.memory == NULL) {
        run_here(&jobs[0]);
    } else if (!open_memory_file()) {
        return EXIT_BAD_ARGUMENT;
    } else {
        for (size_t i = 0; i < count; i++) {
            int status = run_apart(&jobs[i], argv[0]);

            worst = status > worst ? status : worst;
        }
        if (!close_memory_file())
            return EXIT_BAD_ARGUMENT;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "malloc_bench: the result cannot be written: %s\n", strerror(errno));
        return EXIT_BAD_ARGUMENT;
    }
    return worst;
}
