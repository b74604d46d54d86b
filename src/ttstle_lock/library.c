/*
 * SPDX-License-Identifier: MIT
 *
 * libttstle_lock.so as a whole: its settings, what happens at start, fork and exit, and its name.
 *
 * Other libraries' constructors may lock before ours runs. They find a working lock: until it ran
 * nothing is elided, and each other setting has its default from the first instruction on. A mutex
 * that is held over that moment is held physically, and is unlocked so.
 */
#include "base/text/mistyped_settings.h"
#include "mplace.h"
#include "mutex/next_mutex.h"
#include "mutex/rwlock/next_rwlock.h"
#include "mutex/statistics/statistics.h"
#include "tts_lock/tts.h"
#include "ttstle_lock/condition.h"
#include "ttstle_lock/elision/elision.h"
#include "ttstle_lock/elision/hourglass.h"
#include "ttstle_lock/rtm/rtm_probe.h"
#include "ttstle_lock/signals.h"
#include "ttstle_lock/elision/skip.h"

bool htm_usable;

static enum rtm_verdict verdict = RTM_ABSENT;

static void after_fork_in_child(void)
{
    hourglass_after_fork();
    signals_after_fork_in_child();
    statistics_restart_in_child();
}

__attribute__((constructor)) static void start(void)
{
    mistyped_settings_report_shared("libttstle_lock.so", SETTINGS_LOCKS);
    tts_read_settings();
    elision_read_settings();
    statistics_read_setting("TTSTLE_STATS");
    next_mutex_resolve();
    next_rwlock_resolve();
    condition_resolve();
    (void)pthread_atfork(signals_before_fork, NULL, after_fork_in_child);
    verdict = rtm_probe();
    bool skips = skip_read_setting();
    signals_start(verdict == RTM_COMMITS); /* first: a section that is elided knows of its list */
    htm_usable = verdict == RTM_COMMITS;
    elides_everywhere = htm_usable && !skips;
    statistics_publish("libttstle_lock", rtm_verdict_text(verdict), elision_policy_name(),
                       tts_wait_name());
}

__attribute__((destructor)) static void finish(void)
{
    statistics_report("libttstle_lock", rtm_verdict_text(verdict), elision_policy_name(),
                      tts_wait_name());
}

__attribute__((visibility("default"))) const char *mplace_lock_name(void)
{
    return "ttstle";
}

__attribute__((visibility("default"))) const char *mplace_lock_htm(void)
{
    return htm_usable ? "native" : "none";
}
