/*
 * SPDX-License-Identifier: MIT
 *
 * Both ends of watching; see watch.h.
 */
#include "watch.h"

#include "content.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct message {
    uint64_t own_bytes;
    char moment[MOMENT_LENGTH];
};

/* ---- in the process under study ---- */

static int watcher = -1;
static uint64_t own_bytes;

void watch_by(int socket)
{
    watcher = socket;
}

void watch_own_bytes(uint64_t bytes)
{
    own_bytes = bytes;
}

void watch_moment(const char *format, ...)
{
    struct message message = {.own_bytes = own_bytes};
    va_list arguments;
    char taken;

    if (watcher < 0)
        return;
    va_start(arguments, format);
    vsnprintf(message.moment, sizeof message.moment, format, arguments);
    va_end(arguments);
    if (send(watcher, &message, sizeof message, MSG_NOSIGNAL) != sizeof message ||
        recv(watcher, &taken, 1, 0) != 1)
        content_give_up("whoever watches this process has gone");
}

/* ---- in the watcher ---- */

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The lines of /proc/PID/maps; 0 for a process that has ended. */
static uint64_t mappings_of(pid_t process)
{
    static char text[1 << 16];
    char path[64];
    uint64_t lines = 0;
    ssize_t length;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    while ((length = read(file, text, sizeof text)) > 0) {
        const char *end = text + length;

        for (const char *at = text; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
            lines++;
    }
    close(file);
    return lines;
}

/* False for a process that has ended. */
static bool read_sample(pid_t process, struct watch_sample *sample)
{
    char path[64], text[256];
    unsigned long virtual, resident;
    uint64_t page_kib = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;

    snprintf(path, sizeof path, "/proc/%d/statm", (int)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    if (sscanf(text, "%lu %lu", &virtual, &resident) != 2 || virtual == 0)
        return false;
    sample->virtual_kib = virtual * page_kib;
    sample->resident_kib = resident * page_kib;
    sample->mappings = mappings_of(process);
    return sample->mappings > 0;
}

static uint64_t without(uint64_t kib, uint64_t own)
{
    return kib > own / 1024 ? kib - own / 1024 : 0;
}

static void raise_to(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

int watch_process(pid_t process, int socket, void (*take)(const struct watch_sample *sample))
{
    double start = now(), next = start + 1;
    struct watch_sample peak = {.moment = "peak"};
    struct message message = {0};
    struct rusage usage;
    int status;

    for (;;) {
        struct pollfd heard = {.fd = socket, .events = POLLIN};
        double left = next - now();
        struct watch_sample sample = {.moment = ""};
        int ready = poll(&heard, 1, left > 0 ? (int)(left * 1000) + 1 : 0);

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready > 0) {
            if (recv(socket, &message, sizeof message, 0) != sizeof message)
                break;
            message.moment[MOMENT_LENGTH - 1] = '\0';
            memcpy(sample.moment, message.moment, sizeof sample.moment);
        } else {
            next += 1;
        }
        bool alive = read_sample(process, &sample);
        if (ready > 0 && send(socket, "", 1, MSG_NOSIGNAL) != 1)
            break;
        if (!alive)
            continue; /* its end of the socket is about to close */
        sample.second = now() - start;
        sample.resident_kib = without(sample.resident_kib, message.own_bytes);
        raise_to(&peak.virtual_kib, sample.virtual_kib);
        raise_to(&peak.mappings, sample.mappings);
        take(&sample);
    }
    while (wait4(process, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        peak.second = now() - start;
        peak.resident_kib = without((uint64_t)usage.ru_maxrss, message.own_bytes);
        take(&peak);
    }
    return status;
}
