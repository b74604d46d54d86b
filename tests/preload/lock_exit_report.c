/*
 * SPDX-License-Identifier: MIT
 *
 * A report that cannot be written does not change how the program ends: nobody reads standard
 * error, or a file may not grow. The program runs itself with statistics on.
 */
#include "lock_check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { OWN_STATUS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lose_the_reader(void)
{
    int ends[2];

    CHECK_EQUAL(pipe(ends), 0);
    CHECK_EQUAL(close(ends[0]), 0);
    CHECK_EQUAL(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
}

/* The first write is a part of the report, the next one too much; of 0 bytes, the first. */
static void limit_the_file(rlim_t bytes)
{
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    FILE *file = tmpfile();

    CHECK(file != NULL);
    CHECK_EQUAL(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void check_status_after(const char *what)
{
    int status;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        setenv("TTS_STATS", "1", 1);
        setenv("TTSTLE_STATS", "1", 1);
        execl("/proc/self/exe", "lock_exit_report", what, (char *)NULL);
        _exit(1);
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    dprintf(STDOUT_FILENO, "%s: status %#x\n", what, (unsigned)status);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), OWN_STATUS);
}

int main(int argument_count, char **arguments)
{
    if (argument_count == 1) {
        check_status_after("no reader");
        check_status_after("no bytes");
        check_status_after("few bytes");
        return 0;
    }
    signal(SIGPIPE, SIG_DFL); /* whoever started the test may have ignored them */
    signal(SIGXFSZ, SIG_DFL);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    if (strcmp(arguments[1], "no reader") == 0)
        lose_the_reader();
    else
        limit_the_file(strcmp(arguments[1], "no bytes") == 0 ? 0 : 16);
    return OWN_STATUS;
}
