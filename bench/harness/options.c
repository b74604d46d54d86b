/*
 * SPDX-License-Identifier: MIT
 *
 * Command lines; see options.h. Allocates nothing.
 */
#include "harness/options.h"

#include <inttypes.h>
#include <string.h>

bool options_number(const char *text, uint64_t least, uint64_t greatest, uint64_t *number)
{
    uint64_t value = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    if (value < least || value > greatest)
        return false;
    *number = value;
    return true;
}

static const struct option *find(const struct option *options, size_t count, const char *name,
                                 size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(options[i].name) == length && memcmp(options[i].name, name, length) == 0)
            return &options[i];
    }
    return NULL;
}

/* Stores one value; false with the complaint written when it is not allowed. */
static bool take_value(const struct option *option, const char *value, char *complaint, size_t size)
{
    switch (option->kind) {
    case OPTION_NUMBER:
        if (options_number(value, option->least, option->greatest, option->target))
            return true;
        snprintf(complaint, size,
                 "--%s %s is not allowed: a whole number from %" PRIu64 " to %" PRIu64 " is needed",
                 option->name, *value == '\0' ? "''" : value, option->least, option->greatest);
        return false;
    case OPTION_TEXT:
        if (*value == '\0') {
            snprintf(complaint, size, "--%s must not be empty", option->name);
            return false;
        }
        *(const char **)option->target = value;
        return true;
    case OPTION_FLAG:
        break; /* flags never come here */
    }
    return false;
}

enum options_verdict options_parse(const struct option *options, size_t count, int argc,
                                   char **argv, char *complaint, size_t complaint_size)
{
    bool seen[64] = {false};

    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];

        if (strcmp(argument, "--help") == 0)
            return OPTIONS_HELP;
        if (strncmp(argument, "--", 2) != 0 || argument[2] == '\0') {
            snprintf(complaint, complaint_size, "unexpected argument '%s' (see --help)", argument);
            return OPTIONS_BAD;
        }
        const char *name = argument + 2;
        const char *equals = strchr(name, '=');
        const struct option *option =
            find(options, count, name, equals != NULL ? (size_t)(equals - name) : strlen(name));
        if (option == NULL) {
            snprintf(complaint, complaint_size, "unknown option '%s' (see --help)", argument);
            return OPTIONS_BAD;
        }
        if (option->kind == OPTION_FLAG) {
            if (equals != NULL) {
                snprintf(complaint, complaint_size, "--%s takes no value", option->name);
                return OPTIONS_BAD;
            }
            *(bool *)option->target = true;
        } else {
            const char *value = equals != NULL ? equals + 1 : argv[i + 1]; /* argv ends with NULL */

            /* "--size --csv" is a forgotten value, not a size of that name. */
            if (value == NULL || (equals == NULL && strncmp(value, "--", 2) == 0)) {
                snprintf(complaint, complaint_size, "--%s needs a value: %s", option->name,
                         option->value_name);
                return OPTIONS_BAD;
            }
            i += equals == NULL;
            if (!take_value(option, value, complaint, complaint_size))
                return OPTIONS_BAD;
        }
        if (option->given != NULL)
            *option->given = true;
        if ((size_t)(option - options) < sizeof seen)
            seen[option - options] = true;
    }
    for (size_t i = 0; i < count; i++) {
        if (options[i].required && i < sizeof seen && !seen[i]) {
            snprintf(complaint, complaint_size, "--%s %s is missing", options[i].name,
                     options[i].value_name);
            return OPTIONS_BAD;
        }
    }
    return OPTIONS_RUN;
}

void options_help(FILE *stream, const char *program, const char *summary,
                  const struct option *options, size_t count)
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
}
