/*
 * SPDX-License-Identifier: MIT
 *
 * A magazine: free blocks of one class, ready for one CPU. malloc and free of that CPU work on it
 * alone. It is loaded from the class heap and flushed to whichever sub-heaps its blocks belong to.
 * (The names are Bonwick's, USENIX 2001; his depot is the lower part of our stack.)
 *
 *     loaded    the newest blocks of a stack, at most MAGAZINE_OF_A_COLOUR of each colour; of 16 B,
 *               of which four share a line, one more. malloc and free use this alone while they
 *               can.
 *     full      below it in the same stack: what was loaded before. free puts the loaded one aside
 *               when a colour has no place left; malloc reloads the last full one when the loaded
 *               one is empty. Neither moves a block.
 *
 * Placement. A stack of whatever the program freed last could have one colour. Here a full magazine
 * has at least MAGAZINE_FULL_LEAST blocks and at most MAGAZINE_OF_A_COLOUR of each colour; where
 * there are fewer, blocks are flushed. So N blocks in a row from full magazines put at most 2.7
 * times the even share into a set, and 2 * MAGAZINE_OF_A_COLOUR more as they begin and end within
 * magazines, whatever the program freed, and nearly the even share if that was everything. What
 * comes after them is what the class heap, which keeps count, finds eligible
 * (heap/colours/next_block.c); to it a block cached here is live. Blocks never used are loaded in
 * the class heap's order and come out in it: the rule for them, at most ceil(N / C) + 1 of any N in
 * a row, is as exact as without magazines.
 *
 * A load of packed blocks brings them as they lie, up to MAGAZINE_OF_A_COLOUR_MOST of a colour.
 *
 * One of a colour would be more even still. But then whether a free finds its colour taken is
 * chance, half the time, if blocks are freed in any order, and a processor cannot predict it:
 * 20 ns in place of 8. Three are rarely there, and enough for a full magazine before that happens
 * often.
 *
 * A class gets its magazine when it is in heavy use on the CPU. Until then every call asks the
 * class heap, which sees all frees at once and keeps the program's blocks as even as can be.
 *
 * Who may touch one. For the life of a process, one of these holds (magazine_sequences says which):
 *   sequences   only restartable sequences that run on the magazine's CPU: no lock, no locked
 *               instruction. To take one away from another CPU: magazines_revoke. The ceiling alone
 *               is also raised by the holder of the sub-heap's lock: magazine_rise.
 *   lock        only the holder of the sub-heap's lock.
 * Wherever a sequence is interrupted, the magazine is in order: it writes blocks where none wait,
 * and commits by one store. So the child of a fork finds all of them in order, wherever the
 * parent's other threads were; what they had in hand is lost to it.
 */
#ifndef MPLACE_CIA_MAGAZINE_H
#define MPLACE_CIA_MAGAZINE_H

#include "base/rseq.h"
#include "cia_malloc/heap/size_classes/request_class.h"

#include <assert.h>
#include <stdatomic.h>

enum {
    MAGAZINE_OF_A_COLOUR = 3, /* of a level: less than half the ways of any first-level cache */
    MAGAZINE_LOADED_MOST = MAGAZINE_OF_A_COLOUR_MOST * MAGAZINE_COLOURS,
    MAGAZINE_FULL_LEAST =
        24 * MAGAZINE_OF_A_COLOUR, /* an even share is then 3/8 of the most, or more */
    MAGAZINE_FULL_MOST = 32,
    /* What the stack of one class may hold, but for blocks so long that they are few: with fewer
       places than blocks that come and go in turn, they would pass by the magazine all the time. A
       thousand blocks of nine lines are 563 KiB; short ones come and go in thousands. */
    MAGAZINE_STACK_MOST = 4096,
    MAGAZINE_STACK_BYTES = 768 << 10,
    /* What all of a CPU may hold together. A magazine gets less than it asks for when that is used
       up, but two loads in any case, until they are next emptied. */
    MAGAZINES_BYTES = 4 << 20,
    MAGAZINE_FIRST_CEILING = 4 * MAGAZINE_COLOURS,
    MAGAZINE_CEILING_STEP = 2 * MAGAZINE_COLOURS,
    /* Blocks of a load: half of the colours, for frees to find room for the others; fewer where
       they are long. */
    MAGAZINE_LOAD_MOST = MAGAZINE_COLOURS / 2,
    MAGAZINE_LOAD_BYTES = 64 << 10,
    MAGAZINE_LOADS_OF_LONG = 8,                /* that a stack of those may hold */
    MAGAZINE_LONG_MOST = 2 * MAGAZINE_COLOURS, /* and so many at most */

