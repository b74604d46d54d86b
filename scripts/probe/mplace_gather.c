/*
 * SPDX-License-Identifier: MIT
 *
 * Runs a program and, when it has ended, prints the reports that its processes left in a folder:
 * for "mplace run --stats". To who started it, it behaves as the program would: the same exit
 * status or end by a signal, and signals that it gets go on to the program.
 *
 *   mplace-gather [--json] FOLDER PRELOAD FILTER PROGRAM NAME [ARGUMENT]...
 *
 * Each *_STATS setting of the program names a file in FOLDER, and PRELOAD, if not empty, is its
 * LD_PRELOAD: neither is the gatherer's own. FILTER, if not empty, is a program that gets the
 * reports on its standard input and prints them. NAME is what the program sees as its name. The
 * folder is removed, unless processes of the program still run: then one line says where their
 * reports will be. With --json each report is a JSON object.
 */
#include "program_options.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FOLDER, PRELOAD, FILTER, PROGRAM, NAME };
enum { BAD_ARGUMENT = 2, CANNOT_EXECUTE = 126, NOT_FOUND = 127 };

static const char *const settings[] = {"CIA_STATS", "RAND_STATS",   "BANK_STATS",
                                       "TTS_STATS", "TTSTLE_STATS", "TM_STATS"};

/* Those that people and service managers send. The others keep their effect on us. */
static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};
enum { PASSED_ON = sizeof passed_on / sizeof passed_on[0] };

static volatile pid_t program;
static int as_json;

/* A terminal sends to all processes in the foreground, the program among them: only what a process
 * sent is passed on. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;

    (void)context;
    if (info->si_code <= 0 && program > 0)
        (void)kill(program, signal);
    errno = saved_errno;
}

/* In the child, with the signals as the gatherer found them. */
static _Noreturn void become(char **arguments, pid_t parent)
{
    /* A kill of the gatherer that it cannot pass on ends the program as well. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(SIGKILL);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        char file[4096];

        if (snprintf(file, sizeof file, "%s/%%p.%s%s", arguments[FOLDER], settings[i],
                     as_json ? ".json" : "") >= (int)sizeof file ||
            setenv(settings[i], file, 1) != 0)
            _exit(BAD_ARGUMENT);
    }
    if (*arguments[PRELOAD] != '\0' && setenv("LD_PRELOAD", arguments[PRELOAD], 1) != 0)
        _exit(BAD_ARGUMENT);
    (void)execv(arguments[PROGRAM], arguments + NAME);
    int status = errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
    (void)fprintf(stderr, "mplace run: %s: %s\n", arguments[PROGRAM], strerror(errno));
    _exit(status);
}

/* Its status, and in *others whether children of its children go on. */
static int wait_for_program(bool *others)
{
    int status, program_status = 0;
    pid_t ended;

    for (;;) {
        ended = waitpid(-1, &status, 0);
        if (ended == program)
            program_status = status;
        if (ended == program || (ended < 0 && errno != EINTR))
            break;
    }
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
        ;
    *others = ended == 0;
    return program_status;
}

/* ---- the reports ---- */

struct file {
    char name[64];
    struct timespec written;
    uid_t owner;
    gid_t group;
};

static int compare(const void *a, const void *b)
{
    const struct file *one = a, *other = b;

    if (one->written.tv_sec != other->written.tv_sec)
        return one->written.tv_sec < other->written.tv_sec ? -1 : 1;
    if (one->written.tv_nsec != other->written.tv_nsec)
        return one->written.tv_nsec < other->written.tv_nsec ? -1 : 1;
    return strcmp(one->name, other->name);
}

/* Only what a terminal does not obey: where the program changes its user, that one writes here. */
static void print_file(int folder, const char *name, FILE *to)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    int c;

    if (file == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    while ((c = getc(file)) != EOF)
        (void)putc((c >= ' ' && c != 0x7f) || c == '\n' ? c : '?', to);
    (void)fclose(file);
}

static void print_files(int folder, const struct file *files, size_t count, FILE *to)
{
    for (size_t i = 0; i < count; i++)
        print_file(folder, files[i].name, to);
}

/* In the child: reads what comes through the pipe, with no more rights than who wrote it. */
static _Noreturn void become_filter(const char *filter, int pipe, const struct file *of)
{
    if (geteuid() == 0 && of->owner != 0 &&
        (setgroups(0, NULL) != 0 || setgid(of->group) != 0 || setuid(of->owner) != 0))
        _exit(CANNOT_EXECUTE);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)dup2(pipe, STDIN_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    (void)execl(filter, filter, (char *)NULL);
    _exit(NOT_FOUND);
}

/* Files of one owner; as they are if the filter fails. */
static void print_filtered(int folder, const struct file *files, size_t count, const char *filter)
{
    int ends[2], status = -1;
    pid_t child = -1;
    FILE *to = NULL;

    if (*filter != '\0' && pipe2(ends, O_CLOEXEC) == 0) {
        to = fdopen(ends[1], "w");
        child = to != NULL ? fork() : -1;
        if (child == 0)
            become_filter(filter, ends[0], files);
        (void)close(ends[0]);
    }
    if (child > 0)
        print_files(folder, files, count, to);
    if (to != NULL)
        (void)fclose(to);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0)
        print_files(folder, files, count, stderr);
}

