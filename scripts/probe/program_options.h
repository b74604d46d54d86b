/*
 * SPDX-License-Identifier: MIT
 *
 * Options of the programs that the scripts call.
 */
#ifndef MPLACE_PROGRAM_OPTIONS_H
#define MPLACE_PROGRAM_OPTIONS_H

#include <getopt.h>

enum { PROGRAM_FLAGS_MOST = 4 };

/*
 * Reads --help, --version and the flags, which end with a row of zeroes; each stores its value in
 * its target. Returns the index of the first argument that is no option. Ends the program after
 * --help and --version, and with status 2 after one line on what it does not know.
 */
int program_options(int count, char **arguments, const struct option *flags, const char *usage);

#endif
