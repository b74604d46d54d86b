/*
 * SPDX-License-Identifier: MIT
 *
 * The report that a *_STATS setting asks for, written when the process ends. Three things about
 * that moment make it a room of its own: the program may have overwritten its environment (servers
 * do, to change their title), closed standard error (all of coreutils does), and forked since.
 */
#ifndef MPLACE_BASE_EXIT_REPORT_H
#define MPLACE_BASE_EXIT_REPORT_H

#include "base/report.h"

#include <sys/stat.h>

struct exit_report {
    const char *setting;    /* NULL: not asked for */
    char value[512];        /* copied when the process started */
    int stderr_copy;        /* at 100 or above; 0 when there is none */
    struct stat stderr_was; /* what it must still be to be used */
};

/*
 * Reads the setting: unset or "0" is no report. If it asks for one, standard error is duplicated,
 * so that there is a place for the report or for the complaint about its file; otherwise nothing is
 * done. Call it once, when the library reads its settings.
 */
void exit_report_plan(struct exit_report *plan, const char *setting);

/* Whether the setting asks for a report. */
static inline bool exit_report_wanted(const struct exit_report *plan)
{
    return plan->setting != NULL;
}

/* Whether it is to be JSON: the file's name ends in ".json". */
bool exit_report_is_json(const struct exit_report *plan);

/*
 * Opens the report where the setting says: "1" is standard error, anything else a file name in
 * which each %p becomes the process id. A new file gets mode 0600. One that is there is emptied if
 * it is a regular file of this user and has no second name, or a device; a symbolic link is not
 * followed, and a pipe not waited for. False when none is wanted, or, after one line on standard
 * error, when the file is none of these or cannot be opened. Standard error is what it was at the
 * start; if that is gone, the text is dropped.
 */
bool exit_report_open(const struct exit_report *plan, struct report *report);

/* Closes it. One line on standard error if a file did not take all of it. */
void exit_report_close(const struct exit_report *plan, struct report *report);

#endif
