/*
 * SPDX-License-Identifier: MIT
 *
 * Blocks above the last class. Up to 512 KiB: a run of pages in a chunk that is one block. Longer:
 * a mapping of its own.
 *
 * Mappings of freed blocks are kept for others for a while: see huge_cache.h.
 *
 * With CIA_HARDEN=1 every block above the last class has a mapping, as long as they are not very
 * many. The pages before and behind those of the block are closed; and those of a freed block,
 * while its mapping is kept: no other block begins there meanwhile.
 *
 * Both begin at a colour taken in turn, not at random: 128 random draws leave about 9 of 64 sets
 * empty. The colour comes out of the slack of rounding to pages where that is enough, and costs a
 * page more where it is not. There is a turn for each length in pages (modulo 64), so that two
 * kinds of buffer that are allocated in alternation do not get every other colour each.
 */
#ifndef MPLACE_CIA_LARGE_H
#define MPLACE_CIA_LARGE_H

#include "cia_malloc/subheap.h"

/*
 * What page_source_owner finds for a mapping that is one block. While it has a block it is changed
 * only for that block's owner; while it is kept, by whoever takes it out of its slot.
 */
struct huge {
    enum owner_kind kind;
    char *base;          /* aligned to CHUNK_BYTES */
    size_t mapped_bytes; /* the block's pages */
    size_t spare_bytes;  /* mapped as well, behind them: for growing, and for the next block */
    uint8_t node;        /* the memory node that its pages are to come from */
    char *block;         /* what malloc returned, in the first 4 MiB of the mapping */
    uint64_t since;      /* while it is kept: since when */
    /* With CIA_HARDEN=1, see hardened.c: */
    _Atomic(size_t)
        marked;        /* how much the program asked for, plus 1; 0: it does not have the block */
    struct huge *next; /* while unused: in the sub-heap's list */
};

static inline size_t huge_extent(const struct huge *huge)
{
    return huge->mapped_bytes + huge->spare_bytes;
}

enum {
    /* Alignments from here on get whole pages: taking a longer block would cost as much. */
    PAGE_RUN_ALIGNMENT = 2048,
};

/*
 * A block of bytes (above SIZE_CLASS_LARGEST or with a large alignment), aligned to a power of two.
 * An alignment of up to a line gets a colour in turn; a greater one is kept exactly. The sub-heap
 * is locked on entry and unlocked on return, so that mmap and page faults happen outside the lock.
 * NULL when out of memory; *zeroed: the block reads as zero.
 */
void *large_allocate_and_unlock(struct subheap *heap, size_t bytes, size_t alignment, bool *zeroed);

/* What block_owner found at the address, of OWNER_HUGE. The process ends unless its block begins
   there. */
struct huge *huge_at(void *owner, const void *address);

static inline size_t huge_usable(const struct huge *huge)
{
    return (size_t)(huge->base + huge->mapped_bytes - huge->block);
}

/* Keeps the mapping for another block for a while, see huge_cache.h, or gives it back. */
void huge_free(struct huge *huge);

/* Gives back the mappings that are kept: all; or those that were not wanted for the decay time, a
   few a call. Returns how many bytes. */
size_t huge_give_back_all(void);
size_t huge_give_back_old(uint64_t now);

/*
 * The block with at least new_bytes usable bytes, its contents kept, without a copy: in place, or
 * its pages moved elsewhere. NULL, nothing changed, when that cannot be done.
 */
void *huge_resize(struct huge *huge, size_t new_bytes);

/* Bytes and number of all live mappings. */
void huge_totals(size_t *bytes, size_t *blocks);

/* The most that each ever was. */
void huge_most(size_t *bytes, size_t *blocks);

/* All that were ever made. */
uint64_t huge_allocations(void);

/* Where these are kept, by address: for another process. */
struct huge_totals_at {
    uint64_t bytes, blocks, made;
};
struct huge_totals_at huge_totals_at(void);

#endif
