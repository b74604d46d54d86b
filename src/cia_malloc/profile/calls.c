/*
 * SPDX-License-Identifier: MIT
 *
 * See calls.h. Without qsort, which may call malloc.
 */
#include "cia_malloc/profile/calls.h"

#include "base/pages.h"
#include "cia_malloc/profile/kept.h"

/* Shell's sort, with Knuth's gaps: (3^k - 1) / 2. */
static void sort(uint64_t *address, uint64_t count)
{
    uint64_t gap = 1;

    while (gap < count / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (uint64_t i = gap; i < count; i++) {
            uint64_t moved = address[i], at = i;

            for (; at >= gap && address[at - gap] > moved; at -= gap)
                address[at] = address[at - gap];
            address[at] = moved;
        }
    }
}

bool calls_make(struct calls *calls)
{
    const struct kept *newest = kept_newest(KEPT_CALL);
    uint64_t count = 0;

    calls->count = 0;
    for (const struct kept *call = newest; call != NULL; call = call->older)
        calls->count++;
    calls->bytes = (calls->count + 1) * (sizeof *calls->address + sizeof *calls->place);
    calls->address = pages_map(calls->bytes, MAP_NORESERVE);
    if (calls->address == NULL)
        return false;
    calls->place = (struct elf_place *)(calls->address + calls->count);
    for (const struct kept *call = newest; call != NULL; call = call->older)
        calls->address[count++] = *kept_key(call);
    sort(calls->address, count);
    count = 0;
    /* The child of a fork may keep one again that its parent was keeping. */
    for (uint64_t i = 0; i < calls->count; i++) {
        if (i == 0 || calls->address[i] != calls->address[count - 1])
            calls->address[count++] = calls->address[i];
    }
    calls->count = count;
    return true;
}

void calls_drop(const struct calls *calls)
{
    pages_unmap(calls->address, calls->bytes);
}
