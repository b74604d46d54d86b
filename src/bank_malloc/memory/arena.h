/*
 * SPDX-License-Identifier: MIT
 *
 * The memory of the pool: a row of addresses, cut into chunks, that is mapped, populated, locked
 * and asked for its frames piece by piece, and what each chunk is used for. The child of a fork
 * starts anew: what is free gets pages of the child's own when it is needed; what is in use stays,
 * copied on write, and is not used again before it has got such pages, too.
 *
 * Every function but the inline ones is called with arena.lock held.
 */
#ifndef MPLACE_BANK_ARENA_H
#define MPLACE_BANK_ARENA_H

#include "bank_malloc/memory/frames.h"
#include "bank_malloc/memory/lock.h"
#include "bank_malloc/memory/mapping.h"
#include "bank_malloc/pool/pool.h"

#include <stdatomic.h>

enum {
    CHUNK_SHIFT_MOST = 16,    /* a longer chunk of one bank is used as several */
    BLOCK_ALIGNMENT = 16,     /* of every block; the shortest one */
    ARENA_READ_AT_ONCE = 512, /* chunks whose colours are asked for together */
};

enum chunk_kind {
    CHUNK_UNUSED, /* free, or without memory */
    CHUNK_SLAB,   /* cut into blocks of one size */
    CHUNK_BLOCK,  /* the first of a block of whole chunks */
    CHUNK_INSIDE, /* another one of these */
    CHUNK_MOVED,  /* its frames are elsewhere: see together.h */
};

struct heap;

/*
 * What is known of a chunk, outside of it. The fields from owner to word are a slab's. Memory of
 * this type is never given back, so that a late look at a chunk that is no slab any more does no
 * harm.
 */
struct chunk {
    _Atomic(struct heap *) owner;
    struct chunk *next, *previous; /* in the owner's list of slabs with free blocks */
    struct chunk *notified_next;
    char *base;
    union {
        uint32_t size;   /* of a slab's block */
        uint32_t unit;   /* of a moved chunk: where its pages are, see together.h */
        uint32_t length; /* of a block, in chunks */
    };
    uint32_t reciprocal;   /* 2^32 / size, rounded up */
    uint16_t used, blocks; /* blocks the owner knows to be in use; all */
    uint16_t word;         /* of bits: where the owner looks for a free block first */
    uint8_t class;
    _Atomic uint8_t kind; /* enum chunk_kind */
    bool is_inherited;    /* from the parent of a fork */
    bool begins_piece;    /* of a moved chunk: the first of those that were moved at once */
    bool is_hole;         /* its address is below arena.top, but no mapping of ours is there */
    _Atomic uint32_t notified_in; /* arena.generation: it is in a heap's stack of notified slabs */
    uint64_t bits[]; /* free blocks, as the owner knows them; then those freed by others */
};

struct arena {
    struct bank_lock lock;
    uint64_t signals; /* of the thread that has the lock: those that it had blocked before */
    char *base;       /* NULL: the arena did not start */
    unsigned shift;
    uint32_t most, top; /* chunks that there may ever be; those from top on never had a mapping */
    uint32_t words;     /* of either half of bits */
    unsigned stride_shift;
    struct mapping_table chunks; /* records, 1 << stride_shift bytes each */
    /* Chunks that have a record, at least top. Only grows, before a chunk gets memory, and is read
       without the lock: who asks about a block has it from a thread that saw it grow. */
    _Atomic uint32_t recorded;
    char *tables; /* of pool and unread: see tables.h */
    struct frames frames;
    struct pool pool;
    struct bit_index unread; /* chunks without memory that may get some */
    uint32_t owned;          /* chunks that have it */
    uint32_t mixed;          /* those of them that are of no one bank */
    uint32_t lost;           /* chunks whose addresses another's mapping has */
    uint32_t elsewhere;      /* chunks' worth of memory outside the row: see together_fresh */
    uint32_t inherited;    /* in use, from the parent of a fork: of no bank, and not in the pool */
    bool has_holes;        /* there are chunks without memory between others: huge pages or not */
    bool has_unread_holes; /* a chunk without memory below top may be a hole */
    /* From 1 on, another number in each child of a fork. What is marked with another one was in a
       stack of the parent's, of which the child has none. */
    uint32_t generation;
};

