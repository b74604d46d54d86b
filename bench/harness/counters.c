/*
 * SPDX-License-Identifier: MIT
 *
 * Counters; see counters.h. Each event is a file descriptor of its own, not a group: inheritance by
 * threads does not go with group reads, and a group too big for the processor would count nothing.
 */
#include "harness/counters.h"

#include "harness/counter_roles.h"

#include <errno.h>
#include <inttypes.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *why_not(int error)
{
    switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
        return "this machine has no such counter";
    case ENOSYS:
        return "this kernel has no perf_event_open";
    case EACCES:
    case EPERM:
        return "not permitted; see /proc/sys/kernel/perf_event_paranoid";
    default:
        return strerror(error);
    }
}

/* What libpfm4 makes of an event's name on this processor. */
static int encode(const char *event, struct perf_event_attr *attributes)
{
    pfm_perf_encode_arg_t encoding = {.attr = attributes, .size = sizeof encoding};

    return pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_PERF_EVENT, &encoding);
}

/* Adds what was encoded to the chosen events, under this name. */
static void choose_event(struct counters *counters, const char *name,
                         const struct perf_event_attr *attributes)
{
    counters->event[counters->count].attributes = *attributes;
    counters->event[counters->count].file = -1;
    snprintf(counters->event[counters->count].name, sizeof counters->event->name, "%s", name);
    counters->count++;
}

/* Chooses "role@EVENT" with the first event that this processor has; false when it has none. */
static bool choose_role(struct counters *counters, const char *role)
{
    const char *event;

    for (size_t i = 0; (event = counter_role_event(role, i)) != NULL; i++) {
        struct perf_event_attr attributes = {.size = sizeof attributes};
        char name[sizeof counters->event->name];

        if (encode(event, &attributes) != PFM_SUCCESS)
            continue;
        snprintf(name, sizeof name, "%s@%s", role, event);
        choose_event(counters, name, &attributes);
        return true;
    }
    return false;
}

/* All roles; one line for those that this processor has no event for. */
static void choose_all_roles(struct counters *counters)
{
    const char *role;
    char missing[512] = "";
    size_t length = 0;

    for (size_t i = 0; (role = counter_role_name(i)) != NULL; i++)
        if (!choose_role(counters, role) && length < sizeof missing)
            length += (size_t)snprintf(missing + length, sizeof missing - length, "%s%s",
                                       length == 0 ? "" : ", ", role);
    if (length > 0)
        fprintf(stderr, "mplace: not counted, for libpfm4 knows no such event here: %s\n", missing);
}

/* Chooses what one word of the list asks for; false with a complaint when nobody knows it. */
static bool choose_word(struct counters *counters, const char *word, char *complaint,
                        size_t complaint_size)
{
    struct perf_event_attr attributes = {.size = sizeof attributes};

    if (strcmp(word, COUNTER_ROLES_ALL) == 0) {
        choose_all_roles(counters);
        return true;
    }
    if (counter_role_event(word, 0) != NULL) {
        if (!choose_role(counters, word))
            fprintf(stderr, "mplace: not counted, for libpfm4 knows no such event here: %s\n",
                    word);
        return true;
    }
    int result = encode(word, &attributes);
    if (result != PFM_SUCCESS) {
        snprintf(complaint, complaint_size, "--counters %s: %s", word, pfm_strerror(result));
        return false;
    }
    choose_event(counters, word, &attributes);
    return true;
}

/* How many counters a word of the list can take. */
static size_t counters_of(const char *word)
{
    size_t all = 0;

    if (strcmp(word, COUNTER_ROLES_ALL) != 0)
        return 1;
    while (counter_role_name(all) != NULL)
        all++;
    return all;
}

bool counters_choose(struct counters *counters, const char *events, char *complaint,
                     size_t complaint_size)
{
    size_t wanted = 0;

    counters->count = 0;
    if (events == NULL)
        return true;
    int result = pfm_initialize();
    if (result != PFM_SUCCESS) {
        fprintf(stderr, "mplace: nothing is counted: libpfm4: %s\n", pfm_strerror(result));
        return true;
    }
    bool good = true;
    for (const char *at = events; good; at++) {
        char word[sizeof counters->event->name];
        size_t length = strcspn(at, ",");

        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0), at);
        wanted += counters_of(word);
        if (*word == '\0') {
            snprintf(complaint, complaint_size,
                     "--counters %s: event names of 1 to %zu characters, separated by commas, are "
                     "needed",
                     events, sizeof word - 1);
            good = false;
        } else if (wanted > COUNTERS_MOST) {
            snprintf(complaint, complaint_size, "--counters: more than %d events", COUNTERS_MOST);
            good = false;
        } else {
            good = choose_word(counters, word, complaint, complaint_size);
        }
        at += length;
        if (*at == '\0')
            break;
    }
    pfm_terminate();
    if (!good)
        counters->count = 0;
    return good;
}

void counters_open(struct counters *counters)
{
    size_t opened = 0;

    for (size_t i = 0; i < counters->count; i++) {
        struct perf_event_attr *attributes = &counters->event[i].attributes;

        attributes->disabled = 1;
        attributes->inherit = 1;
        attributes->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        long file = syscall(SYS_perf_event_open, attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
        if (file < 0) {
            fprintf(stderr, "mplace: counter %s is not counted: %s\n", counters->event[i].name,
                    why_not(errno));
            continue;
        }
        counters->event[i].file = (int)file;
        counters->event[opened++] = counters->event[i];
    }
    counters->count = opened;
}

void counters_start(struct counters *counters)
{
    for (size_t i = 0; i < counters->count; i++)
        ioctl(counters->event[i].file, PERF_EVENT_IOC_ENABLE, 0);
}

void counters_stop(struct counters *counters)
{
    for (size_t i = 0; i < counters->count; i++)
        ioctl(counters->event[i].file, PERF_EVENT_IOC_DISABLE, 0);
}

void counters_read(struct counters *counters, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < counters->count; i++) {
        struct {
            uint64_t value, enabled, running;
        } reading;

        if (read(counters->event[i].file, &reading, sizeof reading) != (ssize_t)sizeof reading ||
            reading.running == 0) {
            fprintf(stderr, "mplace: counter %s never ran: too many events for this processor?\n",
                    counters->event[i].name);
            continue;
        }
        double share = (double)reading.enabled / (double)reading.running;
        int written = snprintf(text + length, size - length, "%s%s=%.0f", length == 0 ? "" : ";",
                               counters->event[i].name, (double)reading.value * share);
        if (written < 0 || (size_t)written >= size - length) {
            text[length] = '\0'; /* whole pairs only */
            return;
        }
        length += (size_t)written;
    }
}

void counters_close(struct counters *counters)
{
    for (size_t i = 0; i < counters->count; i++)
        close(counters->event[i].file);
    counters->count = 0;
}
