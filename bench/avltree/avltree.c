/*
 * SPDX-License-Identifier: MIT
 *
 * The AVL benchmark: its command line and its result. What it does is in workload.c. Each operation
 * walks some 15 nodes, a few of them hot and most of them not, under one lock that all threads
 * want; how long that takes, and whether it fits a transaction, depends on which cache sets the
 * nodes fall on.
 */
#include "avltree/workload.h"
#include "harness/options.h"
#include "harness/result_row.h"
#include "harness/surroundings.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_WRONG = 1, EXIT_BAD_ARGUMENT = 2 };

static struct choices {
    uint64_t size, threads, seconds, operations, keys, seed;
    const char *mix, *counters;
    bool seconds_given, operations_given, pin, csv, header;
} choices = {.threads = 4, .seconds = 10, .keys = 65536, .seed = 1, .mix = "30/30/40"};

/* clang-format off */
static const struct command_option options[] = {
    {.name = "size", .kind = OPTION_SIZE, .value_name = "BYTES", .required = true,
     .least = WORKLOAD_SIZE_LEAST, .greatest = 1ull << 40, .target = &choices.size,
     .help = "what each node asks malloc for"},
    {.name = "threads", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = CORES_MOST, .target = &choices.threads,
     .help = "threads that work on the tree (default 4)"},
    {.name = "seconds", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 86400, .target = &choices.seconds, .given = &choices.seconds_given,
     .help = "how long (default 10)"},
    {.name = "operations", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = UINT64_MAX, .target = &choices.operations,
     .given = &choices.operations_given,
     .help = "instead of --seconds: operations of each thread"},
    {.name = "keys", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 4, .greatest = 1 << 30, .target = &choices.keys,
     .help = "keys are below this; the tree starts with half of them, less one (default 65536)"},
    {.name = "mix", .kind = OPTION_TEXT, .value_name = "I/D/L", .target = &choices.mix,
     .help = "percent of insertions, deletions and look-ups (default 30/30/40)"},
    {.name = "seed", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = UINT64_MAX, .target = &choices.seed,
     .help = "of the keys and operations (default 1)"},
    {.name = "pin", .kind = OPTION_FLAG, .target = &choices.pin,
     .help = "each thread on a physical core of its own, where there are enough"},
    {.name = "counters", .kind = OPTION_TEXT, .value_name = "EVENT[,EVENT]",
     .target = &choices.counters,
     .help = "count these events over the measured interval: libpfm4's names, or paper"},
    {.name = "csv", .kind = OPTION_FLAG, .target = &choices.csv,
     .help = "one CSV row instead of text"},
    {.name = "header", .kind = OPTION_FLAG, .target = &choices.header,
     .help = "the line of column names before the row"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

static const char summary[] =
    "Threads insert, delete and look up random keys in one AVL tree under one pthread mutex, malloc\n"
    "and free included, and the tree is checked afterwards. Reports operations a second of all\n"
    "threads and the L1D sets that the first nodes fall on. Preload an allocator or a lock library\n"
    "to measure it. Exit status: 0 structure and content were right afterwards, 1 they were not or\n"
    "memory or threads ran out, 2 bad arguments.";
/* clang-format on */

static int complain(int status, const char *text)
{
    fprintf(stderr, "avltree: %s\n", text);
    return status;
}

/* A tree that broke while threads still work on it can lead them anywhere. */
static void end_at_fault(int number)
{
    static const char text[] = "avltree: the tree is broken: a pointer in it leads nowhere; the "
                               "lock does not exclude, or one block was given out twice\n";

    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
        /* The exit status says it as well. */
    }
    _exit(EXIT_WRONG);
}

static void watch_for_faults(void)
{
    struct sigaction action = {.sa_handler = end_at_fault};

    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* "30/30/40": three whole numbers that make 100. */
static bool parse_mix(const char *text, unsigned *insert, unsigned *remove)
{
    char copy[16];
    uint64_t part[3];
    char *at = copy;

    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(copy, text);
    for (int i = 0; i < 3; i++) {
        char *slash = strchr(at, '/');

        if ((slash == NULL) != (i == 2))
            return false;
        if (slash != NULL)
            *slash = '\0';
        if (!options_number(at, 0, 100, &part[i]))
            return false;
        at = slash + 1;
    }
    *insert = (unsigned)part[0];
    *remove = (unsigned)part[1];
    return part[0] + part[1] + part[2] == 100;
}

/* Which CPU each thread gets; NULL where nobody asked or there are too few. */
static const struct cores *choose_cores(struct surroundings *here)
{
    const struct cores *cores = &here->cores;

    if (!choices.pin)
        return NULL;
    if (cores->count == 0) {
        fprintf(stderr, "avltree: the threads are not pinned: %s\n", here->cores_complaint);
        return NULL;
    }
    if (cores->count < choices.threads) {
        fprintf(stderr,
                "avltree: the threads are not pinned: %zu physical core%s for %" PRIu64
                " threads\n",
                cores->count, cores->count == 1 ? "" : "s", choices.threads);
        return NULL;
    }
    cores_text(here->machine.pinned, sizeof here->machine.pinned, cores, choices.threads);
    return cores;
}

static void print_result(const struct result_row *row, const struct workload_result *result)
{
    if (choices.header)
        result_row_header(stdout);
    if (choices.csv) {
        result_row_csv(row, stdout);
        return;
    }
    result_row_text(row, stdout);
    printf("  operations    %" PRIu64 ": %" PRIu64 " nodes inserted, %" PRIu64
           " values replaced, %" PRIu64 " nodes deleted, %" PRIu64 " look-ups (%" PRIu64
           " found)\n",
           result->operations, result->inserted, result->replaced, result->removed,
           result->looked_up, result->found);
    printf("  integrity     structure and content are right: %" PRIu64 " nodes\n",
           result->nodes_after);
}

static int measure(struct workload_plan *plan)
{
    static struct surroundings here;
    struct set_histogram histogram;
    struct workload_result result;
    char complaint[256];

    /* All that can be refused, before the first node; nothing of it touches the heap. */
    const struct surroundings_wanted wanted = {
        .pin_cpu = MACHINE_NO_PIN,
        .cores = choices.pin,
        .counters = choices.counters,
    };
    if (!surroundings_read(&here, &wanted, complaint, sizeof complaint))
        return complain(EXIT_BAD_ARGUMENT, complaint);
    plan->cores = choose_cores(&here);
    /* Main fills the tree: from the CPU of the first thread, and so from one of the sub-heaps that
     * the threads use. */
    if (plan->cores != NULL && cores_bind_self(plan->cores->cpu[0]) != 0)
        return complain(EXIT_WRONG, "cannot run on the CPUs that this process may use");
    watch_for_faults();

    int status = EXIT_WRONG;
    if (!set_histogram_open(&histogram, &here.machine.l1d))
        complain(status, strerror(errno));
    else if (!workload_run(plan, &here.interval, &histogram, &result, complaint, sizeof complaint))
        complain(status, complaint);
    else
        status = EXIT_SUCCESS;

    if (status == EXIT_SUCCESS) {
        char counts[2048];
        counters_read(&here.counters, counts, sizeof counts);
        print_result(
            &(struct result_row){
                .bench = "avltree",
                .labels = &here.labels,
                .machine = &here.machine,
                .interval = &here.interval,
                .histogram = &histogram,
                .size = plan->size,
                .nodes = result.nodes_before,
                .threads = plan->threads,
                .seed = plan->seed,
                .rate = (double)result.operations * 1e9 / (double)here.interval.nanoseconds,
                .unit = "operations/s",
                .counters = counts,
            },
            &result);
    }
    set_histogram_close(&histogram);
    counters_close(&here.counters);
    return status;
}

int main(int argc, char **argv)
{
    /* stdio would allocate its buffer at the first output. */
    static char output[1 << 16];
    static struct workload_plan plan;
    char complaint[256];
    int status;

    setvbuf(stdout, output, _IOFBF, sizeof output);
    if (!options_read("avltree", summary, options, OPTION_COUNT, argc, argv, &status))
        return status;
    if (choices.header && !choices.csv)
        return complain(EXIT_BAD_ARGUMENT, "--header needs --csv");
    if (choices.seconds_given && choices.operations_given)
        return complain(EXIT_BAD_ARGUMENT, "--seconds and --operations exclude each other");
    plan = (struct workload_plan){
        .size = choices.size,
        .keys = choices.keys,
        .seed = choices.seed,
        .threads = choices.threads,
        .seconds = choices.operations_given ? 0 : choices.seconds,
        .operations = choices.operations,
    };
    if (!parse_mix(choices.mix, &plan.insert_percent, &plan.remove_percent)) {
        snprintf(complaint, sizeof complaint,
                 "--mix %.40s is not allowed: INSERTIONS/DELETIONS/LOOK-UPS, three whole numbers "
                 "that make 100, are needed",
                 choices.mix);
        return complain(EXIT_BAD_ARGUMENT, complaint);
    }
    return options_end("avltree", measure(&plan));
}
