/*
 * SPDX-License-Identifier: MIT
 *
 * See error.h.
 */
#include "persist/error.h"

#include "mplace_persist.h"

#include <stdarg.h>
#include <stdio.h>

static __thread char text[256];

int error_say(int error, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return error;
}

__attribute__((visibility("default"))) const char *persist_error(void)
{
    return text;
}
