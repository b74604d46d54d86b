/*
 * SPDX-License-Identifier: MIT
 *
 * See calls.h. Sorts by heapsort: in place, and without qsort, which may call malloc.
 */
#include "cia_malloc/profile/calls.h"

#include "base/pages.h"

bool calls_make(struct calls *calls, uint64_t addresses)
{
    enum { ROOM_LEAST = 1024 };

    *calls = (struct calls){.room = ROOM_LEAST};
    while (calls->room < 2 * addresses)
        calls->room *= 2;
    calls->bytes = calls->room * sizeof calls->address[0];
    calls->address = pages_map(calls->bytes, MAP_NORESERVE);
    return calls->address != NULL;
}

void calls_drop(struct calls *calls)
{
    pages_unmap(calls->address, calls->bytes);
}

void calls_add(struct calls *calls, uint64_t address)
{
    uint64_t at = address * 0x9e3779b97f4a7c15u >> 20;

    while (calls->address[at &= calls->room - 1] != 0) {
        if (calls->address[at] == address)
            return;
        at++;
    }
    calls->address[at] = address;
    calls->count++;
}

/* Moves what is at the top of a heap of count addresses to where it belongs; the largest is the
 * top. */
static void sift(uint64_t *heap, uint64_t top, uint64_t count)
{
    uint64_t moved = heap[top];

    for (uint64_t child; (child = 2 * top + 1) < count; top = child) {
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[child] <= moved)
            break;
        heap[top] = heap[child];
    }
    heap[top] = moved;
}

void calls_sort(struct calls *calls)
{
    uint64_t *address = calls->address, count = 0;

    for (uint64_t i = 0; i < calls->room; i++) {
        if (address[i] != 0)
            address[count++] = address[i];
    }
    for (uint64_t top = count / 2; top-- > 0;)
        sift(address, top, count);
    for (uint64_t left = count; left-- > 1;) {
        uint64_t largest = address[0];

        address[0] = address[left];
        address[left] = largest;
        sift(address, 0, left);
    }
}
