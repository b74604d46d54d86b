/*
 * SPDX-License-Identifier: MIT
 *
 * See refuse.h.
 */
#include "stats_reader/refuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void refuse(const char *format, ...)
{
    va_list arguments;

    (void)fputs("mplace stats: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    exit(2);
}
