/*
 * SPDX-License-Identifier: MIT
 *
 * The report at exit: whether, where, and in which form. Runs in a destructor: other threads may
 * still lock and count, and are only read.
 */
#include "base/exit_report.h"
#include "base/settings.h"
#include "mutex/lock_table_pool.h"
#include "mutex/statistics.h"
#include "mutex/statistics_output.h"

#include <string.h>

enum { DEFAULT_TOP = 10 };

static struct exit_report exit_report;
static unsigned wanted;

/* Some 13 KiB: too much for the stack of the thread that happens to call exit. */
static struct lock_ranking ranking;

void statistics_read_setting(const char *name)
{
    exit_report_plan(&exit_report, name);
    if (!exit_report_wanted(&exit_report))
        return;
    wanted = (unsigned)setting_number("MPLACE_LOCK_STATS_TOP", 0, LOCK_RANKING_MOST, DEFAULT_TOP);
    /* Another library's constructor may have reset the counts already, and so be counting. */
    uint32_t off = 0;
    if (!statistics_on())
        lock_tables_belong_here();
    (void)__atomic_compare_exchange_n(&statistics_epoch, &off, 1, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
}

static bool is_json(const char *file)
{
    static const char ending[] = ".json";
    size_t length = strlen(file);

    return length >= sizeof ending - 1 && strcmp(file + length - (sizeof ending - 1), ending) == 0;
}

void statistics_report(const char *library, const char *htm, const char *policy, const char *wait)
{
    struct report report;
    struct statistics_facts facts = {
        .library = library,
        .htm = htm,
        .policy = policy,
        .wait = wait,
        .wanted = wanted,
        .uncounted = statistics_uncounted(),
        .ranking = &ranking,
    };

    if (!exit_report_open(&exit_report, &report))
        return;
    lock_ranking_make(&ranking, wanted, __atomic_load_n(&statistics_epoch, __ATOMIC_RELAXED));
    if (is_json(exit_report.value))
        statistics_write_json(&report, &facts);
    else
        statistics_write_text(&report, &facts);
    report_close(&report);
}
