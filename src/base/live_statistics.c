/*
 * SPDX-License-Identifier: MIT
 *
 * See live_statistics.h. memfd_create, write, mmap, close.
 */
#include "base/live_statistics.h"

#include "base/report.h"
#include "base/settings.h"
#include "live_layout.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool live_statistics_wanted(void)
{
    return setting_switch("MPLACE_STATS_LIVE", 0) != 0;
}

/* Written before it is mapped, and mapped for reading only: not even a stray store changes it. No
 * descriptor stays open, for programs close those that they do not know. */
static bool map_copy(const void *content, size_t bytes)
{
    int fd = memfd_create(LIVE_MAPPING_NAME, MFD_CLOEXEC);
    bool mapped = fd >= 0 && write(fd, content, bytes) == (ssize_t)bytes &&
                  mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED;
    int error = errno;

    if (fd >= 0)
        (void)close(fd);
    errno = error;
    return mapped;
}

void live_statistics_publish(struct live_header *header, const char *library, size_t bytes)
{
    int saved_errno = errno;

    strncpy(header->magic, LIVE_MAGIC, sizeof header->magic);
    strncpy(header->library, library, sizeof header->library - 1);
    header->layout = LIVE_LAYOUT;
    if (!map_copy(header, bytes))
        report_line("mplace: MPLACE_STATS_LIVE=1: %s cannot map the page for it (errno %d)",
                    library, errno);
    errno = saved_errno;
}
