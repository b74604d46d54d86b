/*
 * SPDX-License-Identifier: MIT
 *
 * Runs a command and counts hardware and kernel events of it and of all its processes and threads.
 * For "mplace compare": apart from mplace-measure, whose memory the command's peak begins with.
 *
 *   mplace-count EVENTS RESULT COMMAND [ARGUMENT]...
 *   mplace-count --check EVENTS
 *
 * EVENTS are those of ring --counters. RESULT gets one line, "name=value;name=value"; the few
 * events of this program between the command's start and its end are in it. The exit status is the
 * command's as in mplace-measure. --check prints the names of those that can be counted here, one a
 * line, and a line on standard error for each of the others; exit status 2 for what nobody knows.
 */
#include "harness/counters.h"
#include "program_options.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS, RESULT, COMMAND };
enum { BAD_ARGUMENT = 2, CANNOT_EXECUTE = 126, NOT_FOUND = 127, SIGNALLED = 128 };

static struct counters counters;

static int complain(const char *what, const char *why)
{
    fprintf(stderr, "mplace-count: %s: %s\n", what, why);
    return BAD_ARGUMENT;
}

/* False, and a complaint was written, when an event is not known. */
static bool open_counters(const char *events)
{
    char complaint[256];

    if (!counters_choose(&counters, events, complaint, sizeof complaint)) {
        fprintf(stderr, "%s\n", complaint);
        return false;
    }
    counters_open(&counters);
    return true;
}

static int check(const char *events)
{
    if (!open_counters(events))
        return BAD_ARGUMENT;
    for (size_t i = 0; i < counters.count; i++)
        puts(counters.event[i].name);
    return fflush(stdout) == 0 ? 0 : complain("standard output", strerror(errno));
}

int main(int argc, char **argv)
{
    char counts[8192];
    int status;

    const char form[] =
        "mplace-count EVENTS RESULT COMMAND [ARGUMENT]..., or mplace-count --check EVENTS";
    int only_check = false;
    const struct option flags[] = {{.name = "check", .flag = &only_check, .val = true}, {0}};
    int first = program_options(argc, argv, flags, form);

    argv += first;
    argc -= first;
    if (only_check ? argc != 1 : argc <= COMMAND) {
        fprintf(stderr, "usage: %s\n", form);
        return BAD_ARGUMENT;
    }
    if (only_check)
        return check(argv[EVENTS]);
    FILE *result = fopen(argv[RESULT], "we");
    if (result == NULL)
        return complain(argv[RESULT], strerror(errno));
    if (!open_counters(argv[EVENTS]))
        return BAD_ARGUMENT;
    counters_start(&counters);
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[COMMAND], argv + COMMAND);
        status = errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
        complain(argv[COMMAND], strerror(errno));
        _exit(status);
    }
    if (child < 0)
        return complain("fork", strerror(errno));
    /* Ctrl-C reaches the command by itself, and what it makes of that is counted. */
    signal(SIGINT, SIG_IGN);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    counters_stop(&counters);
    counters_read(&counters, counts, sizeof counts);
    fprintf(result, "%s\n", counts);
    if (fclose(result) != 0)
        return complain(argv[RESULT], strerror(errno));
    return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}