extern struct arena arena;

/*
 * Finds addresses for a pool of so many bytes, at least one chunk, and how long a chunk is. False:
 * no addresses, or FRAMES_RELATIVE without huge pages; then it may be called again.
 */
bool arena_start(const struct frames *frames, size_t bytes);

/* Gives the memory of that many free chunks back to the kernel, wherever they are; they may get
   some again later. False: so many are not free, and nothing was done. */
bool arena_discard(uint32_t chunks);

/*
 * Gives the memory of all free chunks back to the kernel, if the pool grows on demand again: where
 * a chunk's pages are of one bank in huge pages alone, in whole huge pages. Returns how many
 * chunks.
 */
uint32_t arena_trim(void);

/* How many chunks get memory at once: those of a huge page, where the pages of a chunk would be of
   several banks otherwise; else 1. */
uint32_t arena_step(void);

/* Whether it matters which frames memory has: they are the kernel's, and something is known. */
bool arena_frames_matter(void);

/* Memory outside the row, as a chunk gets it. */
enum mapping_answer arena_map(char *from, size_t bytes);

/* A chunk that was taken from the pool is not used any more: back to the pool; an inherited one
   loses its pages. */
void arena_release(uint32_t chunk);

/* The same of one whose pages are gone: it may get some again. */
void arena_forget(uint32_t chunk);

/*
 * In the child of a fork: the pool is empty, and what is in use is inherited. Another thread of the
 * parent may have held the lock, and what it was changing is half changed here. So only one word is
 * trusted, arena.tables, and of these tables only the bits of each chunk, which have been right
 * since the chunk's block was handed out; what the thread was taking or giving back is lost to the
 * child.
 */
void arena_start_child(void);

/*
 * What the child of a fork does before all else with the arena: it calls arena_start_child, and
 * begins anew what lies above. Set before arena_start. Called with signals blocked and without the
 * lock, once in a child: by its fork handler, arena_after_fork, or before that, or in the child of
 * _Fork, by the first thread that wants the lock. For who has the lock in the child may be a thread
 * that only the parent has, and handlers of others, which may allocate, run before ours.
 */
extern void (*arena_child_begins)(void);
void arena_after_fork(void);

/* Reads the frames of all chunks again; returns how many are not of their colour any more, or -1 if
   the kernel cannot be asked this time. Only if frames are known. where(chunk) is the address at
   which its pages are now. */
int64_t arena_count_moved(const char *(*where)(uint32_t chunk));

/*
 * Handlers do not run in a thread that has the lock: one that forks, and whose child allocates,
 * works as it does in glibc.
 */
void arena_lock(void);
void arena_unlock(void);

/* Whether that is a colour, and not memory of no one bank. */
static inline bool arena_is_colour(uint16_t colour)
{
    return colour < arena.frames.controllers * arena.frames.banks;
}

static inline char *arena_address(uint32_t chunk)
{
    return arena.base + ((size_t)chunk << arena.shift);
}

static inline struct chunk *arena_chunk(uint32_t chunk)
{
    return (struct chunk *)(void *)(arena.chunks.base + ((size_t)chunk << arena.stride_shift));
}

static inline uint32_t arena_number(const struct chunk *chunk)
{
    return (uint32_t)((size_t)((const char *)chunk - arena.chunks.base) >> arena.stride_shift);
}

/* The chunk that the address is in; arena.recorded or more: nothing is there. */
static inline size_t arena_find(const void *address)
{
    return ((uintptr_t)address - (uintptr_t)arena.base) >> arena.shift;
}

/* The second half of bits: blocks that other threads freed. */
static inline _Atomic uint64_t *chunk_remote(struct chunk *chunk)
{
    return (_Atomic uint64_t *)(chunk->bits + arena.words);
}

#endif
