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

/* Writes the file anew, with all that is known by now. becomes: the file that the program is about
   to execute in its own place, or NULL. */
void report_write(const HChar *becomes);

#endif