/* In the order in which they were written, which is that in which the processes ended. */
static void print_reports(const char *path, const char *filter, bool keep)
{
    DIR *folder = opendir(path);
    struct file *files = NULL;
    size_t count = 0, room = 0;
    const struct dirent *entry;

    if (folder == NULL)
        return;
    while ((entry = readdir(folder)) != NULL) {
        struct stat status;

        if (strlen(entry->d_name) >= sizeof files->name ||
            fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        if (count == room) {
            struct file *more = realloc(files, (room = 2 * room + 16) * sizeof *files);

            if (more == NULL)
                break;
            files = more;
        }
        strcpy(files[count].name, entry->d_name);
        files[count].owner = status.st_uid;
        files[count].group = status.st_gid;
        files[count++].written = status.st_mtim;
    }
    if (count > 0)
        qsort(files, count, sizeof *files, compare);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && files[to].owner == files[from].owner; to++)
            ;
        print_filtered(dirfd(folder), files + from, to - from, filter);
    }
    for (size_t i = 0; i < count; i++)
        (void)unlinkat(dirfd(folder), files[i].name, 0);
    free(files);
    (void)closedir(folder);
    if (keep)
        (void)fprintf(stderr,
                      "mplace run: some of the program's processes still run; what they report "
                      "when they end will be in %s\n",
                      path);
    else
        (void)rmdir(path);
}

/* Ends as the program did, without a second core file. */
static _Noreturn void end_by(int signal)
{
    const struct rlimit none = {0, 0};
    sigset_t only;

    (void)setrlimit(RLIMIT_CORE, &none);
    (void)sigemptyset(&only);
    (void)sigaddset(&only, signal);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    (void)sigaction(signal, &by_default, NULL);
    (void)raise(signal);
    _exit(128 + signal);
}

int main(int count, char **arguments)
{
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction to_be_waited_for = {.sa_handler = SIG_DFL}, child_action;
    sigset_t ours, before;
    pid_t self = getpid();
    bool others;
    const char usage[] = "mplace-gather [--json] FOLDER PRELOAD FILTER PROGRAM NAME [ARGUMENT]...";
    const struct option flags[] = {{.name = "json", .flag = &as_json, .val = 1}, {0}};
    int first = program_options(count, arguments, flags, usage);

    if (count - first <= NAME) {
        (void)fprintf(stderr, "usage: %s\n", usage);
        return BAD_ARGUMENT;
    }
    arguments += first;
    /* Processes that outlive their parents become our children, so that we know of them. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)sigemptyset(&ours);
    for (int i = 0; i < PASSED_ON; i++)
        (void)sigaddset(&ours, passed_on[i]);
    /* Held back until there is somebody to pass them on to. */
    (void)sigprocmask(SIG_BLOCK, &ours, &before);
    /* Ignored, as some callers leave it, it would leave no status to be waited for. */
    (void)sigaction(SIGCHLD, &to_be_waited_for, &child_action);
    program = fork();
    if (program < 0) {
        (void)fprintf(stderr, "mplace run: %s\n", strerror(errno));
        return CANNOT_EXECUTE;
    }
    if (program == 0) {
        (void)sigaction(SIGCHLD, &child_action, NULL);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        become(arguments, self);
    }
    for (int i = 0; i < PASSED_ON; i++)
        (void)sigaction(passed_on[i], &action, NULL);
    (void)sigprocmask(SIG_UNBLOCK, &ours, NULL);

    int status = wait_for_program(&others);
    /* A filter that ends early is no reason to end otherwise than the program did. */
    (void)signal(SIGPIPE, SIG_IGN);
    print_reports(arguments[FOLDER], arguments[FILTER], others);
    if (WIFSIGNALED(status))
        end_by(WTERMSIG(status));
    return WEXITSTATUS(status);
}
