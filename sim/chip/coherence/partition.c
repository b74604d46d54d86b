/*
 * SPDX-License-Identifier: MIT
 *
 * The division of FLASK's storage; see partition.h.
 */
#include "chip/coherence/partition.h"

enum { RARE = 32, MARGIN = 2 };

void partition_adapt(struct home *home)
{
    const struct machine *machine = home->fabric->machine;
    uint32_t rebuilds = home->rebuilds, filter = home->false_positives + home->overflows;

    if (machine->coherence.partition != MACHINE_ADAPTIVE ||
        home->requests < machine->coherence.epoch)
        return;
    if (rebuilds > home->requests / RARE && rebuilds > MARGIN * filter &&
        home->directory.ways < home->directory.ways_most && filter_shrink(&home->filter)) {
        directory_grow(&home->directory);
    } else if (filter > home->requests / RARE && filter > MARGIN * rebuilds &&
               home->directory.ways > 1) {
        directory_shrink(&home->directory);
        filter_grow(&home->filter);
    }
    home->requests = 0;
    home->rebuilds = 0;
    home->false_positives = 0;
    home->overflows = 0;
}
