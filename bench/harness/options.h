/*
 * SPDX-License-Identifier: MIT
 *
 * Command lines of the benchmarks: one table a benchmark, a row an option, read by getopt_long.
 * Whatever is wrong becomes one line that names the option and what is allowed; nothing is guessed
 * or clamped, and no option may be abbreviated. Every benchmark knows --help and --version besides.
 */
#ifndef BENCH_HARNESS_OPTIONS_H
#define BENCH_HARNESS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_NUMBER, /* target is a uint64_t: decimal digits, least to greatest inclusive */
    OPTION_SIZE,   /* the same in bytes; K, M or G behind the digits for 1024 and its powers */
    OPTION_TEXT,   /* target is a const char *: any text but the empty one */
    OPTION_FLAG,   /* target is a bool: takes no value */
};

struct command_option {
    const char *name; /* without the two dashes */
    enum option_kind kind;
    const char *value_name; /* as the help shows it; NULL for a flag */
    const char *help;
    uint64_t least, greatest; /* of a number or size */
    void *target;             /* holds the default before, the choice after */
    bool *given;              /* set when the option was there; may be NULL */
    bool required;
};

enum options_verdict { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_BAD };
enum { OPTIONS_MOST = 40 }; /* in one table */
enum { OPTIONS_EXIT_BAD = 2 };

/*
 * Reads argv[1 .. argc - 1] as "--name value" or "--name=value"; of an option given twice the last
 * one counts. OPTIONS_BAD: the complaint, without program name and line end, is in complaint.
 */
enum options_verdict options_parse(const struct command_option *options, size_t count, int argc,
                                   char **argv, char *complaint, size_t complaint_size);

/*
 * The same for main: prints the help, the version, or the complaint behind the program's name.
 * True: the benchmark is to run. False: status is what main returns, 0 or OPTIONS_EXIT_BAD.
 */
bool options_read(const char *program, const char *summary, const struct command_option *options,
                  size_t count, int argc, char **argv, int *status);

/* What main returns at the end: the status, unless standard output cannot be written. */
int options_end(const char *program, int status);

/* A usage line, the summary and a line an option. */
void options_help(FILE *stream, const char *program, const char *summary,
                  const struct command_option *options, size_t count);

/* The line of --version. */
void options_version(FILE *stream, const char *program);

/* A whole decimal number from least to greatest: digits and nothing else. */
bool options_number(const char *text, uint64_t least, uint64_t greatest, uint64_t *number);

/* A size in bytes: the same, and one of K, M, G behind it in either case. */
bool options_size(const char *text, uint64_t least, uint64_t greatest, uint64_t *size);

#endif
