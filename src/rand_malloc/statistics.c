/*
 * SPDX-License-Identifier: MIT
 *
 * The counts; see statistics.h. Shared by all threads: that costs, but only when it was asked for.
 */
#include "rand_malloc/statistics.h"

#include "base/exit_report.h"

#include <stdatomic.h>
#include <unistd.h>

/* Relaxed: the counts are read at exit, and order nothing. */
static _Atomic size_t requests, jittered, bytes_added;

static struct exit_report exit_report;

bool statistics_start(void)
{
    exit_report_plan(&exit_report, "RAND_STATS");
    return exit_report_wanted(&exit_report);
}

void statistics_count(size_t extra)
{
    atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
    if (extra != 0) {
        atomic_fetch_add_explicit(&jittered, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes_added, extra, memory_order_relaxed);
    }
}

void statistics_reset(void)
{
    atomic_store_explicit(&requests, 0, memory_order_relaxed);
    atomic_store_explicit(&jittered, 0, memory_order_relaxed);
    atomic_store_explicit(&bytes_added, 0, memory_order_relaxed);
}

static void write_json(struct report *report, const struct jitter *jitter, const char *next_object)
{
    report_format(report,
                  "{\n  \"version\": 1,\n  \"process\": %d,\n  \"library\": \"librand_malloc\",\n"
                  "  \"requests\": %zu,\n  \"jittered\": %zu,\n  \"bytes_added\": %zu,\n",
                  (int)getpid(), atomic_load_explicit(&requests, memory_order_relaxed),
                  atomic_load_explicit(&jittered, memory_order_relaxed),
                  atomic_load_explicit(&bytes_added, memory_order_relaxed));
    report_format(report,
                  "  \"probability\": %lu,\n  \"max_extra\": %u,\n  \"seed\": %lu,\n"
                  "  \"next\": \"",
                  jitter->probability, jitter->max_extra, jitter->seed);
    report_json_text(report, next_object);
    report_format(report, "\"\n}\n");
}

void statistics_report(const struct jitter *jitter, const char *next_object)
{
    struct report report;

    if (!exit_report_open(&exit_report, &report))
        return;
    if (exit_report_is_json(&exit_report)) {
        write_json(&report, jitter, next_object);
        exit_report_close(&exit_report, &report);
        return;
    }
    report_format(&report,
                  "mplace rand: requests %zu, jittered %zu, bytes added %zu, probability %lu%%, "
                  "greatest extra %u B, seed %lu, next %s\n",
                  atomic_load_explicit(&requests, memory_order_relaxed),
                  atomic_load_explicit(&jittered, memory_order_relaxed),
                  atomic_load_explicit(&bytes_added, memory_order_relaxed), jitter->probability,
                  jitter->max_extra, jitter->seed, next_object);
    exit_report_close(&exit_report, &report);
}
