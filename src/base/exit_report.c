/*
 * SPDX-License-Identifier: MIT
 *
 * Where the report at exit goes; see exit_report.h. errno is preserved. The plan is made where an
 * allocator may not be ready yet, and calls no function of libc's that another library may replace.
 * A file is opened by system calls of our own: in libc's open a thread can be cancelled, and one
 * that calls exit, or whose signal asks for a profile, must not end there.
 */
#include "base/exit_report.h"

#include "base/settings.h"
#include "base/system_call.h"
#include "base/text/decimal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static_assert(sizeof(struct stat) == 144, "as the kernel writes it on x86-64");

enum { OUT_OF_THE_WAY = 100 }; /* programs count on low descriptors being theirs */

void exit_report_plan(struct exit_report *plan, const char *setting)
{
    const char *value = setting_text(setting);

    if (value == NULL || strcmp(value, "0") == 0)
        return;
    if (strlen(value) >= sizeof plan->value) {
        report_line("mplace: %s: the file name is longer than %zu bytes", setting,
                    sizeof plan->value - 1);
        return;
    }
    strcpy(plan->value, value);
    plan->setting = setting;
    /* Who reads standard error from a pipe would wait for a daemon that has closed it: for no more
       than a complaint about a file it is not kept. */
    if (system_call(SYS_fstat, STDERR_FILENO, &plan->stderr_was, 0) == 0 &&
        (strcmp(value, "1") == 0 || S_ISREG(plan->stderr_was.st_mode) ||
         S_ISCHR(plan->stderr_was.st_mode))) {
        long copy =
            system_call_6(SYS_fcntl, STDERR_FILENO, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY, 0, 0, 0);

        plan->stderr_copy = copy > 0 ? (int)copy : 0;
    }
}

bool exit_report_is_json(const struct exit_report *plan)
{
    static const char ending[] = ".json";
    size_t length = strlen(plan->value);

    return length >= sizeof ending - 1 &&
           strcmp(plan->value + length - (sizeof ending - 1), ending) == 0;
}

static bool is_standard_error(const struct exit_report *plan, int fd)
{
    struct stat now;

    return plan->stderr_was.st_mode != 0 && fstat(fd, &now) == 0 &&
           now.st_dev == plan->stderr_was.st_dev && now.st_ino == plan->stderr_was.st_ino;
}

/*
 * Standard error as it was at the start; -1 when it is gone, or never was. The program may have
 * taken its number, or that of the copy, for a file that a report would spoil.
 */
static int stderr_of(const struct exit_report *plan)
{
    if (plan->stderr_copy > 0 && is_standard_error(plan, plan->stderr_copy))
        return plan->stderr_copy;
    return is_standard_error(plan, STDERR_FILENO) ? STDERR_FILENO : -1;
}

/* The file name with each %p replaced; false when it does not fit. */
static bool expand(const char *value, char *path, size_t size)
{
    size_t length = 0;

    for (const char *at = value; *at != '\0'; at++) {
        char digits[DECIMAL_DIGITS];
        const char *piece = at;
        size_t piece_length = 1;

        if (at[0] == '%' && at[1] == 'p') {
            piece = decimal_before(digits + sizeof digits, (uint64_t)getpid());
            piece_length = (size_t)(digits + sizeof digits - piece);
            at++;
        }
        if (length + piece_length >= size)
            return false;
        memcpy(path + length, piece, piece_length);
        length += piece_length;
    }
    path[length] = '\0';
    return true;
}

/* Only what nobody else can have put there, or a device, which is what its owner made it. */
static bool may_be_overwritten(int fd)
{
    struct stat file;

    if (fstat(fd, &file) != 0)
        return false;
    return S_ISCHR(file.st_mode) ||
           (S_ISREG(file.st_mode) && file.st_uid == geteuid() && file.st_nlink == 1);
}

/*
 * The name may be one in a folder that everybody writes to. A file of our own making is ours
 * (O_EXCL). What is there already is opened without waiting, for it may be a pipe, and is left as
 * it is unless it may be overwritten. A descriptor, or a negated errno value: EEXIST then.
 */
static long open_path(const char *path)
{
    const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
    long fd = system_call_6(SYS_openat, AT_FDCWD, (long)path, flags | O_CREAT | O_EXCL, 0600, 0, 0);

    if (fd != -EEXIST)
        return fd;
    fd = system_call(SYS_openat, AT_FDCWD, path, flags | O_NONBLOCK);
    if (fd >= 0 && !may_be_overwritten((int)fd)) {
        (void)system_call(SYS_close, fd, NULL, 0);
        return -EEXIST;
    }
    if (fd >= 0) {
        (void)system_call_6(SYS_fcntl, fd, F_SETFL, O_WRONLY, 0, 0, 0);
        (void)!ftruncate((int)fd, 0); /* no device can be cut short */
    }
    return fd;
}

static bool open_file(const struct exit_report *plan, struct report *report)
{
    char path[1024];
    long fd = expand(plan->value, path, sizeof path) ? open_path(path) : -ENAMETOOLONG;

    if (fd >= 0) {
        report->fd = (int)fd;
        report->owns_fd = true;
        return true;
    }
    if (fd == -EEXIST || fd == -ELOOP || fd == -ENXIO)
        report_format(report, "mplace: %s=%s: not overwritten: a link, a pipe, or another's file\n",
                      plan->setting, plan->value);
    else
        report_format(report, "mplace: %s=%s: cannot open the file for writing (errno %d)\n",
                      plan->setting, plan->value, (int)-fd);
    report_close(report);
    return false;
}

bool exit_report_open(const struct exit_report *plan, struct report *report)
{
    int saved_errno = errno;
    bool opened = exit_report_wanted(plan);

    if (!opened)
        return false;
    report_open(report, stderr_of(plan));
    if (strcmp(plan->value, "1") != 0)
        opened = open_file(plan, report);
    errno = saved_errno;
    return opened;
}

void exit_report_close(const struct exit_report *plan, struct report *report)
{
    bool is_file = report->owns_fd;
    int saved_errno = errno;

    report_close(report);
    int error = report->error;
    if (error != 0 && is_file) {
        report_open(report, stderr_of(plan));
        report_format(report, "mplace: %s=%s: the report could not be written in full (errno %d)\n",
                      plan->setting, plan->value, error);
        report_close(report);
    }
    errno = saved_errno;
}
