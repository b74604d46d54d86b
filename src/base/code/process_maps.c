/*
 * SPDX-License-Identifier: MIT
 *
 * See process_maps.h.
 */
#include "base/code/process_maps.h"

#include "base/system_call.h"
#include "base/text/decimal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

bool process_maps_open(struct process_maps *maps, const char *file)
{
    maps->length = maps->at = 0;
    maps->fd = (int)system_call_6(SYS_openat, AT_FDCWD, (long)file, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    return maps->fd >= 0;
}

void process_maps_close(struct process_maps *maps)
{
    (void)system_call(SYS_close, maps->fd, NULL, 0);
}

/* The next character, or -1 at the end. */
static int next_character(struct process_maps *maps)
{
    if (maps->at == maps->length) {
        long n;

        do
            n = system_call(SYS_read, maps->fd, maps->buffer, sizeof maps->buffer);
        while (n == -EINTR);
        if (n <= 0)
            return -1;
        maps->length = (size_t)n;
        maps->at = 0;
    }
    return (unsigned char)maps->buffer[maps->at++];
}

/* Digits of the base up to the character after them, which is consumed and returned in *stop. */
static uint64_t read_number(struct process_maps *maps, unsigned base, int *stop)
{
    uint64_t value = 0;

    for (;;) {
        int c = next_character(maps);
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : base;
        if (digit >= base) {
            *stop = c;
            return value;
        }
        value = value * base + digit;
    }
}

/* Each line: "start-end rwxp offset major:minor inode      path\n". */
bool process_maps_next(struct process_maps *maps, struct process_mapping *mapping)
{
    size_t length = 0;
    int c;

    mapping->start = read_number(maps, 16, &c);
    if (c != '-')
        return false;
    mapping->end = read_number(maps, 16, &c);
    (void)next_character(maps);
    (void)next_character(maps);
    mapping->executable = next_character(maps) == 'x';
    (void)next_character(maps);
    (void)next_character(maps);
    mapping->file_offset = read_number(maps, 16, &c);
    (void)read_number(maps, 16, &c);
    (void)read_number(maps, 16, &c);
    mapping->inode = read_number(maps, 10, &c);
    while (c == ' ')
        c = next_character(maps);
    for (; c != '\n' && c != -1; c = next_character(maps)) {
        if (length < sizeof mapping->path - 1)
            mapping->path[length++] = (char)c;
    }
    mapping->path[length] = '\0';
    return true;
}

bool process_maps_of_parent_have(const char *library)
{
    static const char folder[] = "/proc/", file[] = "/maps";
    static struct process_maps maps;
    static struct process_mapping mapping;
    char path[sizeof folder + DECIMAL_DIGITS + sizeof file];
    char *at = path + sizeof path - sizeof file;
    bool found = false;

    memcpy(at, file, sizeof file);
    at = decimal_before(at, (uint64_t)system_call(SYS_getppid, 0, NULL, 0)) - strlen(folder);
    memcpy(at, folder, strlen(folder));
    if (!process_maps_open(&maps, at))
        return false;
    while (!found && process_maps_next(&maps, &mapping))
        found = strstr(mapping.path, library) != NULL;
    process_maps_close(&maps);
    return found;
}
