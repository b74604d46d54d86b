/*
 * SPDX-License-Identifier: MIT
 *
 * Counters; see counters.h. Each event is a file descriptor of its own, not a group: inheritance by
 * threads does not go with group reads, and a group too big for the processor would count nothing.
 */
#include "harness/counters.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
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

/* Opens one event, named by counters->event[counters->count].name; false when unknown. */
static bool open_event(struct counters *counters, char *complaint, size_t complaint_size)
{
    const char *name = counters->event[counters->count].name;
    struct perf_event_attr attributes = {.size = sizeof attributes};
    pfm_perf_encode_arg_t encoding = {.attr = &attributes, .size = sizeof encoding};
    int result = pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT, &encoding);

    if (result != PFM_SUCCESS) {
        snprintf(complaint, complaint_size, "--counters %s: %s", name, pfm_strerror(result));
        return false;
    }
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    long file = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0) {
        fprintf(stderr, "mplace: counter %s is not counted: %s\n", name, why_not(errno));
        return true;
    }
    counters->event[counters->count++].file = (int)file;
    return true;
}

bool counters_open(struct counters *counters, const char *events, char *complaint,
                   size_t complaint_size)
{
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
        size_t length = strcspn(at, ",");

        if (length == 0 || length >= sizeof counters->event[0].name) {
            snprintf(complaint, complaint_size,
                     "--counters %s: event names of 1 to %zu characters, separated by commas, are "
                     "needed",
                     events, sizeof counters->event[0].name - 1);
            good = false;
        } else if (counters->count == COUNTERS_MOST) {
            snprintf(complaint, complaint_size, "--counters: more than %d events", COUNTERS_MOST);
            good = false;
        } else {
            char *name = counters->event[counters->count].name;

            memcpy(name, at, length);
            name[length] = '\0';
            good = open_event(counters, complaint, complaint_size);
        }
        at += length;
        if (*at == '\0')
            break;
    }
    pfm_terminate();
    if (!good)
        counters_close(counters);
    return good;
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
