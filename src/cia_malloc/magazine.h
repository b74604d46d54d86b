/*
 * SPDX-License-Identifier: MIT
 *
 * A magazine: free blocks of one class, ready for one CPU, at most two of a colour. malloc and free
 * of that CPU work on it alone. It is loaded from the class heap and unloaded to whichever
 * sub-heaps its blocks belong to. (The name is Bonwick's, USENIX 2001. His are stacks.)
 *
 * Placement. A magazine has two levels with a place for each slot of the class's colour cycle; a
 * block goes to its slot's place. malloc takes the first block of the first level, counted from the
 * slot where the class begins; free uses the second level where the first place is taken.
 *   - Blocks never used: the first level is loaded when both are empty, with half a cycle of the
 *     slots that are due. They come out in the class heap's order, so the rule for them, at most
 *     ceil(N / C) + 1 of any N in a row, is as exact as without magazines.
 *   - Recycled blocks: a stack of them could have one colour, if that is what the program freed. At
 *     most two blocks of each colour come from here before the class heap, which keeps count, is
 *     asked for those that are due. To it a block in a magazine is live.
 * A class gets its magazine when it is in heavy use on the CPU. Until then every call asks the
 * class heap, which sees all frees at once and keeps the program's blocks as even as can be.
 *
 * Who may touch one. For the life of a process, one of these holds (magazine_sequences says which):
 *   sequences   only restartable sequences that run on the magazine's CPU: no lock, no locked
 *               instruction. To take one away from another CPU: magazines_withdraw.
 *   lock        only the holder of the sub-heap's lock.
 * A magazine is in order at every instruction: a push writes the place, then the level's occupied
 * word; a pop only the word. So the child of a fork finds all of them in order, wherever the
 * parent's other threads were; what they had in hand is lost to the child.
 */
#ifndef MPLACE_CIA_MAGAZINE_H
#define MPLACE_CIA_MAGAZINE_H

#include "base/rseq.h"
#include "cia_malloc/size_class.h"

#include <assert.h>
#include <stdatomic.h>

enum {
    CPU_HEAPS = 1024, /* CPU numbers beyond it share: right, only slower */

    /* Longer blocks do not wait in magazines. */
    MAGAZINE_LARGEST_LINES = 257,
    MAGAZINE_LARGEST = MAGAZINE_LARGEST_LINES * LINE_BYTES,
    MAGAZINE_CLASSES = 35,
    MAGAZINE_PLACES = 64, /* one word of bits, and the slots of most classes */
    /* A magazine holds no more than this. With fewer places than blocks that come and go in turn,
       they would pass by it all the time. */
    MAGAZINE_BYTES = 128 << 10,

    MAGAZINE_UNTOUCHED = 1, /* in the address of a block that waits: it reads as zero */
};

struct magazine_level {
    _Atomic uint64_t occupied; /* bit p: place[p] holds a block */
    char *place[MAGAZINE_PLACES];
};

struct magazine {
    struct magazine_level level[2];
    uint64_t served; /* mallocs; counted without order, see magazine_pop */
    uint64_t unused[5];
};

/* Those of one CPU. */
struct magazines {
    /* NULL until the class is in heavy use here; then constant. Stored with release by the holder
       of the sub-heap's lock. */
    _Atomic(struct magazine *) of_class[MAGAZINE_CLASSES];
    uint32_t uses[MAGAZINE_CLASSES]; /* until then; under the sub-heap's lock */
    _Alignas(LINE_BYTES) struct magazine storage[MAGAZINE_CLASSES];
};

static_assert(sizeof(struct magazine) == 17 * LINE_BYTES, "odd: they begin in different sets");
static_assert(offsetof(struct magazine_level, place) == 8, "the assembler relies on it");
static_assert(offsetof(struct magazine, level) == 0, "the assembler relies on it");
static_assert(offsetof(struct magazines, of_class) == 0, "the assembler relies on it");

