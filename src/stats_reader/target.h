/*
 * SPDX-License-Identifier: MIT
 *
 * The process that is looked at. It may run, be stopped, or end at any moment, and whatever is read
 * from it may be anything: addresses are only handed to the kernel, and numbers are bounded before
 * they are used.
 */
#ifndef MPLACE_STATS_READER_TARGET_H
#define MPLACE_STATS_READER_TARGET_H

#include "base/live_statistics.h"

#include <sys/types.h>

enum target_state {
    TARGET_READABLE,  /* pages were found and read */
    TARGET_SILENT,    /* it publishes nothing */
    TARGET_FORBIDDEN, /* the kernel does not let this user look */
    TARGET_GONE,      /* there is no such process */
    TARGET_ENDED,     /* it has no memory: nobody has waited for it yet, or it is of the kernel */
};

enum { TARGET_PAGES = 4 };

struct target {
    pid_t process;
    char folder[24]; /* "/proc/PID" */
    char name[64];   /* of the program, without control characters */
    struct {
        struct live_header header;
        uint64_t address;
        uint64_t inode;    /* no other page has it, not even that of the process's next program */
    } pages[TARGET_PAGES]; /* what it publishes, a page a library */
    unsigned page_count;
};

enum target_state target_open(struct target *target, pid_t process);

/* False also for one that has ended and that its parent has not waited for. */
bool target_lives(const struct target *target);

/* Copies size bytes from its memory; false if they are not all there. */
bool target_read(const struct target *target, uint64_t address, void *buffer, size_t size);

/* The same with one number; 0 where it cannot be read. */
uint64_t target_read_u64(const struct target *target, uint64_t address);
uint32_t target_read_u32(const struct target *target, uint64_t address);

/* A field of /proc/PID/smaps_rollup in bytes, "AnonHugePages:"; 0 where it cannot be read. */
size_t target_memory(const struct target *target, const char *field);

/* Replaces what a terminal could obey, and ends the text in its room. */
void target_clean_text(char *text, size_t room);

#endif
