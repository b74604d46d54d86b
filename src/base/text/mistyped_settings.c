/*
 * SPDX-License-Identifier: MIT
 *
 * Looks for variables that nearly are settings; see mistyped_settings.h.
 */
#include "base/text/mistyped_settings.h"

#include "base/code/process_maps.h"
#include "base/report.h"
#include "base/text/edit_distance.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

extern char **environ;

/* All settings; a test compares them with docs/settings.md. */
static const struct known {
    unsigned family;
    const char *prefix;
    const char *names;
} settings[] = {
    {SETTINGS_BANK, "BANK_", "COLOURS FOLLOW MAP MODE NEAR PHYSICAL POOL STATS"},
    {SETTINGS_CIA, "CIA_",
     "DECAY_MS HARDEN HUGE_PAGES LINES PROFILE PROFILE_INTERVAL PROFILE_SEED PROFILE_SIGNAL RSEQ "
     "STATS TINY"},
    {SETTINGS_RAND, "RAND_", "MAX_EXTRA PROBABILITY SEED STATS"},
    {SETTINGS_LOCKS, "TTS_", "STATS WAIT"},
    {SETTINGS_LOCKS, "TTSTLE_", "DEFER HTM POLICY SKIP STATS"},
    {SETTINGS_TM, "TM_", "ALGORITHM ALONE CONTENTION SERIAL_LOCK STATS"},
    {SETTINGS_ALL, "MPLACE_", "BUILD HTM L1D L2 LOCK_STATS_TOP NUMA STATS_LIVE"},
};
enum { PREFIXES = sizeof settings / sizeof *settings, BEGINNING_LEAST = 5 };

enum { SAME = 0, FAR = 99 };

/*
 * How far a name is from a known one: an edit, or two in names of five letters and more that begin
 * alike; and CIA_DECAY or CIA_HARDENING, which begin as a setting does that has five letters or
 * more.
 */
static size_t distance(const char *name, size_t length, const char *known, size_t known_length)
{
    size_t shorter = edit_least(length, known_length);

    if (length > EDIT_LENGTH_MOST)
        return FAR;
    size_t edits = edit_distance(name, length, known, known_length);
    if (edits <= 1 ||
        (edits == 2 && shorter >= BEGINNING_LEAST - 1 && length > 4 && *name == *known))
        return edits;
    return shorter >= BEGINNING_LEAST && memcmp(name, known, shorter) == 0 ? edits : FAR;
}

static void write_name(char *name, const char *prefix, const char *known, size_t length)
{
    size_t prefix_length = strlen(prefix);

    memcpy(name, prefix, prefix_length);
    memcpy(name + prefix_length, known, length);
    name[prefix_length + length] = '\0';
}

bool mistyped_setting(const char *variable, unsigned families, char name[SETTING_NAME_SIZE])
{
    const struct known *own = NULL;
    size_t nearest = FAR;

    for (size_t i = 0; i < PREFIXES && own == NULL; i++) {
        if ((settings[i].family & families) != 0 &&
            strncmp(variable, settings[i].prefix, strlen(settings[i].prefix)) == 0)
            own = &settings[i];
    }
    if (own == NULL)
        return false;
    const char *rest = variable + strlen(own->prefix);
    size_t length = strcspn(rest, "=");
    for (size_t i = 0; i < PREFIXES; i++) {
        if (settings[i].family != own->family)
            continue;
        for (const char *known = settings[i].names; *known != '\0'; known += *known == ' ') {
            size_t known_length = strcspn(known, " ");
            size_t far = distance(rest, length, known, known_length);

            /* TTSTLE_WAIT: of the other lock library, a name must be whole. */
            if (&settings[i] != own)
                far = far == SAME ? 1 : FAR;
            else if (far == SAME)
                return false;
            if (far < nearest) {
                nearest = far;
                write_name(name, settings[i].prefix, known, known_length);
            }
            known += known_length;
        }
    }
    return nearest < FAR;
}

void mistyped_settings_report(const char *library, unsigned families)
{
    int saved_errno = errno;
    bool asked = false;

    if (environ == NULL || getauxval(AT_SECURE) != 0)
        return;
    for (char **variable = environ; *variable != NULL; variable++) {
        char name[SETTING_NAME_SIZE];

        if (!mistyped_setting(*variable, families, name))
            continue;
        const char *value = strchr(*variable, '=');
        /* An empty value is as if unset. */
        if (value == NULL || value[1] == '\0')
            continue;
        if (!asked && process_maps_of_parent_have(library))
            break;
        asked = true;
        report_line("mplace: %s has no effect: it is no setting; did you mean %s?", *variable,
                    name);
    }
    errno = saved_errno;
}

__attribute__((weak)) const char *mplace_malloc_name(void);

void mistyped_settings_report_shared(const char *library, unsigned families)
{
    if (mplace_malloc_name == NULL || strcmp(mplace_malloc_name(), "cia") != 0)
        families |= SETTINGS_ALL;
    mistyped_settings_report(library, families);
}