    /* Of a colour's word: its count, in bits that no block's address has; the bit of the count that
       says that there is no place left; and what is subtracted when a block is taken: 1 of the
       count, and so much of the address that the word names no block near. */
    MAGAZINE_COUNT_MASK = GRANULE_BYTES - 1,
    MAGAZINE_COUNT_FULL = 8,
    MAGAZINE_ONE_LESS = 0x1e3779b1,

    MAGAZINE_TOP_BITS = 16,
    MAGAZINE_TOP_MASK = (1 << MAGAZINE_TOP_BITS) - 1,
    MAGAZINE_SERVED = 1 << MAGAZINE_TOP_BITS, /* one malloc more */
};

/*
 * What a magazine holds; apart from it, so that those of all classes are side by side.
 *
 * A colour's word is not committed with the stack: after a sequence that was interrupted in its
 * last instructions it may be wrong until the magazine is next filled or flushed. Then a colour has
 * more in the loaded magazine than it may, or fewer (so its count may be below where it begins), or
 * names a block that does not wait, or none. A loaded magazine that is empty, but for what is
 * counted, is flushed by the first free that it refuses.
 */
struct magazine_store {
    /* By colour, in MAGAZINE_COUNT_MASK: how many blocks the loaded magazine has, from no_blocks
       on. Above: the address of the block that was freed last, modulo 2^32; since one was taken, an
       address far from it. Blocks are freed twice in a row more often than in any other way. */
    uint32_t colour[MAGAZINE_COLOURS];
    /* The counts when it was put aside by a sequence, eight to a word: that of colour c is in
       [c / 32][c % 4], from bit c % 32 / 4 * 4 on. */
    uint32_t full_counts[MAGAZINE_FULL_MOST][2][4];
    uint64_t full_floor[MAGAZINE_FULL_MOST]; /* where in the stack it begins */
    char *stack[]; /* the full ones, and the loaded one above them: as many places as
                      the ceiling may reach */
};

/* One line. All that is written in malloc and free but the store. */
struct magazine {
    /* Blocks in the stack, in the low MAGAZINE_TOP_BITS; above them, mallocs served. */
    _Alignas(LINE_BYTES) _Atomic uint64_t top;
    /* floor: where in the stack the loaded magazine begins. ceiling: how many blocks the stack may
       hold; 0 if the class is not in heavy use here yet, and all is empty. It rises with a load,
       that is when mallocs found the magazine empty, if blocks were flushed for want of room
       before: a CPU that frees what others allocate, or a program that only allocates, caches
       few. full: how many there are. */
    union {
        _Atomic uint64_t bounds;
        struct {
            /* Read alone. Written together, but for a ceiling that rises: see magazine_rise. */
            _Atomic uint16_t floor, ceiling, full;
        };
    };
    struct magazine_store *store; /* constant, from when there is a ceiling */
    uint64_t load;                /* blocks to load at once; constant likewise */
    /* Blocks were flushed for want of room since the ceiling last rose. Relaxed: a hint. */
    atomic_bool overflowed;
    uint32_t multiplier; /* the class's, in the line that free reads; constant likewise */
    uint32_t no_blocks;  /* the count of a colour that the loaded magazine has none of; likewise */
};

union magazine_bounds {
    uint64_t word;
    struct {
        uint16_t floor, ceiling, full, unused;
    };
};

/* Those of all classes for blocks of one NUMA node. */
struct magazine_region {
    _Alignas(LINE_BYTES) uint64_t unused;
    struct magazine of_class[SIZE_CLASS_COUNT];
};

/*
 * Those of one CPU. It has a region for each node, so that free() finds by what the page says, and
 * without a question, either the CPU's magazine of the class, or, for a block of another node, one
 * that nothing ever goes into.
 */
