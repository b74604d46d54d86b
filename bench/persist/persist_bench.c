/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions on persistent structures: how many a second, and how many lines are flushed and
 * fences waited for.
 */
#include "run.h"

#include "harness/machine.h"
#include "harness/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_WRONG = 1, EXIT_BAD_ARGUMENT = 2 };

static struct choices {
    const char *workload, *log, *folder;
    uint64_t transactions, warm, threads, seed, keys, size, operations, batch, memory, log_size;
    bool csv, header;
} choices = {.transactions = 100000,
             .threads = 1,
             .seed = 1,
             .keys = 16384,
             .operations = 1,
             .batch = 1,
             .log_size = 32 << 20};

/* clang-format off */
static const struct command_option options[] = {
    {.name = "workload", .kind = OPTION_TEXT, .value_name = "NAME", .required = true,
     .target = &choices.workload, .help = "btree, graph, hash, rbtree, sps or sqlite"},
    {.name = "log", .kind = OPTION_TEXT, .value_name = "FORMAT", .required = true,
     .target = &choices.log,
     .help = "wal or eager of libmplace_persist, libpmemobj, or none: ordinary memory"},
    {.name = "transactions", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1ull << 40, .target = &choices.transactions,
     .help = "of each thread (default 100000)"},
    {.name = "warm", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = 1ull << 40, .target = &choices.warm,
     .help = "transactions of each thread before those that are measured (default 0)"},
    {.name = "threads", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = THREADS_MOST, .target = &choices.threads,
     .help = "each with a structure of its own (default 1)"},
    {.name = "seed", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = UINT64_MAX, .target = &choices.seed,
     .help = "of the keys (default 1)"},
    {.name = "keys", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 64, .greatest = 1 << 28, .target = &choices.keys,
     .help = "that are inserted and deleted, entries of sps (default 16384)"},
    {.name = "size", .kind = OPTION_SIZE, .value_name = "BYTES",
     .least = 1, .greatest = 1 << 20, .target = &choices.size,
     .help = "of a node of graph, hash or rbtree at least (default what it holds, 24 or 48)"},
    {.name = "operations", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1000, .target = &choices.operations,
     .help = "in a transaction (default 1)"},
    {.name = "batch", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1 << 20, .target = &choices.batch,
     .help = "every Nth commit of a thread is durable, with those before it (default 1)"},
    {.name = "memory", .kind = OPTION_SIZE, .value_name = "BYTES",
     .least = PERSIST_LEAST_MEMORY, .greatest = PERSIST_GREATEST_MEMORY, .target = &choices.memory,
     .help = "of the file, for blocks (default 4 MiB and 256 B and two nodes a key, for each thread)"},
    {.name = "log-size", .kind = OPTION_SIZE, .value_name = "BYTES",
     .least = PERSIST_LEAST_LOG, .greatest = PERSIST_GREATEST_LOG, .target = &choices.log_size,
     .help = "of wal and eager (default 32M)"},
    {.name = "folder", .kind = OPTION_TEXT, .value_name = "FOLDER", .target = &choices.folder,
     .help = "for the file (default /dev/shm, or else /tmp)"},
    {.name = "csv", .kind = OPTION_FLAG, .target = &choices.csv,
     .help = "one CSV row instead of text"},
    {.name = "header", .kind = OPTION_FLAG, .target = &choices.header,
     .help = "the line of column names before the row"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

static const char summary[] =
    "Inserts and deletes in a structure, or swaps entries of an array, a transaction each, in a\n"
    "file of libmplace_persist or libpmemobj, and reports transactions a second, and of the former\n"
    "lines flushed and fences. On tmpfs they cost what they cost in DRAM; the row names the medium.\n"
    "Exit status: 0 the structures were whole afterwards, after recovery and after reopening, 1 they\n"
    "were not or the library failed, 2 bad arguments.";
/* clang-format on */

static const struct workload *const workloads[] = {
    &workload_btree,  &workload_graph, &workload_hash, &workload_rbtree, &workload_sps,
#ifdef PERSIST_BENCH_SQLITE
    &workload_sqlite,
#endif
};

static int complain(int status, const char *text)
{
    fprintf(stderr, "persist_bench: %s\n", text);
    return status;
}

static const struct workload *workload_named(const char *name)
{
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        if (strcmp(workloads[i]->name, name) == 0)
            return workloads[i];
    }
    return NULL;
}

static const struct log {
    const char *name;
    const struct backend *backend;
    enum persist_log format;
} logs[] = {
    {"none", NULL, 0},
    {"wal", &backend_persist, PERSIST_LOG_WAL},
    {"eager", &backend_persist, PERSIST_LOG_EAGER},
#ifdef PERSIST_BENCH_LIBPMEMOBJ
    {"libpmemobj", &backend_libpmemobj, 0},
#endif
};

static const struct log *log_named(const char *name)
{
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        if (strcmp(logs[i].name, name) == 0)
            return &logs[i];
    }
    return NULL;
}

