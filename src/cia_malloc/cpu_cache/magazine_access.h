/*
 * SPDX-License-Identifier: MIT
 *
 * The steps on a magazine in either access mode: by restartable sequences, or exclusively, for a
 * thread that has the magazine alone. So refill, release and flush are written once. The steps
 * themselves are described in magazine_sequences.h.
 */
#ifndef MPLACE_CIA_MAGAZINE_ACCESS_H
#define MPLACE_CIA_MAGAZINE_ACCESS_H

#include "cia_malloc/cpu_cache/magazine_exclusive.h"
#include "cia_malloc/cpu_cache/magazine_sequences.h"

struct magazine_access {
    unsigned size_class;
    struct magazine *exclusive; /* NULL: by sequences, on the CPU where the thread is */
    ptrdiff_t area;             /* these three by sequences only */
    uint32_t offset;
    enum magazine_side side;
};

static inline struct magazine_access access_to_take(ptrdiff_t area, unsigned size_class)
{
    return (struct magazine_access){.size_class = size_class,
                                    .area = area,
                                    .offset = magazine_offset(size_class, 0),
                                    .side = MAGAZINE_TAKE};
}

static inline uintptr_t access_pop(const struct magazine_access *access)
{
    return access->exclusive != NULL ? magazine_pop_exclusive(access->exclusive)
                                     : magazine_pop(access->area, access->offset);
}

static inline bool access_push(const struct magazine_access *access, void *block)
{
    return access->exclusive != NULL ? magazine_push_exclusive(access->exclusive, block, true)
                                     : magazine_push(access->area, access->offset, block);
}

static inline bool access_push_anyway(const struct magazine_access *access, void *block)
{
    return access->exclusive != NULL ? magazine_push_exclusive(access->exclusive, block, false)
                                     : magazine_push_anyway(access->area, access->offset, block);
}

static inline bool access_reload(const struct magazine_access *access)
{
    return access->exclusive != NULL ? magazine_reload_exclusive(access->exclusive)
                                     : magazine_reload(access->area, access->offset, access->side);
}

static inline bool access_put_aside(const struct magazine_access *access, uint32_t least)
{
    return access->exclusive != NULL ? magazine_put_aside_exclusive(access->exclusive, least)
                                     : magazine_put_aside(access->area, access->offset, least);
}

static inline uint32_t access_unload(const struct magazine_access *access,
                                     char *blocks[MAGAZINE_LOADED_MOST])
{
    return access->exclusive != NULL
               ? magazine_unload_exclusive(access->exclusive, blocks)
               : magazine_unload(access->area, access->offset, access->side, blocks);
}

/* Blocks of that node, as magazine_load. */
static inline bool access_load(const struct magazine_access *access, unsigned node,
                               char *const *blocks, uint32_t count)
{
    return access->exclusive != NULL
               ? magazine_load_exclusive(access->exclusive, blocks, count)
               : magazine_load(access->area, magazine_offset(access->size_class, node), blocks,
                               count);
}

/* A block of what waits: of the loaded magazine, which may have been the last full one until now.
 * 0: none. */
static inline uintptr_t access_take_cached(const struct magazine_access *access)
{
    do {
        uintptr_t block = access_pop(access);

        if (block != 0)
            return block;
        /* A thread that is moved to another CPU in between finds other full ones there. */
    } while (access_reload(access));
    return 0;
}

#endif
