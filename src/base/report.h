/*
 * SPDX-License-Identifier: MIT
 *
 * Text for people, from inside malloc or a mutex: formatted into a fixed buffer, sent by write(2).
 * No stdio, no allocation, no lock; errno is preserved. A report is a local variable of one thread.
 */
#ifndef MPLACE_BASE_REPORT_H
#define MPLACE_BASE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct report {
    int fd;        /* -1: the text is dropped */
    bool owns_fd;  /* report_close closes it */
    int error;     /* 0: all that was flushed is written */
    size_t length; /* bytes waiting in text */
    char text[1024];
};

/* Starts a report to an open file descriptor. Nothing is written before the buffer fills or closes.
 */
void report_open(struct report *report, int fd);

/*
 * Formats %s %c %d %u %x %p %% and the l/ll/z forms of d, u, x, each with an optional '-' and width
 * ('0' pads numbers with zeroes). Anything else is copied as it stands.
 */
void report_format(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A text as the inside of a JSON string: what would need more than a backslash in front of it
 * becomes '?'. */
void report_json_text(struct report *report, const char *text);

/* Writes what is buffered and closes a file that it owns. */
void report_close(struct report *report);

/* write(2) without the signals that end a process by default: SIGPIPE where nobody reads, SIGXFSZ
 * above the file size limit. */
ssize_t write_quietly(int fd, const void *bytes, size_t count);

/* One complete line on standard error in a single write, so that lines of threads do not mix. */
void report_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and the end of the process by abort. */
_Noreturn void report_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

#endif