static void print_csv(const struct run *run, const struct machine *machine, double rate)
{
    char medium[64];

    machine_clean_name(medium, sizeof medium, run->medium);
    if (choices.header)
        puts("bench,workload,log,medium,threads,transactions,operations,batch,keys,size,seed,"
             "seconds,cpu_seconds,rate,unit,blocks,flushes,fences,checkpoints,recovered,"
             "recovery_seconds,host,cpu,date");
    printf("persist,%s,%s,%s,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%.6f,%.6f,%.1f,transactions/s,",
           choices.workload, choices.log, medium, (unsigned long long)run->threads,
           (unsigned long long)run->transactions, (unsigned long long)run->operations,
           (unsigned long long)run->batch, (unsigned long long)run->keys,
           (unsigned long long)run->node_size, (unsigned long long)run->seed, run->seconds,
           run->cpu_seconds, rate);
    if (run->backend != NULL && run->backend->statistics != NULL)
        printf("%llu,%llu,%llu,%llu,%llu,%.6f,", (unsigned long long)run->counts.blocks,
               (unsigned long long)run->counts.flushes, (unsigned long long)run->counts.fences,
               (unsigned long long)run->counts.checkpoints, (unsigned long long)run->recovered,
               run->recovery_seconds);
    else
        printf(",,,,,,");
    printf("%s,%s,%s\n", machine->host, machine->cpu, machine->date);
}

static void print_text(const struct run *run, double rate)
{
    double all = (double)(run->transactions * run->threads);

    printf("%s, log %s (%s), threads %llu, seed %llu: %.0f transactions/s\n", choices.workload,
           choices.log, run->medium, (unsigned long long)run->threads,
           (unsigned long long)run->seed, rate);
    if (run->backend == NULL || run->backend->statistics == NULL)
        return;
    printf("a transaction: %.2f blocks, %.2f flushes, %.2f fences; checkpoints %llu\n",
           (double)run->counts.blocks / all, (double)run->counts.flushes / all,
           (double)run->counts.fences / all, (unsigned long long)run->counts.checkpoints);
    printf("recovery of %llu transactions: %.3f s\n", (unsigned long long)run->recovered,
           run->recovery_seconds);
}

static int measure(void)
{
    static struct machine machine;
    const struct log *log = log_named(choices.log);
    char complaint[256];
    const char *wrong;
    double rate;
    struct run run = {
        .workload = workload_named(choices.workload),
        .transactions = choices.transactions,
        .warm = choices.warm,
        .threads = choices.threads,
        .operations = choices.operations,
        .batch = choices.batch,
        .keys = choices.keys,
        .seed = choices.seed,
        .node_size = choices.size,
        .memory = choices.memory,
        .log_size = choices.log_size,
        .folder = choices.folder,
    };

    if (run.workload == NULL && strcmp(choices.workload, "sqlite") == 0)
        return complain(EXIT_BAD_ARGUMENT, "--workload sqlite: built without libsqlite3-dev");
    if (run.workload == NULL)
        return complain(EXIT_BAD_ARGUMENT,
                        "--workload: btree, graph, hash, rbtree, sps or sqlite is wanted");
    if (log == NULL && strcmp(choices.log, "libpmemobj") == 0)
        return complain(EXIT_BAD_ARGUMENT, "--log libpmemobj: built without libpmemobj-dev");
    if (log == NULL)
        return complain(EXIT_BAD_ARGUMENT, "--log: none, wal, eager or libpmemobj is wanted");
    run.backend = log->backend;
    run.log = log->format;
    if (run.node_size != 0 && !run.workload->has_sized_nodes)
        return complain(EXIT_BAD_ARGUMENT, "--size: only graph, hash and rbtree have such nodes");
    if (run.memory == 0)
        run.memory = run.threads * ((4 << 20) + (256 + 2 * run.node_size) * run.keys);
    if (run.folder == NULL)
        run.folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    if (!machine_read(&machine, MACHINE_NO_PIN, false, complaint, sizeof complaint))
        return complain(EXIT_BAD_ARGUMENT, complaint);
    wrong = run_workload(&run);
    if (wrong != NULL)
        return complain(EXIT_WRONG, wrong);
    rate = (double)(run.transactions * run.threads) / run.seconds;
    if (choices.csv)
        print_csv(&run, &machine, rate);
    else
        print_text(&run, rate);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    int status;

    if (!options_read("persist_bench", summary, options, OPTION_COUNT, argc, argv, &status))
        return status;
    if (choices.header && !choices.csv)
        return complain(EXIT_BAD_ARGUMENT, "--header needs --csv");
    return options_end("persist_bench", measure());
}
