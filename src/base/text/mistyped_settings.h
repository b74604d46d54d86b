/*
 * SPDX-License-Identifier: MIT
 *
 * Environment variables that nearly are settings: CIA_HARDENED is none, and whoever set it believes
 * that the program is hardened. Each gets one line on standard error; what is like none of ours
 * passes, for others have variables that begin with RAND_ or TTS_.
 */
#ifndef MPLACE_BASE_TEXT_MISTYPED_SETTINGS_H
#define MPLACE_BASE_TEXT_MISTYPED_SETTINGS_H

#include <stdbool.h>

enum setting_family {
    SETTINGS_CIA = 1 << 0,
    SETTINGS_RAND = 1 << 1,
    SETTINGS_LOCKS = 1 << 2,
    SETTINGS_ALL = 1 << 3, /* MPLACE_: of several libraries */
    SETTINGS_BANK = 1 << 4,
    SETTINGS_TM = 1 << 5,
};

/*
 * For a library's constructor; library is its file name. Looks at the variables of these families.
 * Writes nothing in a process with more rights than its user, nor in one whose parent has the same
 * library: that one said it. A process whose parent has ended, or is just in exec, says it again.
 */
void mistyped_settings_report(const char *library, unsigned families);

/* The same for the libraries that know SETTINGS_ALL, of which one process may have two: the locks
 * leave that family to libcia_malloc.so. */
void mistyped_settings_report_shared(const char *library, unsigned families);

enum { SETTING_NAME_SIZE = 48 };

/* The setting that "VARIABLE=VALUE" was probably meant to be; false when it is one, or like none of
 * these families. */
bool mistyped_setting(const char *variable, unsigned families, char name[SETTING_NAME_SIZE]);

#endif
