/*
 * SPDX-License-Identifier: MIT
 *
 * Runs a command with libraries preloaded and tells what it took: wall time, processor time in user
 * mode and in the kernel, and the largest resident set of any of its processes. For "mplace
 * compare": a shell sees no peak, and its own clock would count its own work.
 *
 *   mplace-measure RESULT PRELOAD LIBRARY_PATH COMMAND [ARGUMENT]...
 *
 * RESULT gets one line, "SECONDS USER_SECONDS SYSTEM_SECONDS PEAK_KIB". PRELOAD and LIBRARY_PATH,
 * empty or not, go to the command's environment alone. The exit status is the command's, 128 more
 * than the signal that ended it, 126 or 127 where it could not be executed or found.
 */
#include "program_options.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RESULT, PRELOAD, LIBRARY_PATH, COMMAND };
enum { BAD_ARGUMENT = 2, CANNOT_EXECUTE = 126, NOT_FOUND = 127, SIGNALLED = 128 };

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* In the child. */
static _Noreturn void become(char **argv)
{
    if ((*argv[PRELOAD] != '\0' && setenv("LD_PRELOAD", argv[PRELOAD], 1) != 0) ||
        (*argv[LIBRARY_PATH] != '\0' && setenv("LD_LIBRARY_PATH", argv[LIBRARY_PATH], 1) != 0))
        _exit(BAD_ARGUMENT);
    execvp(argv[COMMAND], argv + COMMAND);
    int status = errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
    fprintf(stderr, "mplace-measure: %s: %s\n", argv[COMMAND], strerror(errno));
    _exit(status);
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;

    const char form[] = "mplace-measure RESULT PRELOAD LIBRARY_PATH COMMAND [ARGUMENT]...";
    const struct option none[] = {{0}};
    int first = program_options(argc, argv, none, form);

    if (argc - first <= COMMAND) {
        fprintf(stderr, "usage: %s\n", form);
        return BAD_ARGUMENT;
    }
    argv += first;
    FILE *result = fopen(argv[RESULT], "we");
    if (result == NULL) {
        fprintf(stderr, "mplace-measure: %s: %s\n", argv[RESULT], strerror(errno));
        return BAD_ARGUMENT;
    }
    double start = now();
    pid_t child = fork(); /* not vfork: the child's peak would begin at this process's */
    if (child == 0)
        become(argv);
    if (child < 0) {
        fprintf(stderr, "mplace-measure: fork: %s\n", strerror(errno));
        return BAD_ARGUMENT;
    }
    /* Ctrl-C reaches the command by itself, and what it makes of that is measured. */
    signal(SIGINT, SIG_IGN);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    double wall = now() - start;
    /* Of all descendants that were waited for: the times are sums, the resident set is the largest.
     */
    getrusage(RUSAGE_CHILDREN, &usage);
    fprintf(result, "%.6f %.6f %.6f %ld\n", wall, seconds(&usage.ru_utime),
            seconds(&usage.ru_stime), usage.ru_maxrss);
    if (fclose(result) != 0) {
        fprintf(stderr, "mplace-measure: %s: %s\n", argv[RESULT], strerror(errno));
        return BAD_ARGUMENT;
    }
    return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}
