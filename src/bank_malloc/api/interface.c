/*
 * SPDX-License-Identifier: MIT
 *
 * The functions of mplace_bank.h: arguments, and errno values.
 */
#include "bank_malloc/api/allocator.h"
#include "bank_malloc/api/statistics.h"

#include "bank_malloc/memory/together.h"
#include "mplace_bank.h"

#include <errno.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

_Static_assert(BANK_RESTRICTED == (int)POOL_RESTRICTED &&
                   BANK_UNRESTRICTED == (int)POOL_UNRESTRICTED && BANK_SPLIT == (int)POOL_SPLIT,
               "the masks are the same");

static bool exists(uint32_t controller, uint32_t bank)
{
    return controller < arena.frames.controllers && bank < arena.frames.banks;
}

EXPORT void *bank_malloc(size_t size, uint32_t controller, uint32_t bank, unsigned modes)
{
    void *block = NULL;

    bank_start();
    if (arena.base != NULL && (!exists(controller, bank) || modes > POOL_ALL_MODES)) {
        errno = EINVAL;
        return NULL;
    }
    if (arena.base != NULL && size <= PTRDIFF_MAX)
        block = bank_allocate_from(controller, bank, size, modes);
    if (block == NULL)
        errno = ENOMEM;
    return block;
}

EXPORT void bank_free(void *block)
{
    bank_release(block);
}

EXPORT int bank_of(const void *address, uint32_t *controller, uint32_t *bank)
{
    uint16_t colour = bank_colour_of(address);

    if (colour == FRAMES_NO_COLOUR)
        return bank_has_memory(address) ? ENODATA : EINVAL;
    *controller = colour / arena.frames.banks;
    *bank = colour % arena.frames.banks;
    return 0;
}

EXPORT int bank_thread_colours(uint32_t controller, const uint32_t *banks, size_t count)
{
    uint16_t colours[POOL_COLOURS_MOST];

    bank_start();
    if (arena.frames.knowledge == FRAMES_UNKNOWN)
        return ENODATA;
    if (count == 0 || count > POOL_COLOURS_MOST)
        return EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (!exists(controller, banks[i]))
            return EINVAL;
        colours[i] = (uint16_t)pool_colour(&arena.pool, controller, banks[i]);
    }
    arena_lock();
    struct colour_set set = colours_intern(colours, (uint32_t)count);
    arena_unlock();
    return bank_set_thread_colours(set) ? 0 : ENOMEM;
}

EXPORT void bank_figures(struct bank_figures *figures, size_t figures_size)
{
    struct bank_totals totals;

    bank_start();
    bank_totals_read(&totals);
    struct bank_figures now = {
        .pool_bytes = totals.pool_bytes,
        .free_bytes = totals.free_bytes,
        .chunk_bytes = (uint64_t)1 << arena.shift,
        .controllers = arena.frames.controllers,
        .banks = arena.frames.banks,
    };
    memcpy(figures, &now, figures_size < sizeof now ? figures_size : sizeof now);
}

EXPORT int64_t bank_count_moved(void)
{
    if (arena.frames.knowledge != FRAMES_KNOWN)
        return -1;
    arena_lock();
    int64_t moved = arena_count_moved(together_where);
    arena_unlock();
    return moved;
}
