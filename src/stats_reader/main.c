/*
 * SPDX-License-Identifier: MIT
 *
 * mplace-stats-reader: what "mplace stats" runs. Its options are checked there; these are for it.
 *
 *     mplace-stats-reader [--json] [--watch SECONDS [--top N]] [--locks N] PID
 *     mplace-stats-reader --prometheus [--locks N] [PID]
 *     mplace-stats-reader --list
 *
 * Exit status 0, or 2 after one line on standard error.
 */
#include "base/code/code_location.h"
#include "base/report.h"
#include "stats_reader/look.h"
#include "stats_reader/prometheus.h"
#include "stats_reader/refuse.h"
#include "stats_reader/watch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- writing it ---- */

static void write_json(struct report *report, const struct target *target, const struct look *look)
{
    report_format(report, "{\n\"process\": %d,\n\"malloc\":\n", (int)target->process);
    if (look->has_cia)
        cia_write_json(report, &look->cia);
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
        cia_write_text(report, &look->cia);
    if (look->has_locks)
        statistics_write_text(report, &look->locks.facts);
}

/* Where nobody reads any more, nothing is missing. */
static void close_or_refuse(struct report *report)
{
    report_close(report);
    if (report->error != 0 && report->error != EPIPE)
        refuse("cannot write: %s", strerror(report->error));
}

static void flush_or_refuse(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        refuse("cannot write: %s", strerror(errno));
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
    case TARGET_ENDED:
        refuse("process %d (%s) has no memory: it has ended, or is a thread of the kernel", process,
               target->name);
    case TARGET_GONE:
        break;
    }
    refuse("there is no process %d", process);
}

static void show_once(struct target *target, int most, bool json)
{
    static struct look look;
    struct report report;

    if (!look_or_refuse(target, most, &look))
        refuse("process %d ended meanwhile", (int)target->process);
    report_open(&report, STDOUT_FILENO);
    if (json)
        write_json(&report, target, &look);
    else
        write_text(&report, &look);
    close_or_refuse(&report);
}

/* One object a look, until the process ends or becomes a program that publishes nothing. */
static void watch_json(struct target *target, int most, double seconds)
{
    static struct look look;

    while (look_or_refuse(target, most, &look)) {
        struct report report;

        report_open(&report, STDOUT_FILENO);
        write_json(&report, target, &look);
        close_or_refuse(&report);
        watch_pause(seconds);
        if (watch_nobody_reads())
            return;
        if (target_open(target, target->process) != TARGET_READABLE)
            break;
    }
    watch_say_end(target);
}

static void show(int process, const struct watch_options *options, bool json)
{
    static struct target target;

    open_or_refuse(&target, process);
    code_location_use_process(target.folder);
    if (options->seconds <= 0)
        show_once(&target, options->most_locks, json);
    else if (json)
        watch_json(&target, options->most_locks, options->seconds);
    else
        watch(&target, options);
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
    flush_or_refuse();
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
    flush_or_refuse();
    for (unsigned i = 0; i < shown.count; i++)
        free(shown.all[i]);
    free(shown.all);
}

int main(int count, char **arguments)
{
    struct watch_options options = {.seconds = 0, .most = -1, .most_locks = -1};
    int process = 0;
    int json = 0, prometheus = 0;
    const struct option known[] = {
        {"json", no_argument, &json, 1},         {"prometheus", no_argument, &prometheus, 1},
        {"list", no_argument, NULL, 'l'},        {"watch", required_argument, NULL, 'w'},
        {"locks", required_argument, NULL, 'k'}, {"top", required_argument, NULL, 't'},
        {"version", no_argument, NULL, 'v'},     {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) {
        switch (option) {
        case 0: /* a flag */
            break;
        case 'l':
            list();
            return 0;
        case 'w':
            options.seconds = strtod(optarg, NULL);
            break;
        case 'k':
            options.most_locks = atoi(optarg);
            break;
        case 't':
            options.most = atoi(optarg);
            break;
        case 'v':
            (void)printf("mplace-stats-reader (mplace) %s\n", MPLACE_VERSION);
            flush_or_refuse();
            return 0;
        default:
            return 2;
        }
    }
    if (optind < count)
        process = atoi(arguments[optind]);
    if (prometheus) {
        show_prometheus(process, options.most_locks);
        return 0;
    }
    if (process <= 0)
        refuse("which process?");
    show(process, &options, json != 0);
    return 0;
}