/*
 * Whether magazines are worked on by sequences. Written once, before the first sub-heap is
 * published: relaxed, because who finds a magazine has found that sub-heap, and a thread that reads
 * it before does without magazines.
 */
extern atomic_bool magazine_sequences;

static inline bool magazines_use_sequences(void)
{
    return atomic_load_explicit(&magazine_sequences, memory_order_relaxed);
}

/*
 * The offset of this thread's rseq area, if it may use sequences; else one of these. A thread may
 * not when its area was not registered, and in the child of a vfork, see vfork.c.
 */
enum { MAGAZINE_AREA_UNKNOWN = 0, MAGAZINE_AREA_OFF = 1 };
extern __attribute__((tls_model("initial-exec"))) _Thread_local ptrdiff_t magazine_area;

static inline bool magazine_area_is_usable(ptrdiff_t area)
{
    return (size_t)area > MAGAZINE_AREA_OFF;
}

/* The same, found out first if it is unknown. */
ptrdiff_t magazine_area_here(void);

/*
 * By CPU; NULL while the CPU has none, or while they are withdrawn. Only used with sequences.
 */
extern _Atomic(struct magazines *) magazine_table[CPU_HEAPS];

/*
 * Where in a level a block waits: by its slot in the colour cycle, which follows from its colour.
 * For an odd number of lines n, colour = n * slot mod C, so the slot is the colour times the
 * inverse of n. For an even class it is the colour with its log2 n low bits rotated to the top: (C
 * + 1) * colour is the colour twice, side by side.
 */
struct magazine_geometry {
    uint8_t colours_mask; /* C - 1 */
    uint8_t factor;       /* inverse of n, or C + 1 */
    uint8_t shift;        /* 0, or log2 n */
    uint8_t first;        /* the slot where the class begins, which waits in place 0 */
    uint8_t mask; /* places of a level, a power of two, less one: slots further on share them */
    uint8_t unused[3];
};
static_assert(sizeof(struct magazine_geometry) == 8, "one load");
extern struct magazine_geometry magazine_geometry[MAGAZINE_CLASSES];

static inline uint32_t magazine_place(unsigned size_class, const void *block)
{
    struct magazine_geometry geometry = magazine_geometry[size_class];
    uint32_t colour = (uint32_t)((uintptr_t)block >> LINE_SHIFT) & geometry.colours_mask;

    return ((colour * geometry.factor >> geometry.shift) - geometry.first) & geometry.mask;
}

/*
 * How many blocks to load, one of them for the malloc that found the magazine empty: half a level,
 * so that loads of blocks never used come out in the class heap's order, two to a cycle.
 */
static inline uint32_t magazine_load(unsigned size_class)
{
    return (magazine_geometry[size_class].mask + 1u) / 2;
}

/* Once, before all else. Idempotent. */
void magazines_choose(bool sequences);

/*
 * The sections. Each finds, on the CPU that it runs on, the magazine of the class, and goes to
 * label 6 when there is none. (Not asm goto: GCC 12 loses what is assigned on the way to its labels
 * when the statement has outputs too.)
 */
#define MAGAZINE_FIND                                                                              \
    "movl %%fs:4(%[area]), %k[scratch]\n\t"                                                        \
    "cmpl %[cpus], %k[scratch]\n\t" /* or a negative number */                                     \
    "jae 6f\n\t"                                                                                   \
    "movq (%[table], %[scratch], 8), %[found]\n\t"                                                 \
    "testq %[found], %[found]\n\t"                                                                 \
    "jz 6f\n\t"                                                                                    \
    "movq (%[found], %[class], 8), %[found]\n\t"                                                   \
    "testq %[found], %[found]\n\t"                                                                 \
    "jz 6f\n\t"                                                                                    \
    "addq %[level], %[found]\n\t"                                                                  \
    "movq (%[found]), %[scratch]\n\t" /* occupied */
#define MAGAZINE_INPUTS                                                                            \
    [area] "r"(area), [table] "r"(magazine_table), [cpus] "i"(CPU_HEAPS),                          \
        [class] "r"((uint64_t)size_class), [level] "ri"(level * sizeof(struct magazine_level))