struct magazines {
    struct magazine_region *own;       /* the one of the CPU's node; constant */
    _Atomic uint64_t flushed_at;       /* when they were last emptied, of decay_clock; 0: never */
    bool revoked;                      /* out of the tables; of the thread that revokes */
    uint64_t served[SIZE_CLASS_COUNT]; /* by then; for whoever empties them */
    uint32_t uses[SIZE_CLASS_COUNT];   /* until there is a ceiling; under the sub-heap's lock */
    struct magazine_region region[];   /* by node */
};

/* What the sequences have as numbers; where the fields are they are told (MAGAZINE_LAYOUT). */
static_assert(offsetof(struct magazine, top) == 0 && offsetof(struct magazine_store, colour) == 0,
              "read and written without an offset");
static_assert(offsetof(struct magazine, ceiling) - offsetof(struct magazine, bounds) == 2 &&
                  offsetof(struct magazine, full) - offsetof(struct magazine, bounds) == 4,
              "as in union magazine_bounds; a full magazine is added at bit 32");
/* A count begins below full; a load may bring so many. */
static_assert(MAGAZINE_COUNT_FULL + MAGAZINE_OF_A_COLOUR_MOST <= MAGAZINE_COUNT_MASK, "it fits");
static_assert(MAGAZINE_COLOURS == 64,
              "a colour is masked, and a full one's counts are found, by it");
static_assert(sizeof(struct magazine) == MAGAZINE_BYTES &&
                  sizeof(struct magazine_region) == MAGAZINE_REGION_BYTES &&
                  offsetof(struct magazine_region, of_class) == MAGAZINES_AT,
              "magazine_offset relies on it");

/* That of an offset, counted from a region: from the own one malloc's, from the first one free's.
 */
static inline struct magazine *magazine_from(struct magazine_region *region, uint32_t offset)
{
    return (struct magazine *)(void *)((char *)region + (size_t)offset * 8);
}

/* The loaded magazine has these blocks: sets the counts. The words name the blocks that they named.
 */
static inline void magazine_count(struct magazine *magazine, char *const *blocks, uint32_t count)
{
    uint32_t *colour = magazine->store->colour;

    for (uint32_t i = 0; i < MAGAZINE_COLOURS; i++)
        colour[i] = (colour[i] & ~(uint32_t)MAGAZINE_COUNT_MASK) | magazine->no_blocks;
    for (uint32_t i = 0; i < count; i++)
        colour[magazine_colour(blocks[i])]++;
}

/* Whether the colour's word says that the block at that address was freed last. */
static inline bool magazine_names(uint32_t colour_word, uint32_t address)
{
    return (colour_word ^ address) <= MAGAZINE_COUNT_MASK;
}

/*
 * Whether magazines are worked on by sequences. Written once, before the first sub-heap is
 * published: relaxed, because a thread that finds a magazine has found that sub-heap, and one that
 * reads it before does without magazines.
 */
extern atomic_bool magazine_sequences;

static inline bool magazines_use_sequences(void)
{
    return atomic_load_explicit(&magazine_sequences, memory_order_relaxed);
}

/*
 * The offset of this thread's rseq area, if it may use sequences; else one of these. A thread may
 * not when its area was not registered (off), and in the child of a vfork, see vfork.c.
 */
enum { MAGAZINE_AREA_UNKNOWN = 0, MAGAZINE_AREA_OFF = 1, MAGAZINE_AREA_VFORKED = 2 };
extern __attribute__((tls_model("initial-exec"))) _Thread_local ptrdiff_t magazine_thread_area;

static inline bool magazine_area_is_usable(ptrdiff_t area)
{
    return (size_t)area > MAGAZINE_AREA_VFORKED;
}

/* Whether this is the child of a vfork: it may be killed at any moment, in the parent's memory, so
   it begins nothing that others wait for or that would stay half done. */
static inline bool magazine_thread_is_vforked(void)
{
    return magazine_thread_area == MAGAZINE_AREA_VFORKED;
}

/*
 * What the fast paths go by, in place of that: the offset of every thread's rseq area; where there
 * are no sequences, of 16 bytes of zeros. Written before the first sub-heap is published.
 *
 * In the area a thread announces each sequence, and the kernel clears what it finds announced when
 * the thread was preempted, slept, or took a signal meanwhile. So a fast path that finds nothing
 * announced is that of a thread that may not use sequences, or has not yet, or may have slept: the
 * slow path tells them apart, and looks at the clock for housekeeping in the last case. That costs
 * the fast paths what the look at a variable of the thread's own would.
 */
