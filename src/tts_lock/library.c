/*
 * SPDX-License-Identifier: MIT
 *
 * libtts_lock.so as a whole: its settings, what happens at start, fork and exit, and its name.
 *
 * Other libraries' constructors may lock before ours runs. They find a working lock: each setting
 * has its default from the first instruction on.
 */
#include "base/text/mistyped_settings.h"
#include "mplace.h"
#include "mutex/next_mutex.h"
#include "mutex/rwlock/next_rwlock.h"
#include "mutex/statistics/statistics.h"
#include "tts_lock/tts.h"

__attribute__((constructor)) static void start(void)
{
    mistyped_settings_report_shared("libtts_lock.so", SETTINGS_LOCKS);
    tts_read_settings();
    statistics_read_setting("TTS_STATS");
    next_mutex_resolve();
    next_rwlock_resolve();
    (void)pthread_atfork(NULL, NULL, statistics_restart_in_child);
    statistics_publish("libtts_lock", "none", NULL, tts_wait_name());
}

__attribute__((destructor)) static void finish(void)
{
    statistics_report("libtts_lock", "none", NULL, tts_wait_name());
}

__attribute__((visibility("default"))) const char *mplace_lock_name(void)
{
    return "tts";
}

__attribute__((visibility("default"))) const char *mplace_lock_htm(void)
{
    return "none";
}
