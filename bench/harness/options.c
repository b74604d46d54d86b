/*
 * SPDX-License-Identifier: MIT
 *
 * Command lines; see options.h. Allocates nothing.
 */
#include "harness/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Reads the digits at the start; NULL when there are none, or too many, else what follows them. */
static const char *read_digits(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return NULL;
    }
    *number = value;
    return at == text ? NULL : at;
}

bool options_number(const char *text, uint64_t least, uint64_t greatest, uint64_t *number)
{
    uint64_t value;
    const char *end = read_digits(text, &value);

    if (end == NULL || *end != '\0' || value < least || value > greatest)
        return false;
    *number = value;
    return true;
}

bool options_size(const char *text, uint64_t least, uint64_t greatest, uint64_t *size)
{
    static const char units[] = "kKmMgG";
    uint64_t value;
    const char *end = read_digits(text, &value);

    if (end == NULL)
        return false;
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL && __builtin_mul_overflow(value, 1024ull << (unit - units) / 2 * 10, &value))
        return false;
    if (end[unit != NULL] != '\0' || value < least || value > greatest)
        return false;
    *size = value;
    return true;
}

/* Stores one value; false with the complaint written when it is not allowed. */
static bool take_value(const struct command_option *option, const char *value, char *complaint,
                       size_t size)
{
    const char *shown = *value == '\0' ? "''" : value;

    switch (option->kind) {
    case OPTION_NUMBER:
        if (options_number(value, option->least, option->greatest, option->target))
            return true;
        snprintf(complaint, size,
                 "--%s %s is not allowed: a whole number from %" PRIu64 " to %" PRIu64 " is needed",
                 option->name, shown, option->least, option->greatest);
        return false;
    case OPTION_SIZE:
        if (options_size(value, option->least, option->greatest, option->target))
            return true;
        snprintf(complaint, size,
                 "--%s %s is not allowed: a size from %" PRIu64 " to %" PRIu64
                 " bytes is needed, for instance 500 or 64K",
                 option->name, shown, option->least, option->greatest);
        return false;
    case OPTION_TEXT:
        if (*value == '\0') {
            snprintf(complaint, size, "--%s must not be empty", option->name);
            return false;
        }
        *(const char **)option->target = value;
        return true;
    case OPTION_FLAG:
        *(bool *)option->target = true;
        return true;
    }
    return false;
}

/* What getopt_long answers: the position in the table from here on, so that no character is one. */
enum { FIRST = 256, HELP = FIRST + OPTIONS_MOST, VERSION };

/* The table as getopt_long wants it. */
static void describe(const struct command_option *options, size_t count, struct option *known)
{
    for (size_t i = 0; i < count; i++)
        known[i] = (struct option){
            .name = options[i].name,
            .has_arg = options[i].kind == OPTION_FLAG ? no_argument : required_argument,
            .val = FIRST + (int)i,
        };
    known[count] = (struct option){.name = "help", .val = HELP};
    known[count + 1] = (struct option){.name = "version", .val = VERSION};
    known[count + 2] = (struct option){.name = NULL};
}

/* Whether the argument spells the name out: getopt_long takes any part that no other name begins
 * with. */
static bool is_whole(const char *argument, const char *name)
{
    return strcspn(argument + 2, "=") == strlen(name);
}

enum options_verdict options_parse(const struct command_option *options, size_t count, int argc,
                                   char **argv, char *complaint, size_t complaint_size)
{
    struct option known[OPTIONS_MOST + 3];
    bool seen[OPTIONS_MOST] = {false};

    assert(count <= OPTIONS_MOST);
    describe(options, count, known);
    opterr = 0;
    optind = 0; /* glibc: begin anew, for the tests parse more than one command line */
    for (;;) {
        const char *argument = argv[optind == 0 ? 1 : optind];
        int index = -1;
        int answer = getopt_long(argc, argv, "+:", known, &index);

        if (answer == -1 && argument == NULL)
            break;
        if (index >= 0 && !is_whole(argument, known[index].name))
            answer = '?', optopt = 0;
        if (answer == HELP)
            return OPTIONS_HELP;
        if (answer == VERSION)
            return OPTIONS_VERSION;
        if (answer == '?' && optopt >= FIRST) {
            const char *name = optopt >= HELP ? argument + 2 : options[optopt - FIRST].name;

            snprintf(complaint, complaint_size, "--%.*s takes no value", (int)strcspn(name, "="),
                     name);
            return OPTIONS_BAD;
        }
        if (answer != ':' && answer < FIRST) {
            snprintf(complaint, complaint_size, "%s '%s' (see --help)",
                     strncmp(argument, "--", 2) == 0 && argument[2] != '\0' ? "unknown option"
                                                                            : "unexpected argument",
                     argument);
            return OPTIONS_BAD;
        }
        const struct command_option *option = &options[(answer == ':' ? optopt : answer) - FIRST];
        /* "--size --csv" is a forgotten value, not a size of that name. */
        if (answer == ':' || (option->kind != OPTION_FLAG && optarg == argv[optind - 1] &&
                              strncmp(optarg, "--", 2) == 0)) {
            snprintf(complaint, complaint_size, "--%s needs a value: %s", option->name,
                     option->value_name);
            return OPTIONS_BAD;
        }
        if (!take_value(option, optarg != NULL ? optarg : "", complaint, complaint_size))
            return OPTIONS_BAD;
        if (option->given != NULL)
            *option->given = true;
        seen[option - options] = true;
    }
    for (size_t i = 0; i < count; i++) {
        if (options[i].required && !seen[i]) {
            snprintf(complaint, complaint_size, "--%s %s is missing", options[i].name,
                     options[i].value_name);
            return OPTIONS_BAD;
        }
    }
    return OPTIONS_RUN;
}

void options_version(FILE *stream, const char *program)
{
    fprintf(stream, "%s (mplace) %s\n", program, MPLACE_VERSION);
}

void options_help(FILE *stream, const char *program, const char *summary,
                  const struct command_option *options, size_t count)
{
    fprintf(stream, "usage: %s", program);
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, options[i].required ? " --%s" : " [--%s", options[i].name);
        if (options[i].value_name != NULL)
            fprintf(stream, " %s", options[i].value_name);
        fprintf(stream, options[i].required ? "" : "]");
    }
    fprintf(stream, "\n\n%s\n\n", summary);
    for (size_t i = 0; i < count; i++) {
        char head[64];

        snprintf(head, sizeof head, "--%s %s", options[i].name,
                 options[i].value_name != NULL ? options[i].value_name : "");
        fprintf(stream, "  %-26s %s\n", head, options[i].help);
    }
    fprintf(stream, "  %-26s %s\n", "--help", "this text");
    fprintf(stream, "  %-26s %s\n", "--version", "which version this is");
}

bool options_read(const char *program, const char *summary, const struct command_option *options,
                  size_t count, int argc, char **argv, int *status)
{
    char complaint[256];

    *status = EXIT_SUCCESS;
    switch (options_parse(options, count, argc, argv, complaint, sizeof complaint)) {
    case OPTIONS_RUN:
        return true;
    case OPTIONS_HELP:
        options_help(stdout, program, summary, options, count);
        break;
    case OPTIONS_VERSION:
        options_version(stdout, program);
        break;
    case OPTIONS_BAD:
        fprintf(stderr, "%s: %s\n", program, complaint);
        *status = OPTIONS_EXIT_BAD;
        return false;
    }
    *status = options_end(program, EXIT_SUCCESS);
    return false;
}

int options_end(const char *program, int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "%s: cannot write the result: %s\n", program, strerror(errno));
    return OPTIONS_EXIT_BAD;
}
