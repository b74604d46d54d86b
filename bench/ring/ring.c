/*
 * SPDX-License-Identifier: MIT
 *
 * The ring: N nodes, each from a malloc of its own, linked in random order. One traversal locks a
 * mutex, walks the whole circumference, stores to every node, and unlocks: one load and one store a
 * node, at the node's first line. How fast that is, and whether it fits a transaction, depends on
 * how many sets of the first-level data cache the allocator's addresses fall on, and on little
 * else.
 */
#include "harness/options.h"
#include "harness/pages.h"
#include "harness/random.h"
#include "harness/result_row.h"
#include "harness/set_histogram.h"
#include "harness/surroundings.h"

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_WRONG = 1, EXIT_BAD_ARGUMENT = 2 };

struct node {
    struct node *next;
    int32_t value;
    /* The rest of the block is never touched. */
};
_Static_assert(sizeof(struct node) == 16, "the smallest --size is documented as 16");

static struct choices {
    uint64_t size, nodes, traversals, seed, pin;
    const char *counters;
    bool pin_given, csv, header, sets;
} choices = {.nodes = 128, .traversals = 10000000, .seed = 1};

/* clang-format off */
static const struct command_option options[] = {
    {.name = "size", .kind = OPTION_SIZE, .value_name = "BYTES", .required = true,
     .least = sizeof(struct node), .greatest = 1ull << 40, .target = &choices.size,
     .help = "what each node asks malloc for"},
    {.name = "nodes", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = 1 << 24, .target = &choices.nodes,
     .help = "nodes in the ring (default 128)"},
    {.name = "traversals", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = UINT64_MAX, .target = &choices.traversals,
     .help = "times round the ring (default 10000000)"},
    {.name = "seed", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = UINT64_MAX, .target = &choices.seed,
     .help = "of the order of the nodes (default 1)"},
    {.name = "pin", .kind = OPTION_NUMBER, .value_name = "CPU",
     .least = 0, .greatest = 1 << 20, .target = &choices.pin, .given = &choices.pin_given,
     .help = "run on this CPU"},
    {.name = "counters", .kind = OPTION_TEXT, .value_name = "EVENT[,EVENT]",
     .target = &choices.counters,
     .help = "count these events over the measured interval: libpfm4's names, or paper"},
    {.name = "csv", .kind = OPTION_FLAG, .target = &choices.csv,
     .help = "one CSV row instead of text"},
    {.name = "header", .kind = OPTION_FLAG, .target = &choices.header,
     .help = "the line of column names before the row"},
    {.name = "sets", .kind = OPTION_FLAG, .target = &choices.sets,
     .help = "draw how the nodes fall on the sets of the L1D"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

static const char summary[] =
    "Walks a ring of nodes, each from its own malloc, under a pthread mutex, and reports\n"
    "traversals a second and the L1D sets that the nodes fall on. Preload an allocator or a lock\n"
    "library to measure it. Exit status: 0 the ring was intact afterwards, 1 it was not or memory\n"
    "ran out, 2 bad arguments.";
/* clang-format on */

/* In a line of its own, so that nothing else the benchmark writes invalidates the lock. */
static alignas(128) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int complain(int status, const char *text)
{
    fprintf(stderr, "ring: %s\n", text);
    return status;
}

static void free_nodes(struct node **nodes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        free(nodes[i]);
}

/* Allocates all nodes in a row; returns how many there were memory for. */
static uint64_t allocate_nodes(struct node **nodes, uint64_t count, size_t size)
{
    for (uint64_t i = 0; i < count; i++) {
        nodes[i] = malloc(size);
        if (nodes[i] == NULL)
            return i;
    }
    return count;
}

/* Shuffles (Fisher and Yates) and links each node to its follower in the shuffled order. */
static void link_nodes(struct node **nodes, uint64_t count, uint64_t seed)
{
    for (uint64_t i = count - 1; i > 0; i--) {
        uint64_t j = random_below(&seed, i + 1);
        struct node *other = nodes[j];

        nodes[j] = nodes[i];
        nodes[i] = other;
    }
    for (uint64_t i = 0; i < count; i++) {
        nodes[i]->next = nodes[i + 1 < count ? i + 1 : 0];
        nodes[i]->value = -1; /* a node that no traversal reached keeps it, and is_intact sees it */
    }
}

/*
 * The measured loop. It counts nodes rather than comparing with the first: should an allocator hand
 * out overlapping blocks, the run ends and the integrity check fails, instead of never ending. Not
 * inlined, so that what is timed can be read in one place of the disassembly.
 */
static __attribute__((noinline)) void traverse(struct node *first, uint64_t count,
                                               uint64_t traversals)
{
    for (uint64_t i = 0; i < traversals; i++) {
        struct node *w = first;

        pthread_mutex_lock(&mutex);
        for (uint64_t n = count; n > 0; n--) {
            w = w->next;
            w->value = 0;
        }
        pthread_mutex_unlock(&mutex);
    }
}

/* All nodes, in the order in which they were linked, all visited. */
static bool is_intact(struct node *const *nodes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (nodes[i]->next != nodes[i + 1 < count ? i + 1 : 0] || nodes[i]->value != 0)
            return false;
    }
    return true;
}

/* Everything between the first node's malloc and the last one's free. */
static int run(struct node **nodes, struct interval *interval, struct set_histogram *histogram)
{
    uint64_t allocated = allocate_nodes(nodes, choices.nodes, choices.size);
    bool intact = false;

    if (allocated == choices.nodes) {
        for (uint64_t i = 0; i < choices.nodes; i++)
            set_histogram_add(histogram, nodes[i]);
        link_nodes(nodes, choices.nodes, choices.seed);
        interval_begin(interval);
        traverse(nodes[0], choices.nodes, choices.traversals);
        interval_end(interval);
        intact = is_intact(nodes, choices.nodes);
    }
    free_nodes(nodes, allocated);
    if (allocated < choices.nodes) {
        char text[128];
        snprintf(text, sizeof text, "out of memory at node %llu of %llu of %llu bytes",
                 (unsigned long long)allocated + 1, (unsigned long long)choices.nodes,
                 (unsigned long long)choices.size);
        return complain(EXIT_WRONG, text);
    }
    if (!intact)
        return complain(EXIT_WRONG, "the ring is broken after the run: a link or a value is wrong");
    return EXIT_SUCCESS;
}

static void print_result(const struct result_row *row)
{
    if (choices.header)
        result_row_header(stdout);
    if (choices.csv)
        result_row_csv(row, stdout);
    else
        result_row_text(row, stdout);
    if (choices.sets)
        set_histogram_draw(row->histogram, stdout);
}

static int measure(void)
{
    static struct surroundings here;
    struct set_histogram histogram;
    char complaint[256];

    /* All that can be refused, before the first node; nothing of it touches the heap. */
    const struct surroundings_wanted wanted = {
        .pin_cpu = choices.pin_given ? (int)choices.pin : MACHINE_NO_PIN,
        .counters = choices.counters,
    };
    if (!surroundings_read(&here, &wanted, complaint, sizeof complaint))
        return complain(EXIT_BAD_ARGUMENT, complaint);

    struct node **nodes = pages_map(choices.nodes, sizeof *nodes);
    int status = EXIT_WRONG;
    if (set_histogram_open(&histogram, &here.machine.l1d) && nodes != NULL)
        status = run(nodes, &here.interval, &histogram);
    else
        complain(status, strerror(errno));
    pages_unmap(nodes, choices.nodes, sizeof *nodes);

    if (status == EXIT_SUCCESS) {
        char counts[2048];
        counters_read(&here.counters, counts, sizeof counts);
        print_result(&(struct result_row){
            .bench = "ring",
            .labels = &here.labels,
            .machine = &here.machine,
            .interval = &here.interval,
            .histogram = &histogram,
            .size = choices.size,
            .nodes = choices.nodes,
            .threads = 1,
            .seed = choices.seed,
            .rate = (double)choices.traversals * 1e9 / (double)here.interval.nanoseconds,
            .unit = "traversals/s",
            .counters = counts,
        });
    }
    set_histogram_close(&histogram);
    counters_close(&here.counters);
    return status;
}

int main(int argc, char **argv)
{
    /* stdio would allocate its buffer at the first output. */
    static char output[1 << 16];
    int status;

    setvbuf(stdout, output, _IOFBF, sizeof output);
    if (!options_read("ring", summary, options, OPTION_COUNT, argc, argv, &status))
        return status;
    if (choices.header && !choices.csv)
        return complain(EXIT_BAD_ARGUMENT, "--header needs --csv");
    if (choices.sets && choices.csv)
        return complain(EXIT_BAD_ARGUMENT, "--sets is for people: not together with --csv");
    return options_end("ring", measure());
}
