/*
 * SPDX-License-Identifier: MIT
 *
 * The ends of a run that went wrong; see content.h. They neither allocate nor run exit handlers:
 * the allocator is what is not to be trusted.
 */
#include "content.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One line, whichever thread is first; the others wait for the end that it brings. */
_Noreturn static void end_with(const char *line)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    while (atomic_flag_test_and_set(&said))
        pause();
    ssize_t written = write(STDERR_FILENO, line, strlen(line));

    (void)written; /* nothing is left to be done about it */
    _exit(1);
}

void content_give_up(const char *text)
{
    char line[256];

    snprintf(line, sizeof line, "malloc_bench: %s\n", text);
    end_with(line);
}

void content_lost(const void *block, size_t size)
{
    char line[256];

    snprintf(line, sizeof line,
             "malloc_bench: the block of %zu B at %p lost its content: it overlaps another block, "
             "or was given out twice\n",
             size, block);
    end_with(line);
}

void content_no_memory(size_t size)
{
    char line[256];

    snprintf(line, sizeof line, "malloc_bench: out of memory for a block of %zu B\n", size);
    end_with(line);
}
