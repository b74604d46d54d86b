/*
 * SPDX-License-Identifier: MIT
 *
 * The surroundings; see surroundings.h. The child answers in memory that both share, and the end
 * of a pipe tells that the answer is complete.
 */
#include "harness/surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct answer {
    struct surroundings found;
    char complaint[256];
    bool good;
    bool is_complete; /* written last */
};

/* In the child. */
static void find_out(struct answer *answer, const struct surroundings_wanted *wanted)
{
    struct surroundings *found = &answer->found;

    labels_read(&found->labels);
    bool emulated = found->labels.time_is_meaningless;
    answer->good = machine_read(&found->machine, wanted->pin_cpu, emulated, answer->complaint,
                                sizeof answer->complaint);
    if (answer->good && wanted->cores)
        cores_read(&found->cores, emulated, found->cores_complaint, sizeof found->cores_complaint);
    answer->good = answer->good && counters_choose(&found->counters, wanted->counters,
                                                   answer->complaint, sizeof answer->complaint);
    interval_prepare(&found->interval);
    answer->is_complete = true;
}

/*
 * Runs find_out in a child until it is complete or the child has ended; false and errno when there
 * is no child. The child is killed and does not exit, because reports of the libraries and of a
 * Valgrind tool at exit are about the parent alone; killed by the parent, because a Valgrind tool
 * that is told to kill its own process reports first.
 */
static bool ask_child(struct answer *answer, const struct surroundings_wanted *wanted)
{
    int ends[2];
    char byte;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t parent = getpid(), child = fork();
    int error = errno;
    if (child == 0) {
        /* Should the parent be killed, the kernel ends this child; where the parent is gone
           already, the child does. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
            kill(getpid(), SIGKILL);
        find_out(answer, wanted);
        close(ends[1]);
        for (;;)
            pause();
    }
    close(ends[1]);
    if (child > 0) {
        while (read(ends[0], &byte, sizeof byte) < 0 && errno == EINTR) {
        }
        kill(child, SIGKILL);
        /* ECHILD: the caller ignores SIGCHLD, and the child ends all the same. */
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    close(ends[0]);
    errno = error;
    return child > 0;
}

bool surroundings_read(struct surroundings *found, const struct surroundings_wanted *wanted,
                       char *complaint, size_t complaint_size)
{
    struct answer *answer =
        mmap(NULL, sizeof *answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (answer == MAP_FAILED || !ask_child(answer, wanted)) {
        snprintf(complaint, complaint_size, "no child process to look at this machine: %s",
                 strerror(errno));
        if (answer != MAP_FAILED)
            munmap(answer, sizeof *answer);
        return false;
    }
    *found = answer->found;
    bool good = answer->is_complete && answer->good;
    snprintf(complaint, complaint_size, "%s",
             answer->is_complete ? answer->complaint
                                 : "the child process that looks at this machine did not finish");
    munmap(answer, sizeof *answer);
    if (good && wanted->pin_cpu != MACHINE_NO_PIN) {
        int error = cores_bind_self((unsigned)wanted->pin_cpu);

        if (error != 0)
            snprintf(complaint, complaint_size, "--pin %d: %s", wanted->pin_cpu, strerror(error));
        good = error == 0;
    }
    found->interval.counters = &found->counters;
    if (good)
        counters_open(&found->counters);
    return good;
}
