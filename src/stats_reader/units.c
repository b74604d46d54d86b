/*
 * SPDX-License-Identifier: MIT
 *
 * See units.h.
 */
#include "stats_reader/units.h"

#include <math.h>
#include <stdio.h>

/* value below 1000, or 1024: three digits; what rounds to a whole number of four has none more. */
static struct units three_digits(const char *sign, double value, const char *unit)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    struct units units;

    (void)snprintf(units.text, sizeof units.text, "%s%.*f%s%s", sign, decimals, value,
                   *unit != '\0' ? " " : "", unit);
    return units;
}

/* Divides by the step until fewer than that many are left; how often, at most so. */
static unsigned scale(double *value, double step, unsigned most)
{
    unsigned times = 0;

    for (; *value >= step - 0.5 && times < most; times++)
        *value /= step;
    return times;
}

static struct units bytes_with_sign(const char *sign, double bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = scale(&bytes, 1024, sizeof names / sizeof names[0] - 1);
    struct units units;

    if (unit > 0)
        return three_digits(sign, bytes, names[unit]);
    (void)snprintf(units.text, sizeof units.text, "%s%.0f B", bytes < 0.5 ? "" : sign, bytes);
    return units;
}

struct units units_bytes(double bytes)
{
    return bytes_with_sign(bytes < 0 ? "-" : "", fabs(bytes));
}

struct units units_change(double bytes)
{
    return bytes_with_sign(bytes < 0 ? "-" : "+", fabs(bytes));
}

struct units units_count(double count)
{
    static const char *const names[] = {"", "k", "M", "G", "T", "P", "E"};
    unsigned unit = scale(&count, 1000, sizeof names / sizeof names[0] - 1);
    struct units units;

    if (unit > 0)
        return three_digits("", count, names[unit]);
    (void)snprintf(units.text, sizeof units.text, "%.*f",
                   count >= 9.95 || count == floor(count) ? 0 : 1, count);
    return units;
}

struct units units_time(double seconds)
{
    if (seconds <= 0)
        return (struct units){"0 s"};
    if (seconds < 0.9995e-3)
        return three_digits("", seconds * 1e6, "us");
    if (seconds < 0.9995)
        return three_digits("", seconds * 1e3, "ms");
    return three_digits("", seconds, "s");
}
