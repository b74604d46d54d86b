/*
 * SPDX-License-Identifier: MIT
 *
 * Counts of lock operations; see statistics.h for the rules. Allocates nothing, locks nothing.
 */
#include "mutex/statistics.h"

#include "base/exit_report.h"
#include "mplace.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* What is stored; tx_started is not: it is the sum of those that ended. */
enum counter {
    ACQUISITIONS,
    SLOW_PATH,
    COMMITS,
    FIRST_ABORT,
    COUNTERS = FIRST_ABORT + ABORT_CAUSES,
};

enum {
    SLOTS = 128,
    SLOT_BYTES = 128, /* two lines: processors prefetch lines in pairs */
};

struct slot {
    uint64_t counts[COUNTERS];
} __attribute__((aligned(SLOT_BYTES)));

static_assert(sizeof(struct slot) == SLOT_BYTES, "a slot is a pair of lines");

/* Untouched, and so without memory behind it, while nothing counts. */
static struct slot slots[SLOTS];

/* What readers subtract: a reset moves the base line instead of writing into other threads' slots,
 * so that it can lose no count. */
static uint64_t base_line[COUNTERS];

static uint32_t slots_given; /* wraps after 2^32 threads, which is harmless: slots are shared */

bool statistics_counting;

static struct exit_report exit_report;

/*
 * The calling thread's slot and notes: 16 bytes of thread-local storage. Notes are written inside
 * transactions, but only for what is nested in one: the outermost section needs none, and so the
 * commonest transaction carries no line of ours in its write set.
 */
static __thread struct {
    struct slot *slot;
    uint32_t noted_acquisitions;
    uint32_t noted_slow_path;
} thread;

static struct slot *own_slot(void)
{
    if (thread.slot == NULL)
        thread.slot = &slots[__atomic_fetch_add(&slots_given, 1, __ATOMIC_RELAXED) % SLOTS];
    return thread.slot;
}

static void add(struct slot *slot, enum counter counter, uint64_t amount)
{
    (void)__atomic_fetch_add(&slot->counts[counter], amount, __ATOMIC_RELAXED);
}

void statistics_acquired(pthread_mutex_t *mutex, const void *caller, bool in_transaction)
{
    (void)mutex;
    (void)caller;
    if (in_transaction) {
        thread.noted_acquisitions++;
        thread.noted_slow_path++;
        return;
    }
    struct slot *slot = own_slot();
    add(slot, ACQUISITIONS, 1);
    add(slot, SLOW_PATH, 1);
}

void statistics_elided_nested(pthread_mutex_t *mutex, const void *caller)
{
    (void)mutex;
    (void)caller;
    thread.noted_acquisitions++;
}

void statistics_committed(void)
{
    struct slot *slot = own_slot();

    add(slot, COMMITS, 1);
    add(slot, ACQUISITIONS, 1 + (uint64_t)thread.noted_acquisitions);
    if (thread.noted_slow_path != 0)
        add(slot, SLOW_PATH, thread.noted_slow_path);
    thread.noted_acquisitions = 0;
    thread.noted_slow_path = 0;
}

void statistics_aborted(pthread_mutex_t *mutex, const void *caller, enum statistics_abort cause)
{
    (void)mutex;
    (void)caller;
    add(own_slot(), (enum counter)(FIRST_ABORT + cause), 1);
}

static uint64_t sum(enum counter counter)
{
    uint64_t total = 0;

    for (int i = 0; i < SLOTS; i++)
        total += __atomic_load_n(&slots[i].counts[counter], __ATOMIC_RELAXED);
    return total;
}

static uint64_t since_base_line(enum counter counter)
{
    return sum(counter) - __atomic_load_n(&base_line[counter], __ATOMIC_RELAXED);
}

static void read_all(struct mplace_lock_statistics *totals)
{
    *totals = (struct mplace_lock_statistics){
        .acquisitions = since_base_line(ACQUISITIONS),
        .slow_path = since_base_line(SLOW_PATH),
        .tx_committed = since_base_line(COMMITS),
        .abort_conflict = since_base_line(FIRST_ABORT + ABORT_CONFLICT),
        .abort_capacity = since_base_line(FIRST_ABORT + ABORT_CAPACITY),
        .abort_explicit = since_base_line(FIRST_ABORT + ABORT_EXPLICIT),
        .abort_nested = since_base_line(FIRST_ABORT + ABORT_NESTED),
        .abort_debug = since_base_line(FIRST_ABORT + ABORT_DEBUG),
        .abort_other = since_base_line(FIRST_ABORT + ABORT_OTHER),
    };
    totals->tx_started = totals->tx_committed + totals->abort_conflict + totals->abort_capacity +
                         totals->abort_explicit + totals->abort_nested + totals->abort_debug +
                         totals->abort_other;
}

static void move_base_line(void)
{
    for (int counter = 0; counter < COUNTERS; counter++)
        __atomic_store_n(&base_line[counter], sum((enum counter)counter), __ATOMIC_RELAXED);
}

__attribute__((visibility("default"))) int
mplace_lock_statistics(struct mplace_lock_statistics *out, size_t out_size)
{
    struct mplace_lock_statistics totals;

    if (out == NULL || out_size == 0)
        return EINVAL;
    if (!statistics_on())
        return ENODATA;
    read_all(&totals);
    memcpy(out, &totals, out_size < sizeof totals ? out_size : sizeof totals);
    return 0;
}

__attribute__((visibility("default"))) void mplace_lock_statistics_reset(void)
{
    move_base_line();
    __atomic_store_n(&statistics_counting, true, __ATOMIC_RELAXED);
}

void statistics_restart_in_child(void)
{
    if (statistics_on())
        move_base_line();
}

void statistics_read_setting(const char *name)
{
    exit_report_plan(&exit_report, name);
    if (exit_report_wanted(&exit_report))
        __atomic_store_n(&statistics_counting, true, __ATOMIC_RELAXED);
}

void statistics_report(const char *library, const char *htm, const char *policy, const char *wait)
{
    struct mplace_lock_statistics totals;
    struct report report;

    if (!exit_report_open(&exit_report, &report))
        return;
    read_all(&totals);
    report_format(&report, "mplace: locks of process %d under %s\n", (int)getpid(), library);
    report_format(&report, "  htm                %s\n", htm);
    if (policy != NULL)
        report_format(&report, "  policy             %s\n", policy);
    report_format(&report, "  wait               %s\n", wait);
    report_format(&report, "  acquisitions       %14lu\n", totals.acquisitions);
    report_format(&report, "  slow path          %14lu\n", totals.slow_path);
    report_format(&report, "  tx started         %14lu\n", totals.tx_started);
    report_format(&report, "  tx committed       %14lu\n", totals.tx_committed);
    report_format(&report, "  aborts: conflict   %14lu\n", totals.abort_conflict);
    report_format(&report, "          capacity   %14lu\n", totals.abort_capacity);
    report_format(&report, "          explicit   %14lu\n", totals.abort_explicit);
    report_format(&report, "          nested     %14lu\n", totals.abort_nested);
    report_format(&report, "          debug      %14lu\n", totals.abort_debug);
    report_format(&report, "          other      %14lu\n", totals.abort_other);
    report_close(&report);
}
