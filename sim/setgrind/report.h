/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What was found, as lines of fields that a tab parts: for `mplace doctor`, which makes a page of
 * it.
 */
#ifndef SETGRIND_REPORT_H
#define SETGRIND_REPORT_H

#include "setgrind.h"

/* Ends the process with a message if the file cannot be written. */
void report_init(void);

/* The program begins: the file is no longer empty, for who waits for that. */
void report_begin(void);

/* Writes the file anew, with all that is known by now. */
void report_write(void);

/* The same, and that the program is about to execute the file in its own place. Where a file's name
   has the process id, so that the next program's is looked at, too, that would write over it: there
   the report goes to the first of FILE.1, FILE.2, ... that is not there. */
void report_write_before_exec(const HChar *becomes);

/* The program goes on: that report is taken back. */
void report_exec_failed(void);

#endif