/* The block without what is said of it. */
static inline void *magazine_block(uintptr_t waiting)
{
    return (void *)(waiting & ~(uintptr_t)MAGAZINE_UNTOUCHED);
}

static inline struct magazine *magazine_of_level(struct magazine_level *found, unsigned level)
{
    return (struct magazine *)(void *)(found - level);
}

/* Why a block is taken out. */
enum magazine_purpose { MAGAZINE_SERVE, MAGAZINE_UNLOAD };

/*
 * Takes the first block of a level; 0 when there is none. 20 instructions; writes the level's first
 * line and the thread's rseq area. The count of mallocs follows the section: a thread that is moved
 * to another CPU between the two may spoil it by one.
 */
static inline __attribute__((always_inline)) uintptr_t
magazine_pop(ptrdiff_t area, unsigned size_class, unsigned level, enum magazine_purpose purpose)
{
    uintptr_t block;
    struct magazine_level *found;
    uint64_t occupied;

    __asm__ volatile(RSEQ_BEGIN "xorl %k[block], %k[block]\n\t" MAGAZINE_FIND
                                "testq %[scratch], %[scratch]\n\t"
                                "jz 6f\n\t"
                                /* TZCNT is BSF on processors before it; for all but 0 they agree */
                                "tzcntq %[scratch], %[block]\n\t"
                                "btrq %[block], %[scratch]\n\t"
                                "movq 8(%[found], %[block], 8), %[block]\n\t"
                                "movq %[scratch], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : [scratch] "=&r"(occupied), [found] "=&r"(found), [block] "=&r"(block)
                     : MAGAZINE_INPUTS
                     : "memory", "cc");
    if (__builtin_expect(block != 0, 1) && purpose == MAGAZINE_SERVE)
        magazine_of_level(found, level)->served++;
    return block;
}

enum magazine_answer { MAGAZINE_TAKEN, MAGAZINE_NONE, MAGAZINE_OCCUPIED, MAGAZINE_TWICE };

/* Puts a block into its place. TWICE: it is there already, so it was freed twice. */
static inline __attribute__((always_inline)) enum magazine_answer
magazine_push(ptrdiff_t area, unsigned size_class, unsigned level, uint32_t place, void *block)
{
    uint32_t answer;
    struct magazine_level *found;
    uint64_t occupied;

    __asm__ volatile(RSEQ_BEGIN "movl %[none], %[answer]\n\t" MAGAZINE_FIND
                                "btsq %[place], %[scratch]\n\t"
                                "jnc 5f\n\t"
                                "movl %[taken_before], %[answer]\n\t"
                                "cmpq %[block], 8(%[found], %[place], 8)\n\t"
                                "jne 6f\n\t"
                                "movl %[twice], %[answer]\n\t"
                                "jmp 6f\n\t"
                                "5:\n\t"
                                "movq %[block], 8(%[found], %[place], 8)\n\t"
                                "xorl %[answer], %[answer]\n\t"
                                "movq %[scratch], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : [scratch] "=&r"(occupied), [found] "=&r"(found), [answer] "=&r"(answer)
                     : MAGAZINE_INPUTS, [block] "r"(block), [place] "r"((uint64_t)place),
                       [none] "i"(MAGAZINE_NONE), [taken_before] "i"(MAGAZINE_OCCUPIED),
                       [twice] "i"(MAGAZINE_TWICE)
                     : "memory", "cc");
    return (enum magazine_answer)answer;
}

static_assert(MAGAZINE_TAKEN == 0, "the assembler relies on it");

/*
 * Puts blocks into the places of an empty first level: place[p] for each bit p of occupied. False,
 * and nothing is put, when there is no magazine or it is not empty.
 */
bool magazine_load_empty(unsigned size_class, char *const place[MAGAZINE_PLACES],
                         uint64_t occupied);

