/*
 * SPDX-License-Identifier: MIT
 *
 * libtm_runtime.so as a whole: its settings, and what happens at start, fork and exit.
 *
 * Constructors of other libraries may have transactions before ours runs: the first one reads the
 * settings. What needs the kernel waits for the first transaction in any case (registry.c). The
 * handlers of fork do not: a thread may fork while another has the process's first transaction.
 */
#include "base/exit_report.h"
#include "base/settings.h"
#include "base/text/mistyped_settings.h"
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/contention.h"
#include "tm_runtime/gate.h"
#include "tm_runtime/registry.h"
#include "tm_runtime/statistics/report.h"
#include "tm_runtime/statistics/statistics.h"
#include "tm_runtime/transaction.h"
#include "ttstle_lock/rtm/rtm.h"
#include "ttstle_lock/rtm/rtm_probe.h"

#include <pthread.h>

static const char *const algorithm_names[] = {"eager", "lazy", "norec", "serial", "htm"};
static const struct algorithm *const algorithms[] = {&eager_algorithm, &lazy_algorithm,
                                                     &norec_algorithm, NULL, &eager_algorithm};
enum { EAGER, HTM = 4, ALGORITHMS = sizeof algorithm_names / sizeof *algorithm_names };

static const char *const contention_names[] = {
    [CONTENTION_NONE] = "none",
    [CONTENTION_BACKOFF] = "backoff",
    [CONTENTION_HOURGLASS] = "hourglass",
    [CONTENTION_SERIALISE] = "serialise",
};

static struct exit_report plan;
static size_t chosen;

static void start(void)
{
    static const char *const serial_locks[] = {"membarrier", "rwlock"};

    mistyped_settings_report("libtm_runtime.so", SETTINGS_TM);
    chosen = setting_choice("TM_ALGORITHM", algorithm_names, ALGORITHMS, EAGER);
    contention_manager = (enum contention_manager)setting_choice(
        "TM_CONTENTION", contention_names, sizeof contention_names / sizeof *contention_names,
        CONTENTION_BACKOFF);
    bool counts = setting_choice("TM_SERIAL_LOCK", serial_locks, 2, 0) == 1;
    bool alone = setting_switch("TM_ALONE", 1) == 1;
    exit_report_plan(&plan, "TM_STATS");
    if (chosen == HTM) {
        htm_usable = rtm_probe() == RTM_COMMITS;
        counts = counts || htm_usable;
    }
    if (exit_report_wanted(&plan))
        statistics_start();
    /* Statistics are about the algorithm, so it must run. */
    transaction_settings.alone_in_place = alone && !exit_report_wanted(&plan);
    transaction_settings.hardware_first = htm_usable;
    transaction_settings.algorithm = algorithms[chosen];
    gate_start(counts);
    (void)pthread_atfork(registry_before_fork, registry_after_fork_in_parent,
                         registry_after_fork_in_child);
}

__attribute__((constructor)) void library_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, start);
}

/* A program that never began a transaction gets no report: most processes of a shell script. */
__attribute__((destructor)) static void finish(void)
{
    struct report report;
    struct report_facts facts = {.algorithm = algorithm_names[chosen],
                                 .contention = contention_names[contention_manager],
                                 .is_json = exit_report_is_json(&plan)};

    if (statistics_first() == NULL || !exit_report_open(&plan, &report))
        return;
    report_write(&report, &facts);
    exit_report_close(&plan, &report);
}
