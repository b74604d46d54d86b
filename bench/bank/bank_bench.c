/*
 * SPDX-License-Identifier: MIT
 *
 * Benchmarks of memory banks and controllers: those of Chandru and Mueller, "Reducing NoC and
 * Memory Contention for Manycores". Here are the options and the row.
 */
#include "workload.h"

#include "harness/options.h"
#include "harness/result_row.h"
#include "harness/surroundings.h"
#include "mplace_trace.h"

#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_WRONG = 1, EXIT_BAD_ARGUMENT = 2 };

static struct choices {
    const char *workload, *policy, *tiles, *counters;
    uint64_t size, threads, rounds, operations, warm, seed;
    bool size_given, rounds_given, pin, where, csv, header;
} choices = {.policy = "malloc", .threads = 4, .seed = 1};

/* clang-format off */
static const struct command_option options[] = {
    {.name = "workload", .kind = OPTION_TEXT, .value_name = "NAME", .required = true,
     .target = &choices.workload, .help = "composite, stream or is"},
    {.name = "size", .kind = OPTION_SIZE, .value_name = "BYTES",
     .least = 8, .greatest = 1ull << 40, .target = &choices.size, .given = &choices.size_given,
     .help = "composite: of each thread's array, whole pages of 8K (default 80K); stream: of each array\n"
             "                             (default 16M); is: of all keys, 256K (class S), 4M (W, default) or 32M (A)"},
    {.name = "threads", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = TEAM_MOST, .target = &choices.threads,
     .help = "threads that work, a quarter of them in each quadrant (default 4)"},
    {.name = "tiles", .kind = OPTION_TEXT, .value_name = "WIDTHxHEIGHT", .target = &choices.tiles,
     .help = "a thread for each tile of this grid; those that do not work wait (default: no others)"},
    {.name = "policy", .kind = OPTION_TEXT, .value_name = "NAME", .target = &choices.policy,
     .help = "where each page lies: malloc (default), or by libbank_malloc.so colours-N, only-N, local,\n"
             "                             local-N, opposite, one-node, two-nodes or circular"},
    {.name = "rounds", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1ull << 32, .target = &choices.rounds, .given = &choices.rounds_given,
     .help = "passes of composite (default 1000), of stream (10), iterations of is (10 at most)"},
    {.name = "warm", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = 1ull << 32, .target = &choices.warm,
     .help = "rounds before those that are measured (default 0)"},
    {.name = "seed", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = UINT64_MAX, .target = &choices.seed,
     .help = "of composite's numbers and the policy local (default 1)"},
    {.name = "pin", .kind = OPTION_FLAG, .target = &choices.pin,
     .help = "each thread on a physical core of its own, where there are enough"},
    {.name = "counters", .kind = OPTION_TEXT, .value_name = "EVENT[,EVENT]",
     .target = &choices.counters,
     .help = "count these events over the measured rounds: libpfm4's names, or paper"},
    {.name = "where", .kind = OPTION_FLAG, .target = &choices.where,
     .help = "print where each page lies, \"worker quadrant page controller bank\" a line"},
    {.name = "csv", .kind = OPTION_FLAG, .target = &choices.csv,
     .help = "one CSV row instead of text"},
    {.name = "header", .kind = OPTION_FLAG, .target = &choices.header,
     .help = "the line of column names before the row"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

static const char summary[] =
    "Threads of OpenMP stream, count keys, or sort by bubble sort, each in pages of memory that a\n"
    "policy chooses by DRAM bank and controller, and the result is checked. The rate of stream is\n"
    "that of add. A region of interest is marked for mplace trace. Exit status: 0 the result is\n"
    "right, 1 it is not or memory ran out, 2 bad arguments.";
/* clang-format on */

static const struct workload *const workloads[] = {&composite, &stream, &integer_sort};
static struct team team;
static struct placement placement;
static struct surroundings here;

static int complain(int status, const char *text)
{
    fprintf(stderr, "bank_bench: %s\n", text);
    return status;
}

static bool parse_tiles(const char *text, uint64_t *width, uint64_t *height)
{
    char first[8];
    const char *cross = strchr(text, 'x');

    if (cross == NULL || (size_t)(cross - text) >= sizeof first)
        return false;
    memcpy(first, text, (size_t)(cross - text));
    first[cross - text] = '\0';
    return options_number(first, 1, TEAM_MOST, width) &&
           options_number(cross + 1, 1, TEAM_MOST, height) && *width * *height <= TEAM_MOST;
}

/* NULL, or what is wrong with the choices that the table of options does not know. */
static const char *make_plan(struct plan *plan, const struct workload **workload)
{
    uint64_t width = 0, height = 0;

    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        if (strcmp(choices.workload, workloads[i]->name) == 0)
            *workload = workloads[i];
    }
    if (*workload == NULL)
        return "--workload: composite, stream or is";
    if (choices.header && !choices.csv)
        return "--header needs --csv";
    if (choices.tiles != NULL && !parse_tiles(choices.tiles, &width, &height))
        return "--tiles: WIDTHxHEIGHT, for instance 8x7, and at most 256 tiles";
    if (!team_arrange(&team, (unsigned)choices.threads, (unsigned)width, (unsigned)height))
        return "--threads: on a grid a multiple of four, and no more in a quadrant than it has "
               "tiles";
    if (!placement_parse(&placement, choices.policy))
        return "--policy: malloc, colours-N, only-N, local, local-N, opposite, one-node, two-nodes "
               "or "
               "circular";
    *plan = (struct plan){
        .team = &team,
        .placement = &placement,
        .size = choices.size_given ? choices.size : (*workload)->size,
        .warm = choices.warm,
        .rounds = choices.rounds_given ? choices.rounds : (*workload)->rounds,
        .seed = choices.seed,
    };
    if (!(*workload)->check(plan))
        return "--size or --rounds are none of this workload (--help)";
    return placement_start(&placement, choices.seed);
}

/* Which CPU each thread gets; NULL where nobody asked or there are too few. */
static const struct cores *choose_cores(void)
{
    if (!choices.pin)
        return NULL;
    if (here.cores.count < team.threads) {
        fprintf(stderr,
                "bank_bench: the threads are not pinned: %zu physical cores for %u threads\n",
                here.cores.count, team.threads);
        return NULL;
    }
    cores_text(here.machine.pinned, sizeof here.machine.pinned, &here.cores, team.threads);
    return &here.cores;
}

/* What each worker does. The first one is the program's first thread. */
static void work(const struct plan *plan, const struct workload *workload,
                 const struct worker *worker, const struct cores *cores, bool *failed)
{
    if ((cores != NULL && cores_bind_self(cores->cpu[omp_get_thread_num()]) != 0) ||
        !workload->allocate(plan, worker)) {
#pragma omp atomic write
        *failed = true;
    }
    team_gather(&team, worker);
    for (uint64_t i = 0; i < plan->warm + plan->rounds && !*failed; i++) {
        if (i == plan->warm) {
            if (worker->number == 0) {
                mplace_trace_begin();
                interval_begin(&here.interval);
            }
            team_gather(&team, worker);
        }
        workload->round(plan, worker, i);
        team_gather(&team, worker);
    }
    if (worker->number == 0 && !*failed) {
        interval_end(&here.interval);
        mplace_trace_end();
    }
}

/* False: out of memory, or fewer threads than asked for. */
static bool run(const struct plan *plan, const struct workload *workload)
{
    const struct cores *cores = choose_cores();
    bool failed = false;

    team_prepare(&team);
    omp_set_dynamic(0);
#pragma omp parallel num_threads(team.threads)
    {
        const struct worker *worker = team_worker(&team, (unsigned)omp_get_thread_num());

        if ((unsigned)omp_get_num_threads() != team.threads) {
#pragma omp atomic write
            failed = true;
        } else if (worker != NULL) {
            work(plan, workload, worker, cores, &failed);
        }
    }
    return !failed;
}

static void print_text(const struct result_row *row)
{
    printf("%s: %" PRIu64 " B, %" PRIu64 " threads, seed %" PRIu64 ", malloc %s\n", row->bench,
           row->size, row->threads, row->seed, row->labels->malloc);
    if (row->labels->time_is_meaningless)
        puts("  rate          none: times mean nothing under emulation");
    else
        printf("  rate          %.0f %s\n", row->rate, row->unit);
    printf("  counters      %s\n  result        right\n", row->counters);
}

static void print_result(const struct plan *plan, const struct workload *workload,
                         const struct outcome *outcome)
{
    static char counts[2048];
    struct set_histogram histogram = {.geometry = here.machine.l1d};
    uint64_t asked, elsewhere;
    size_t length;

    counters_read(&here.counters, counts, sizeof counts);
    length = strlen(counts);
    placement_counts(&asked, &elsewhere);
    snprintf(counts + length, sizeof counts - length,
             "%splacement=%s;pages=%" PRIu64 ";elsewhere=%" PRIu64 "%s%s", length == 0 ? "" : ";",
             choices.policy, asked, elsewhere,
             here.labels.time_is_meaningless || *outcome->details == '\0' ? "" : ";",
             here.labels.time_is_meaningless ? "" : outcome->details);
    const struct result_row row = {
        .bench = workload->name,
        .labels = &here.labels,
        .machine = &here.machine,
        .interval = &here.interval,
        .histogram = &histogram,
        .size = plan->size,
        .nodes = outcome->nodes,
        .threads = team.workers,
        .seed = plan->seed,
        .rate = outcome->rate != 0
                    ? outcome->rate
                    : (double)outcome->units * 1e9 / (double)here.interval.nanoseconds,
        .unit = workload->unit,
        .counters = counts,
    };
    if (choices.header)
        result_row_header(stdout);
    if (choices.csv)
        result_row_csv(&row, stdout);
    else
        print_text(&row);
}

int main(int argc, char **argv)
{
    const struct workload *workload = NULL;
    struct outcome outcome = {0};
    struct plan plan;
    char complaint[256];
    const char *wrong;
    int status;

    if (!options_read("bank_bench", summary, options, OPTION_COUNT, argc, argv, &status))
        return status;
    wrong = make_plan(&plan, &workload);
    if (wrong != NULL)
        return complain(EXIT_BAD_ARGUMENT, wrong);
    const struct surroundings_wanted wanted = {
        .pin_cpu = MACHINE_NO_PIN, .cores = choices.pin, .counters = choices.counters};
    if (!surroundings_read(&here, &wanted, complaint, sizeof complaint))
        return complain(EXIT_BAD_ARGUMENT, complaint);
    if (!run(&plan, workload))
        return complain(EXIT_WRONG,
                        "there is no memory of this bank left, or there are too few threads");
    if (!workload->verify(&plan, &outcome))
        return complain(EXIT_WRONG, "the result is wrong");
    for (unsigned i = 0; choices.where && i < team.workers; i++)
        workload->print(&team.worker[i], stdout);
    print_result(&plan, workload, &outcome);
    counters_close(&here.counters);
    return options_end("bank_bench", EXIT_SUCCESS);
}
