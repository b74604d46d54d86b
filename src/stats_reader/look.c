/*
 * SPDX-License-Identifier: MIT
 *
 * See look.h.
 */
#include "stats_reader/look.h"

#include "cia_malloc/statistics/shared_statistics.h"
#include "live_layout.h"
#include "stats_reader/refuse.h"

#include <string.h>
#include <time.h>

static double seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

enum look_result look_at(struct target *target, int most, struct look *look, const char **library)
{
    look->has_cia = look->has_locks = false;
    look->cia_page = look->locks_page = 0;
    look->time = seconds_now();
    for (unsigned i = 0; i < target->page_count; i++) {
        struct live_header *header = &target->pages[i].header;
        uint64_t page = target->pages[i].address;
        bool is_cia = strcmp(header->library, "libcia_malloc") == 0;

        if (header->layout != LIVE_LAYOUT) {
            target_clean_text(header->library, sizeof header->library);
            *library = header->library;
            return LOOK_OTHER_VERSION;
        }
        if (is_cia) {
            look->has_cia = read_cia(target, page, &look->cia);
            look->cia_page = look->has_cia ? target->pages[i].inode : 0;
        } else {
            look->has_locks = read_locks(target, page, most, &look->locks);
            look->locks_page = look->has_locks ? target->pages[i].inode : 0;
        }
    }
    return look->has_cia || look->has_locks ? LOOK_TAKEN : LOOK_GONE;
}

bool look_or_refuse(struct target *target, int most, struct look *look)
{
    const char *library;
    enum look_result result = look_at(target, most, look, &library);

    if (result == LOOK_OTHER_VERSION)
        refuse("process %d runs %s of another version of mplace: use that version's mplace stats",
               (int)target->process, library);
    return result == LOOK_TAKEN;
}
