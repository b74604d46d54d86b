/*
 * SPDX-License-Identifier: MIT
 *
 * Environment variables to typed values; see settings.h.
 */
#include "base/settings.h"

#include "base/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Of the loader: where the kernel put the number of arguments, then these, then the variables. */
extern void *__libc_stack_end;

/*
 * Before libc has begun, environ is not set, but an allocator may be asked already: the loader
 * allocates where there is an audit library. Later, no environ means that the program has called
 * clearenv; by then libc has set program_invocation_name, which is empty before. Up to glibc 2.35 a
 * loader that was called as a program lets these words be overwritten, once it runs what it loaded:
 * nothing is found then.
 */
static const char *early_variable(const char *name)
{
    const uintptr_t begin = (uintptr_t)__libc_stack_end, end = getauxval(AT_EXECFN);
    const uintptr_t count = *(const uintptr_t *)__libc_stack_end;
    const size_t length = strlen(name);
    char **at = (char **)__libc_stack_end + 1;

    if (*program_invocation_name != '\0' || getauxval(AT_SECURE) != 0 ||
        count >= (end - begin) / sizeof *at || at[count] != NULL)
        return NULL;
    for (at += count + 1; (uintptr_t)*at > begin && (uintptr_t)*at < end; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    }
    return NULL;
}

const char *setting_text(const char *name)
{
    /* secure_getenv reads the process's own list: no lock, no allocation. */
    const char *value = environ != NULL ? secure_getenv(name) : early_variable(name);

    return value != NULL && *value != '\0' ? value : NULL;
}

void setting_complain(const char *name, const char *value, const char *allowed)
{
    report_line("mplace: %s=%s is not allowed (%s); using the default", name, value, allowed);
}

static bool parse_number(const char *text, uint64_t *number)
{
    uint64_t value = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    *number = value;
    return true;
}

uint64_t setting_number(const char *name, uint64_t least, uint64_t greatest, uint64_t fallback)
{
    const char *text = setting_text(name);
    uint64_t value;

    if (text == NULL)
        return fallback;
    if (parse_number(text, &value) && value >= least && value <= greatest)
        return value;
    report_line("mplace: %s=%s is not allowed (a whole number from %lu to %lu); using %lu", name,
                text, least, greatest, fallback);
    return fallback;
}

int64_t setting_signed(const char *name, int64_t least, int64_t greatest, int64_t fallback)
{
    const char *text = setting_text(name);
    bool negative = text != NULL && text[0] == '-';
    uint64_t size;

    if (text == NULL)
        return fallback;
    if (parse_number(text + negative, &size) && size <= INT64_MAX) {
        int64_t value = negative ? -(int64_t)size : (int64_t)size;

        if (value >= least && value <= greatest)
            return value;
    }
    report_line("mplace: %s=%s is not allowed (a whole number from %ld to %ld); using %ld", name,
                text, least, greatest, fallback);
    return fallback;
}

size_t setting_choice(const char *name, const char *const *choices, size_t count, size_t fallback)
{
    const char *text = setting_text(name);
    struct report line;

    if (text == NULL)
        return fallback;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, choices[i]) == 0)
            return i;
    }
    report_open(&line, 2);
    report_format(&line, "mplace: %s=%s is not allowed (", name, text);
    for (size_t i = 0; i < count; i++)
        report_format(&line, "%s%s", i == 0 ? "" : "|", choices[i]);
    report_format(&line, "); using %s\n", choices[fallback]);
    report_close(&line);
    return fallback;
}

int setting_switch(const char *name, int fallback)
{
    static const char *const choices[] = {"0", "1"};

    return (int)setting_choice(name, choices, 2, (size_t)fallback);
}
