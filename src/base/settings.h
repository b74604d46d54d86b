/*
 * SPDX-License-Identifier: MIT
 *
 * Settings: an environment variable becomes a typed value. A value that is not allowed gets one
 * line on standard error that names the variable, the value and what is allowed, and the default is
 * used. Nothing is read in a set-user-ID or set-group-ID process: all defaults hold there.
 *
 * Each library reads its settings in one place, its own table; see docs/settings.md for all of
 * them.
 */
#ifndef MPLACE_BASE_SETTINGS_H
#define MPLACE_BASE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

/* The text of a setting, or NULL when it is unset, empty, or the process runs with more rights. */
const char *setting_text(const char *name);

/* A whole number, decimal, from least to greatest inclusive. */
uint64_t setting_number(const char *name, uint64_t least, uint64_t greatest, uint64_t fallback);

/* The same with negative numbers. */
int64_t setting_signed(const char *name, int64_t least, int64_t greatest, int64_t fallback);

/* One of the words in choices[0 .. count - 1]; returns its index. */
size_t setting_choice(const char *name, const char *const *choices, size_t count, size_t fallback);

/* "0" or "1". */
int setting_switch(const char *name, int fallback);

/* The complaint itself, for settings with a syntax of their own. */
void setting_complain(const char *name, const char *value, const char *allowed);

#endif