/*
 * The same, for the holder of the lock or of a withdrawn magazine. The occupied word is stored last
 * (release: the child of a fork finds the place written).
 */
static inline uintptr_t magazine_pop_held(struct magazine *magazine, unsigned level,
                                          enum magazine_purpose purpose)
{
    struct magazine_level *held = &magazine->level[level];
    uint64_t occupied = atomic_load_explicit(&held->occupied, memory_order_relaxed);

    if (occupied == 0)
        return 0;
    uintptr_t block = (uintptr_t)held->place[__builtin_ctzll(occupied)];
    atomic_store_explicit(&held->occupied, occupied & (occupied - 1), memory_order_release);
    magazine->served += purpose == MAGAZINE_SERVE;
    return block;
}

static inline enum magazine_answer magazine_push_held(struct magazine *magazine, unsigned level,
                                                      uint32_t place, void *block)
{
    struct magazine_level *held = &magazine->level[level];
    uint64_t occupied = atomic_load_explicit(&held->occupied, memory_order_relaxed);

    if ((occupied >> place & 1) != 0)
        return held->place[place] == block ? MAGAZINE_TWICE : MAGAZINE_OCCUPIED;
    held->place[place] = block;
    atomic_store_explicit(&held->occupied, occupied | (uint64_t)1 << place, memory_order_release);
    return MAGAZINE_TAKEN;
}

/* How many blocks wait, and how many mallocs were served: of any CPU's, roughly if it is at work.
 */
uint32_t magazine_waiting(const struct magazine *magazine);
uint64_t magazine_served(const struct magazine *magazine);

/* With sequences: this CPU's magazine of the class or NULL; a hint by the time it is used. */
const struct magazine *magazine_here(unsigned size_class);

/*
 * For the holder of the lock: the magazine of the class, or NULL. Counts a use of the class, and
 * gives it its magazine when those are many.
 */
static inline struct magazine *magazine_use(struct magazines *magazines, unsigned size_class)
{
    /* More than a program's start needs of any class, and done in some 30 us. */
    enum { USES_BEFORE_MAGAZINE = 1024 };
    struct magazine *magazine =
        atomic_load_explicit(&magazines->of_class[size_class], memory_order_relaxed);

    if (__builtin_expect(magazine == NULL, 0) &&
        ++magazines->uses[size_class] > USES_BEFORE_MAGAZINE) {
        magazine = &magazines->storage[size_class];
        atomic_store_explicit(&magazines->of_class[size_class], magazine, memory_order_release);
    }
    return magazine;
}

/* How many blocks wait in the second level. */
static inline uint32_t magazine_second_level(const struct magazine *magazine)
{
    return (uint32_t)__builtin_popcountll(
        atomic_load_explicit(&magazine->level[1].occupied, memory_order_relaxed));
}

/* With sequences: the CPU's magazines from now on. Returns them, or those that it had already. */
struct magazines *magazines_publish(uint32_t cpu, struct magazines *magazines);

/* Those published for the CPU, or NULL. To be read only. */
const struct magazines *magazines_of(uint32_t cpu);

/* Which CPUs' magazines are withdrawn. */
struct magazines_withdrawn {
    uint64_t cpus[CPU_HEAPS / 64];
};

/*
 * Takes the magazines of all CPUs out of the table and waits until no sequence works on one: they
 * are the caller's then, who may use magazine_pop_held on magazines_withdrawn_next, until
 * magazines_return. False when the kernel cannot do that (before Linux 5.10) or another thread is
 * at it: none is withdrawn then. Two system calls.
 */
bool magazines_withdraw(struct magazines_withdrawn *withdrawn);
void magazines_return(const struct magazines_withdrawn *withdrawn);

/* Those of the next CPU from *cpu on, which is moved behind it; NULL when there is none. */
struct magazines *magazines_withdrawn_next(const struct magazines_withdrawn *withdrawn,
                                           uint32_t *cpu);

/* In the child of a fork: no other thread has withdrawn any. */
void magazines_after_fork(void);

#endif
