/*
 * SPDX-License-Identifier: MIT
 *
 * The steps on a magazine for the slow paths, in either access mode: by restartable sequences, or
 * exclusively, for a thread that has the magazine alone. So refill, overflow and flush are written
 * once.
 */
#ifndef MPLACE_CIA_MAGAZINE_ACCESS_H
#define MPLACE_CIA_MAGAZINE_ACCESS_H

#include "cia_malloc/cpu_cache/magazine_exclusive.h"
#include "cia_malloc/cpu_cache/magazine_sequences.h"

struct magazine_access {
    unsigned size_class;
    struct magazine *exclusive; /* NULL: by sequences, on the CPU where the thread is */
    /* These three by sequences only. table: magazine_to_take, with the offset that malloc has; or
       magazine_to_put, with that of a page: for a page of another node, a magazine that blocks
       never go into. */
    ptrdiff_t area;
    uint32_t offset;
    _Atomic(struct magazine_region *) *table;
};

static inline struct magazine_access access_to_take(ptrdiff_t area, unsigned size_class)
{
    return (struct magazine_access){.size_class = size_class,
                                    .area = area,
                                    .offset = magazine_offset(size_class, 0),
                                    .table = magazine_to_take};
}

/* As magazine_push; the run of the block begins at start. */
static inline bool access_push(const struct magazine_access *access, uint32_t start, void *block)
{
    return access->exclusive != NULL ? magazine_push_exclusive(access->exclusive, block)
                                     : magazine_push(access->area, access->offset, start, block);
}

/* Makes the last full magazine the loaded one, if that is empty. False: it is not, or there is
   none. */
bool access_reload(const struct magazine_access *access);

/* Puts the loaded magazine aside as a full one; it is empty then. False: it has less than
   MAGAZINE_FULL_LEAST blocks, or there is no room for another above it. */
bool access_put_aside(const struct magazine_access *access);

/* Takes the blocks of the loaded magazine, the newest if there are more than MAGAZINE_LOADED_MOST,
   into places; returns how many. None are counted then, also where there were none. */
uint32_t access_unload(const struct magazine_access *access, char *places[MAGAZINE_LOADED_MOST]);

/* Fills the loaded magazine, if that is empty, with so many blocks of that node, as the class heap
   gave them. False, and nothing is put, if it is not, if there is no magazine, or by sequences on a
   CPU of another node. */
bool access_load(const struct magazine_access *access, unsigned node, char *const *places,
                 uint32_t count);

/* A block of what waits: of the loaded magazine, which may have been the last full one until now.
 * 0: none. */
static inline uintptr_t access_take_cached(const struct magazine_access *access)
{
    do {
        uintptr_t block = access->exclusive != NULL ? magazine_pop_exclusive(access->exclusive)
                                                    : magazine_pop(access->area, access->offset);

        if (block != 0)
            return block;
        /* A thread that is moved to another CPU in between finds other full ones there. */
    } while (access_reload(access));
    return 0;
}

#endif