struct magazine_areas {
    ptrdiff_t all;  /* for free, and for malloc behind the first question */
    ptrdiff_t take; /* for that: in profiled mode it finds nothing announced, ever */
};
/* Hidden in the declaration, too: else GCC loads its address first, for it may be elsewhere. */
extern __attribute__((visibility("hidden"))) struct magazine_areas magazine_areas;

static inline __attribute__((always_inline)) bool magazine_has_announced(ptrdiff_t area)
{
    bool has;

    __asm__ volatile("cmpq $0, %%fs:8(%[area])" : "=@ccne"(has) : [area] "r"(area) : "memory");
    return has;
}

/* The same, found out first if it is unknown. */
ptrdiff_t magazine_area_here(void);

/*
 * By CPU, where malloc and where free find magazines: the region of the CPU's node, and the first
 * region. While the CPU has none, or while they are revoked: one in which all are empty and
 * without room, for ever. Only used with sequences.
 */
extern _Atomic(struct magazine_region *) magazine_to_take[CPU_HEAPS], magazine_to_put[CPU_HEAPS];

/* Once, before all else, and idempotent. nodes: how many NUMA nodes there are. */
void magazines_choose(bool sequences, unsigned nodes);

/* Magazines that are empty and without room, for ever: as many regions as a CPU can have. Read,
   never written. */
extern struct magazine_region magazines_without_room[MAGAZINE_NODES];

/*
 * For a CPU of the node, when its sub-heap is made. With sequences they are published, or are those
 * that the CPU has already: they stay when its sub-heap is replaced after a fork. NULL when out of
 * memory. What is not published the caller may destroy.
 */
struct magazines *magazines_provide(uint32_t cpu, unsigned node);
void magazines_destroy(struct magazines *magazines);

/* For the holder of the sub-heap's lock: the class has a magazine on the CPU from now on. False
   when out of memory. */
bool magazine_open(struct magazines *magazines, unsigned size_class);

/*
 * For the holder of the sub-heap's lock, with a load: the class may hold a step more from now on,
 * if it overflowed and there is room in what the CPU may hold. One store of the ceiling (release:
 * the pages of the new places are there). Whoever puts aside or reloads meanwhile writes back the
 * ceiling that it read, and so may undo the rise; either ceiling is right.
 */
void magazine_rise(struct magazines *magazines, unsigned size_class);

/*
 * For a caller with exclusive access and the lock: gives an empty magazine its first ceiling again.
 * A class that served nothing since it last did has no magazine any more.
 */
void magazine_begin_anew(struct magazines *magazines, unsigned size_class);

/* How many blocks wait, and how many mallocs were served: of any CPU's, roughly if it is at work.
 */
uint32_t magazine_cached(const struct magazine *magazine);
uint64_t magazine_served(const struct magazine *magazine);

/* How many of those that wait say MAGAZINE_UNTOUCHED. A look at each. */
uint32_t magazine_cached_untouched(const struct magazine *magazine);

/* By CPU: NULL, or what was published for it; see magazines_provide. To be read only. */
extern _Atomic(struct magazines *) magazines_published[CPU_HEAPS];

/* Those published for the CPU, or NULL. To be read only, but by who revoked them. */
struct magazines *magazines_of(uint32_t cpu);

/*
 * Takes the magazines of the CPU, or of ALL_CPUS, out of the tables and waits until no sequence
 * works on one: those that are revoked are the caller's then, who may use magazine_exclusive.h on
 * them, until magazines_restore. False when the kernel cannot do that (before Linux 5.10), another
 * thread is at it, or in the child of a vfork: none is revoked then. Two system calls.
 */
enum { ALL_CPUS = -1 };
bool magazines_revoke(int32_t of_cpu);
void magazines_restore(void);

/* Whether the CPU is without magazines now. */
static inline bool magazines_are_revoked(uint32_t cpu)
{
    return atomic_load(&magazine_to_put[cpu]) == magazines_without_room;
}

/* In the child of a fork: no other thread has revoked any. */
void magazines_after_fork(void);

#endif
