/*
 * SPDX-License-Identifier: MIT
 *
 * A cache with the locks of memcached 1.4 under a load, in one process: operations a second, and in
 * the branches with transactions how many of them ran alone, and why.
 */
#include "branch.h"
#include "content.h"
#include "load.h"
#include "stats.h"
#include "tm_counts.h"

#include "harness/labels.h"
#include "harness/machine.h"
#include "harness/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_WRONG = 1, EXIT_BAD_ARGUMENT = 2 };

static struct choices {
    const char *branch;
    struct load load;
    uint64_t verbose;
    bool csv, header, sites;
} choices = {.branch = CACHE_BRANCH,
             .load = {.threads = 4,
                      .operations = 100000,
                      .keys = 10000,
                      .value_size = 1024,
                      .sets = 10,
                      .memory = 64 << 20,
                      .hash_power = 16,
                      .numbers = 64,
                      .seed = 1}};

/* clang-format off */
static const struct command_option options[] = {
    {.name = "branch", .kind = OPTION_TEXT, .value_name = "NAME", .target = &choices.branch,
     .help = "locks, semaphores, or ip and it, each alone or with -callable, -max, -lib, -oncommit"},
    {.name = "threads", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = THREADS_MOST, .target = &choices.load.threads,
     .help = "workers, besides two maintenance threads (default 4)"},
    {.name = "operations", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1ull << 40, .target = &choices.load.operations,
     .help = "of each thread (default 100000)"},
    {.name = "seed", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = UINT64_MAX, .target = &choices.load.seed,
     .help = "of keys and operations (default 1)"},
    {.name = "keys", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1 << 28, .target = &choices.load.keys,
     .help = "that are got and set; every second one is there at first (default 10000)"},
    {.name = "value", .kind = OPTION_SIZE, .value_name = "BYTES",
     .least = 8, .greatest = 256 << 10, .target = &choices.load.value_size,
     .help = "of a value (default 1024)"},
    {.name = "sets", .kind = OPTION_NUMBER, .value_name = "PERCENT",
     .least = 0, .greatest = 100, .target = &choices.load.sets,
     .help = "of the operations (default 10; memslap's test of this name: 100)"},
    {.name = "adds", .kind = OPTION_NUMBER, .value_name = "PERCENT",
     .least = 0, .greatest = 100, .target = &choices.load.adds,
     .help = "of the operations add to one of 64 numbers (default 0); the rest are gets"},
    {.name = "memory", .kind = OPTION_SIZE, .value_name = "BYTES",
     .least = 4 << 20, .greatest = 1ull << 40, .target = &choices.load.memory,
     .help = "for items (default 64M)"},
    {.name = "old", .kind = OPTION_SIZE, .value_name = "BYTES",
     .least = 8, .greatest = 256 << 10, .target = &choices.load.old_size,
     .help = "values of this size fill the memory at first, in place of every second key: pages must move"},
    {.name = "hash-power", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 12, .greatest = 28, .target = &choices.load.hash_power,
     .help = "the hash table has 2^N buckets at first (default 16)"},
    {.name = "verbose", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = 3, .target = &choices.verbose,
     .help = "2 and 3 write on standard error, from critical sections (default 0)"},
    {.name = "sites", .kind = OPTION_FLAG, .target = &choices.sites,
     .help = "also where transactions begin, by source line (needs addr2line)"},
    {.name = "csv", .kind = OPTION_FLAG, .target = &choices.csv,
     .help = "one CSV row instead of text"},
    {.name = "header", .kind = OPTION_FLAG, .target = &choices.header,
     .help = "the line of column names before the row"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

static const char summary[] =
    "Gets and sets items of a cache that has the locks of memcached 1.4, or transactions in their\n"
    "place, from threads of one process.\n"
    "Exit status: 0 the cache was consistent afterwards, 1 it was not, 2 bad arguments, or this build\n"
    "lacks the branch.";
/* clang-format on */

static int complain(int status, const char *text)
{
    fprintf(stderr, "cache_server: %s\n", text);
    return status;
}

/* Each branch is a program of its own, beside this one. */
static int become_branch(char **argv)
{
    const char *suffix = strcmp(choices.branch, "locks") == 0 ? "" : choices.branch;
    char path[4096], own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);

    if (length > 0 && strchr(suffix, '/') == NULL) {
        own[length] = '\0';
        length =
            snprintf(path, sizeof path, "%.*scache_server%s%s", (int)(strrchr(own, '/') + 1 - own),
                     own, *suffix == '\0' ? "" : "-", suffix);
        /* A program under another's name would start itself for ever. */
        if ((size_t)length < sizeof path && strcmp(path, own) != 0)
            execv(path, argv);
    }
    fprintf(stderr,
            "cache_server: --branch %s: there is no such branch here: locks, semaphores, and where "
            "GCC has -fgnu-tm ip and it, alone or with -callable, -max, -lib or -oncommit\n",
            choices.branch);
    return EXIT_BAD_ARGUMENT;
}

#if CACHE_STAGE > STAGE_LOCKS
/* The file and line of each, or its offset in the program. */
static void print_sites(void)
{
    static struct tm_site sites[TM_SITES_MOST];
    extern const char __ehdr_start[];
    size_t count = tm_counts_sites(sites);

    printf("%12s %12s %12s %12s  begun at\n", "transactions", "switched", "began alone", "aborted");
    for (size_t i = 0; i < count; i++) {
        size_t offset = (size_t)((const char *)sites[i].address - __ehdr_start) - 1;
        char command[128], where[256] = "";
        FILE *answer;

        snprintf(command, sizeof command, "addr2line -s -e /proc/%d/exe %#zx", (int)getpid(),
                 offset);
        answer = popen(command, "r");
        if (answer == NULL || fgets(where, sizeof where, answer) == NULL)
            snprintf(where, sizeof where, "%#zx", offset);
        if (answer != NULL)
            pclose(answer);
        where[strcspn(where, " \n")] = '\0';
        printf("%12llu %12llu %12llu %12llu  %s\n",
               (unsigned long long)sites[i].counts.transactions,
               (unsigned long long)sites[i].counts.in_flight_switch,
               (unsigned long long)sites[i].counts.start_serial,
               (unsigned long long)sites[i].counts.abort_serial, where);
    }
}
#endif

/* What runs the critical sections: a lock library, or one of transactions. */
static void name_runtime(char *to, size_t size, const struct labels *labels)
{
#if CACHE_STAGE > STAGE_LOCKS
    (void)labels;
    labels_tm_runtime(to, size);
#else
    snprintf(to, size, "%s", labels->lock);
#endif
}

static void print_csv(const struct load *load, const struct labels *labels,
                      const struct machine *machine, const char *runtime, double rate)
{
    if (choices.header)
        puts("bench,branch,runtime,malloc,htm,threads,operations,seed,keys,value,sets,adds,memory,"
             "old,hash_power,rate,unit,gets,hits,evicted,expansions,pages_moved,transactions,"
             "in_flight_switch,start_serial,abort_serial,host,cpu,date");
    printf("cache,%s,%s,%s,%s,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,", CACHE_BRANCH,
           runtime, labels->malloc, labels->htm, (unsigned long long)load->threads,
           (unsigned long long)load->operations, (unsigned long long)load->seed,
           (unsigned long long)load->keys, (unsigned long long)load->value_size,
           (unsigned long long)load->sets, (unsigned long long)load->adds,
           (unsigned long long)load->memory, (unsigned long long)load->old_size,
           (unsigned long long)load->hash_power);
    if (!labels->time_is_meaningless)
        printf("%.1f", rate);
    printf(",operations/s,%llu,%llu,%llu,%llu,%llu,", (unsigned long long)load->gets_done,
           (unsigned long long)load->hits, (unsigned long long)load->evicted,
           (unsigned long long)load->expansions, (unsigned long long)load->pages_moved);
#if CACHE_STAGE > STAGE_LOCKS
    printf("%llu,%llu,%llu,%llu,", (unsigned long long)load->counts.transactions,
           (unsigned long long)load->counts.in_flight_switch,
           (unsigned long long)load->counts.start_serial,
           (unsigned long long)load->counts.abort_serial);
#else
    printf(",,,,");
#endif
    printf("%s,%s,%s\n", machine->host, machine->cpu, machine->date);
}

static void print_text(const struct load *load, const struct labels *labels, const char *runtime,
                       double rate)
{
    printf("cache, branch %s on %s: %llu threads, %llu operations each, seed %llu\n", CACHE_BRANCH,
           runtime, (unsigned long long)load->threads, (unsigned long long)load->operations,
           (unsigned long long)load->seed);
    if (labels->time_is_meaningless)
        printf("  rate          none: times mean nothing under emulation\n");
    else
        printf("  rate          %.0f operations/s\n", rate);
    printf("  operations    %llu gets (%llu found), %llu sets, %llu adds\n",
           (unsigned long long)load->gets_done, (unsigned long long)load->hits,
           (unsigned long long)load->sets_done, (unsigned long long)load->adds_done);
    printf("  maintenance   %llu items evicted, hash table doubled %llu times, %llu pages moved\n",
           (unsigned long long)load->evicted, (unsigned long long)load->expansions,
           (unsigned long long)load->pages_moved);
#if CACHE_STAGE > STAGE_LOCKS
    printf(
        "  transactions  %llu, alone: %llu switched in flight, %llu from their start, %llu after "
        "aborts\n",
        (unsigned long long)load->counts.transactions,
        (unsigned long long)load->counts.in_flight_switch,
        (unsigned long long)load->counts.start_serial,
        (unsigned long long)load->counts.abort_serial);
#endif
}

static int measure(void)
{
    static struct machine machine;
    static struct labels labels;
    char complaint[256], runtime[64];
    const char *wrong;
    double rate;
    struct load *load = &choices.load;

    if (load->sets + load->adds > 100)
        return complain(EXIT_BAD_ARGUMENT, "--sets and --adds are more than 100 together");
    if (load->value_size % 8 != 0 || load->old_size % 8 != 0)
        return complain(EXIT_BAD_ARGUMENT, "--value and --old: a multiple of 8 is wanted");
#if CACHE_STAGE > STAGE_LOCKS
    /* libitm runs the transactions of a single thread alone: the counts would say nothing. Who sets
       it to nothing wants libitm's own choice. */
    setenv("ITM_DEFAULT_METHOD", "ml_wt", 0);
    if (*getenv("ITM_DEFAULT_METHOD") == '\0')
        unsetenv("ITM_DEFAULT_METHOD");
#endif
    verbose = (unsigned)choices.verbose;
    labels_read(&labels);
    if (!machine_read(&machine, MACHINE_NO_PIN, labels.time_is_meaningless, complaint,
                      sizeof complaint))
        return complain(EXIT_BAD_ARGUMENT, complaint);
    name_runtime(runtime, sizeof runtime, &labels);
    wrong = load_run(load);
    if (wrong != NULL)
        return complain(EXIT_WRONG, wrong);
    rate = (double)(load->operations * load->threads) / load->seconds;
    if (choices.csv)
        print_csv(load, &labels, &machine, runtime, rate);
    else
        print_text(load, &labels, runtime, rate);
#if CACHE_STAGE > STAGE_LOCKS
    if (choices.sites)
        print_sites();
#endif
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    int status;

    if (!options_read("cache_server", summary, options, OPTION_COUNT, argc, argv, &status))
        return status;
    if (strcmp(choices.branch, CACHE_BRANCH) != 0)
        return become_branch(argv);
    if (choices.header && !choices.csv)
        return complain(EXIT_BAD_ARGUMENT, "--header needs --csv");
    return options_end("cache_server", measure());
}
