/*
 * SPDX-License-Identifier: MIT
 *
 * The terminal, while a screen is shown: keys one by one, its size, and everything as it was on
 * every way out (but SIGKILL): exit, signals that end the process, and while it is stopped.
 */
#ifndef MPLACE_STATS_READER_TERMINAL_H
#define MPLACE_STATS_READER_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* False: standard input and output are not both a terminal that can show a screen. */
bool terminal_open(void);

/* Back to what it was; nothing where it was not opened. */
void terminal_close(void);

/* 80 x 24 where the terminal does not know. */
void terminal_size(int *rows, int *columns);

enum {
    TERMINAL_NOTHING = -1, /* the time is over */
    TERMINAL_REDRAW = -2,  /* it has another size, or was somebody else's meanwhile */
    TERMINAL_GONE = -3,    /* nobody is there any more */
    TERMINAL_OTHER = -4,   /* a key that is no character */
};

/* The next key, for so long. */
int terminal_key(double seconds);

/* False: errno tells why not all of it was written. */
bool terminal_write(const char *text, size_t length);

#endif
