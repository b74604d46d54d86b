/*
 * SPDX-License-Identifier: MIT
 *
 * mplace-stats-reader: what "mplace stats" runs. Its options are checked there; these are for it.
 *
 *     mplace-stats-reader [--json] [--watch SECONDS] [--locks N] PID
 *     mplace-stats-reader --prometheus [--locks N] [PID]
 *     mplace-stats-reader --list
 *
 * Exit status 0, or 2 after one line on standard error.
 */
#include "base/code_location.h"
#include "base/report.h"
#include "stats_reader/look.h"
#include "stats_reader/prometheus.h"
#include "stats_reader/refuse.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- writing it ---- */

static void write_json(struct report *report, const struct target *target, const struct look *look)
{
    report_format(report, "{\n\"process\": %d,\n\"malloc\":\n", (int)target->process);
    if (look->has_cia)
        cia_write_json(report, &look->cia_facts, &look->cia);
    else
        report_format(report, "null\n");
    report_format(report, ",\n\"locks\":\n");
    if (look->has_locks)
        statistics_write_json(report, &look->locks.facts);
    else
        report_format(report, "null\n");
    report_format(report, "}\n");
}

static void write_text(struct report *report, const struct look *look)
{
    if (look->has_cia)
        cia_write_text(report, &look->cia_facts, &look->cia);
    if (look->has_locks)
        statistics_write_text(report, &look->locks.facts);
}

static void write_rate(struct report *report, const char *what, uint64_t now, uint64_t before,
                       double seconds)
{
    double rate = now > before ? (double)(now - before) / seconds : 0;

    report_format(report, "  %lu %s", (uint64_t)(rate + 0.5), what);
}

/* What happened since the look before, a second. */
static void write_rates(struct report *report, const struct look *now, const struct look *before)
{
    double seconds = now->time - before->time;

    report_format(report, "a second:");
    if (now->has_cia && before->has_cia)
        write_rate(report, "allocations", now->cia.totals.allocations,
                   before->cia.totals.allocations, seconds);
    if (now->has_locks && before->has_locks) {
        const struct lock_row *total = &now->locks.ranking.total;
        const struct lock_row *total_before = &before->locks.ranking.total;

        write_rate(report, "lock acquisitions", lock_row_acquisitions(total),
                   lock_row_acquisitions(total_before), seconds);
        write_rate(report, "waits", total->counts[COUNT_WAITS], total_before->counts[COUNT_WAITS],
                   seconds);
        write_rate(report, "aborts", lock_row_aborts(total), lock_row_aborts(total_before),
                   seconds);
    }
    report_format(report, "\n");
}

/* ---- once, again and again, and who can be looked at ---- */

static void open_or_refuse(struct target *target, int process)
{
    switch (target_open(target, process)) {
    case TARGET_READABLE:
        return;
    case TARGET_SILENT:
        refuse("process %d (%s) keeps no statistics for others: start it with 'mplace run --malloc "
               "cia --lock ttstle --live -- PROGRAM', which sets MPLACE_STATS_LIVE=1",
               process, target->name);
    case TARGET_FORBIDDEN:
        refuse("the kernel does not let you read process %d (%s)%s", process, target->name,
               geteuid() == 0 ? ""
                              : ": be root (it is another user's, or changed its user, or "
                                "kernel.yama.ptrace_scope is not 0)");
    case TARGET_GONE:
        break;
    }
    refuse("there is no process %d", process);
}

/* Whoever read standard output has gone: nothing is written to find out by. */
static bool nobody_reads(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO};

    return poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLNVAL)) != 0;
}

static void pause_for(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds};

    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static void show(int process, int most, bool json, double seconds)
{
    static struct look looks[2];
    static struct target target;
    bool terminal = isatty(STDOUT_FILENO) != 0;

    open_or_refuse(&target, process);
    code_location_use_process(target.folder);
    for (unsigned turn = 0;; turn++) {
        struct look *now = &looks[turn % 2];
        struct report report;

        /* It may have become another program. */
        if ((turn > 0 && target_open(&target, process) != TARGET_READABLE) ||
            !look_or_refuse(&target, most, now)) {
            if (turn == 0)
                refuse("process %d ended meanwhile", process);
            (void)fprintf(stderr, "mplace stats: process %d has ended\n", process);
            return;
        }
        report_open(&report, STDOUT_FILENO);
        if (seconds > 0 && terminal && !json)
            report_format(&report, "\033[H\033[2J");
        if (json) {
            write_json(&report, &target, now);
        } else {
            if (turn > 0)
                write_rates(&report, now, &looks[(turn + 1) % 2]);
            write_text(&report, now);
            if (seconds > 0 && !terminal)
                report_format(&report, "\n");
        }
        report_close(&report);
        if (seconds <= 0)
            return;
        pause_for(seconds);
        if (nobody_reads())
            return;
    }
}

