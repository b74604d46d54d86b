/*
 * SPDX-License-Identifier: MIT
 *
 * Report text without stdio; see report.h. By system calls of its own: libc's write and close are
 * points where a thread is cancelled, and malloc, malloc_stats and pthread_mutex_lock are none; and
 * another library may stand before libc's functions, allocate there, or take a lock that the caller
 * holds.
 */
#include "base/report.h"

#include "base/system_call.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void report_open(struct report *report, int fd)
{
    report->fd = fd;
    report->owns_fd = false;
    report->error = 0;
    report->length = 0;
}

/* A signal that was pending before stays; one of ours is taken back. */
ssize_t write_quietly(int fd, const void *bytes, size_t count)
{
    /* Sets of signals as the kernel has them. */
    const uint64_t broken_pipe = (uint64_t)1 << (SIGPIPE - 1);
    const uint64_t file_too_long = (uint64_t)1 << (SIGXFSZ - 1);
    const uint64_t quiet = broken_pipe | file_too_long;
    const struct timespec at_once = {0};
    uint64_t before = 0, pending = 0;

    (void)system_call_6(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
    (void)system_call_6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&quiet, (long)&before, sizeof quiet, 0,
                        0);
    long n = system_call(SYS_write, fd, bytes, (long)count);
    if (n == -EPIPE || n == -EFBIG) {
        const uint64_t ours = n == -EPIPE ? broken_pipe : file_too_long;

        if ((pending & ours) == 0)
            (void)system_call_6(SYS_rt_sigtimedwait, (long)&ours, 0, (long)&at_once, sizeof ours, 0,
                                0);
    }
    (void)system_call_6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
    if (n >= 0)
        return n;
    errno = (int)-n;
    return -1;
}

static void flush(struct report *report)
{
    int saved_errno = errno;
    size_t done = 0;

    while (report->fd >= 0 && done < report->length) {
        ssize_t n = write_quietly(report->fd, report->text + done, report->length - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            report->error = errno; /* a full disk or a closed stderr must not disturb the program */
            break;
        }
    }
    report->length = 0;
    errno = saved_errno;
}

void report_json_text(struct report *report, const char *text)
{
    for (; *text != '\0'; text++) {
        bool is_plain = *text >= ' ' && *text < 0x7f;

        report_format(report, *text == '"' || *text == '\\' ? "\\%c" : "%c",
                      is_plain ? *text : '?');
    }
}

void report_close(struct report *report)
{
    flush(report);
    if (report->owns_fd) {
        /* Some file systems tell of an error no sooner. */
        long result = system_call(SYS_close, report->fd, NULL, 0);

        if (result != 0 && report->error == 0)
            report->error = (int)-result;
    }
    report->fd = -1;
    report->owns_fd = false;
}

static void put(struct report *report, char c)
{
    if (report->length == sizeof report->text)
        flush(report);
    report->text[report->length++] = c;
}

static void put_padded(struct report *report, const char *text, size_t length, size_t width,
                       bool left, char pad)
{
    for (size_t i = length; !left && i < width; i++)
        put(report, pad);
    for (size_t i = 0; i < length; i++)
        put(report, text[i]);
    for (size_t i = length; left && i < width; i++)
        put(report, ' ');
}

/* Digits of value in the given base at the end of buffer[64 + 3]; returns where they begin. */
static char *digits(char *end, uint64_t value, unsigned base)
{
    do {
        *--end = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    return end;
}

static uint64_t unsigned_argument(va_list *arguments, int longs)
{
    return longs ? va_arg(*arguments, unsigned long) : va_arg(*arguments, unsigned);
}

static int64_t signed_argument(va_list *arguments, int longs)
{
    return longs ? va_arg(*arguments, long) : va_arg(*arguments, int);
}

/* Formats the one conversion that follows '%'; returns the first character after it. */
static const char *put_conversion(struct report *report, const char *at, va_list *arguments)
{
    char buffer[32];
    char *end = buffer + sizeof buffer;
    char *text = end;
    bool left = false;
    char pad = ' ';
    size_t width = 0;
    int longs = 0;

    for (; *at == '-' || *at == '0'; at++) {
        if (*at == '-')
            left = true;
        else
            pad = '0';
    }
    for (; *at >= '0' && *at <= '9'; at++)
        width = width * 10 + (size_t)(*at - '0');
    for (; *at == 'l' || *at == 'z'; at++)
        longs++; /* long, long long and size_t are one width on x86-64 */

    switch (*at) {
    case 's': {
        const char *string = va_arg(*arguments, const char *);
        if (string == NULL)
            string = "(null)";
        put_padded(report, string, strlen(string), width, left, ' ');
        return at + 1;
    }
    case 'c':
        *--text = (char)va_arg(*arguments, int);
        break;
    case 'd': {
        int64_t value = signed_argument(arguments, longs);
        text = digits(end, value < 0 ? -(uint64_t)value : (uint64_t)value, 10);
        if (value < 0)
            *--text = '-';
        break;
    }
    case 'u':
        text = digits(end, unsigned_argument(arguments, longs), 10);
        break;
    case 'x':
        text = digits(end, unsigned_argument(arguments, longs), 16);
        break;
    case 'p':
        text = digits(end, (uintptr_t)va_arg(*arguments, void *), 16);
        *--text = 'x';
        *--text = '0';
        break;
    case '%':
        *--text = '%';
        break;
    default:
        put(report, '%');
        return at;
    }
    put_padded(report, text, (size_t)(end - text), width, left, pad);
    return at + 1;
}

static void format_arguments(struct report *report, const char *format, va_list *arguments)
{
    while (*format != '\0') {
        if (*format == '%')
            format = put_conversion(report, format + 1, arguments);
        else
            put(report, *format++);
    }
}

void report_format(struct report *report, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    format_arguments(report, format, &arguments);
    va_end(arguments);
}

static void write_line(const char *format, va_list *arguments)
{
    struct report report;

    report_open(&report, STDERR_FILENO);
    format_arguments(&report, format, arguments);
    put(&report, '\n');
    report_close(&report);
}

void report_line(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(format, &arguments);
    va_end(arguments);
}

void report_fatal(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(format, &arguments);
    va_end(arguments);
    abort();
}
