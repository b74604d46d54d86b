/*
 * SPDX-License-Identifier: MIT
 *
 * The mappings of a process, read from its maps file one after the other into fixed buffers: no
 * allocation, no lock, no function of libc's that another library may stand before (fakechroot's
 * open allocates), and only calls that a signal handler may make. errno stays as it is.
 */
#ifndef MPLACE_BASE_CODE_PROCESS_MAPS_H
#define MPLACE_BASE_CODE_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESS_PATH_ROOM = 4096 };

struct process_mapping {
    uint64_t start, end, file_offset, inode;
    bool executable;
    char path[PROCESS_PATH_ROOM]; /* empty: no file; "[vdso]" and the like; a longer one is cut */
};

struct process_maps {
    int fd;
    size_t length, at;
    char buffer[4096];
};

/* file: "/proc/self/maps" or that of another process. False if it cannot be read. */
bool process_maps_open(struct process_maps *maps, const char *file);

/* The next mapping; false at the end of the file. */
bool process_maps_next(struct process_maps *maps, struct process_mapping *mapping);

void process_maps_close(struct process_maps *maps);

/* Whether the parent has a file mapped whose path has this text in it: then a library of that name
   has said there what it says once. One thread at a time. */
bool process_maps_of_parent_have(const char *library);

#endif