/* The next process that can be shown; false: there is none. */
static bool next_readable(DIR *folder, struct target *target)
{
    const struct dirent *entry;

    while ((entry = readdir(folder)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0]) &&
            target_open(target, atoi(entry->d_name)) == TARGET_READABLE)
            return true;
    }
    return false;
}

static DIR *open_processes(void)
{
    DIR *folder = opendir("/proc");

    if (folder == NULL)
        refuse("cannot read /proc");
    return folder;
}

static void list(void)
{
    static struct target target;
    DIR *folder = open_processes();

    while (next_readable(folder, &target)) {
        (void)printf("%7d  %-16s", (int)target.process, target.name);
        for (unsigned i = 0; i < target.page_count; i++) {
            target_clean_text(target.pages[i].header.library,
                              sizeof target.pages[i].header.library);
            (void)printf(" %s", target.pages[i].header.library);
        }
        (void)putchar('\n');
    }
    (void)closedir(folder);
}

/* ---- for Prometheus ---- */

struct shown_processes {
    struct shown_process **all;
    unsigned count;
};

static struct shown_process *new_shown(void)
{
    struct shown_process *shown = calloc(1, sizeof *shown);

    if (shown == NULL)
        refuse("no memory");
    return shown;
}

/* Its look was taken. */
static void add_shown(struct shown_processes *shown, struct shown_process *added,
                      const struct target *target)
{
    size_t bytes = (shown->count + 1) * sizeof(struct shown_process *);
    const struct lock_ranking *ranking = &added->look.locks.ranking;

    shown->all = realloc(shown->all, bytes);
    if (shown->all == NULL)
        refuse("no memory");
    shown->all[shown->count++] = added;
    added->process = (int)target->process;
    strcpy(added->program, target->name);
    code_location_use_process(target->folder);
    for (unsigned i = 0; added->look.has_locks && i < ranking->count; i++)
        place_of_call(ranking->top[i].first_caller, added->places[i]);
}

/* All processes that can be shown, but for those of another version. */
static void add_all(struct shown_processes *shown, int most)
{
    static struct target target;
    DIR *folder = open_processes();
    const char *library;

    while (next_readable(folder, &target)) {
        struct shown_process *added = new_shown();
        enum look_result result = look_at(&target, most, &added->look, &library);

        if (result == LOOK_TAKEN) {
            add_shown(shown, added, &target);
            continue;
        }
        free(added);
        if (result == LOOK_OTHER_VERSION)
            (void)fprintf(stderr,
                          "mplace stats: left out process %d: %s of another version of mplace\n",
                          (int)target.process, library);
    }
    (void)closedir(folder);
}

/* process: 0 for all. Whoever renames the file that this goes to must know that it is whole. */
static void show_prometheus(int process, int most)
{
    static struct target target;
    struct shown_processes shown = {NULL, 0};

    most = most >= 0 ? most : 0;
    if (process == 0) {
        add_all(&shown, most);
    } else {
        struct shown_process *added = new_shown();

        open_or_refuse(&target, process);
        if (!look_or_refuse(&target, most, &added->look))
            refuse("process %d ended meanwhile", process);
        add_shown(&shown, added, &target);
    }
    prometheus_write(stdout, shown.all, shown.count);
    if (fflush(stdout) != 0 || ferror(stdout))
        refuse("cannot write: %s", strerror(errno));
    for (unsigned i = 0; i < shown.count; i++)
        free(shown.all[i]);
    free(shown.all);
}

int main(int count, char **arguments)
{
    int process = 0, most = -1;
    double seconds = 0;
    bool json = false, prometheus = false;

    for (int i = 1; i < count; i++) {
        bool more = i + 1 < count;

        if (strcmp(arguments[i], "--list") == 0) {
            list();
            return 0;
        }
        if (strcmp(arguments[i], "--json") == 0)
            json = true;
        else if (strcmp(arguments[i], "--prometheus") == 0)
            prometheus = true;
        else if (strcmp(arguments[i], "--watch") == 0 && more)
            seconds = strtod(arguments[++i], NULL);
        else if (strcmp(arguments[i], "--locks") == 0 && more)
            most = atoi(arguments[++i]);
        else
            process = atoi(arguments[i]);
    }
    if (prometheus) {
        show_prometheus(process, most);
        return 0;
    }
    if (process <= 0)
        refuse("which process?");
    show(process, most, json, seconds);
    return 0;
}
