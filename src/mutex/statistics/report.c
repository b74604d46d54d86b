/*
 * SPDX-License-Identifier: MIT
 *
 * The report at exit: whether, where, and in which form. Runs in a destructor: other threads may
 * still lock and count, and are only read.
 */
#include "base/exit_report.h"
#include "base/settings.h"
#include "mutex/statistics/lock_table_pool.h"
#include "mutex/statistics/output.h"
#include "mutex/statistics/shared_statistics.h"
#include "mutex/statistics/statistics.h"

#include <string.h>
#include <unistd.h>

enum { DEFAULT_TOP = 10 };

static struct exit_report exit_report;
static unsigned wanted;
static bool live;

/* Some 13 KiB: too much for the stack of the thread that happens to call exit. */
static struct lock_ranking ranking;

void statistics_read_setting(const char *name)
{
    exit_report_plan(&exit_report, name);
    live = live_statistics_wanted();
    if (!exit_report_wanted(&exit_report) && !live)
        return;
    wanted = (unsigned)setting_number("MPLACE_LOCK_STATS_TOP", 0, LOCK_RANKING_MOST, DEFAULT_TOP);
    /* Another library's constructor may have reset the counts already, and so be counting. */
    uint32_t off = 0;
    if (!statistics_on())
        lock_tables_belong_here();
    (void)__atomic_compare_exchange_n(&statistics_epoch, &off, 1, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
}

void statistics_publish(const char *library, const char *htm, const char *policy, const char *wait)
{
    struct live_locks locks = {
        .epoch = (uintptr_t)&statistics_epoch,
        .tables = (uintptr_t)lock_tables_at(),
        .uncounted = (uintptr_t)statistics_uncounted_at(),
        .wanted = wanted,
    };

    if (!live)
        return;
    strncpy(locks.htm, htm, sizeof locks.htm - 1);
    strncpy(locks.policy, policy != NULL ? policy : "", sizeof locks.policy - 1);
    strncpy(locks.wait, wait, sizeof locks.wait - 1);
    live_statistics_publish(&locks.header, library, sizeof locks);
}

void statistics_report(const char *library, const char *htm, const char *policy, const char *wait)
{
    struct report report;
    struct statistics_facts facts = {
        .process = (int)getpid(),
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
    if (exit_report_is_json(&exit_report))
        statistics_write_json(&report, &facts);
    else
        statistics_write_text(&report, &facts);
    exit_report_close(&exit_report, &report);
}
