/*
 * SPDX-License-Identifier: MIT
 *
 * Which lines move between cores, and why.
 *
 * A move is a miss to which another core's private caches contributed: the data, or the right to
 * write that they gave up. Its cycles are those from the access to the end of the miss.
 *
 * A stay of a line in a core begins with a move and ends with the core's next one on that line. A
 * read move and the write move that follows it, if nobody wrote in between, begin one stay
 * together: that is how a counter is incremented. When a stay ends it is judged by bytes:
 *  - OTHERS WROTE: bytes that other cores wrote between the core's move before and this one;
 *  - OTHERS USED, for a stay with a write move: bytes that other cores read or wrote since the core
 *    was last alone with the line: it is their copies that the write takes away.
 * True sharing: the core accesses in the stay a byte that others wrote, or writes one that others
 * used. False sharing: others wrote or used bytes, none of them such. A core's first stay is
 * neither, as a cold miss is neither in the classification of Dubois et al. (ISCA 1993), whose rule
 * this is, by bytes and with writes over others' reads beside.
 *
 * A line is followed from its first move on. At most SHARING_LINES are; moves of others are
 * counted, and not told apart.
 */
#ifndef CHIP_SHARING_H
#define CHIP_SHARING_H

#include "chip/engine/block_map.h"
#include "chip/sharing/heap.h"

enum {
    SHARING_LINES = 1 << 18,
    SHARING_SITES = 24, /* code sites of a line that are told apart; the first ones */
    SHARING_BLOCKS = 8, /* heap blocks of a line; a bit each in a stay */
    SHARING_BLOCK_MOST = 64,
    SHARING_TAKERS = 6, /* places that take a lock that are told apart; the first ones */
};

enum sharing_kind {
    SHARING_FIRST, /* the core's first stay */
    SHARING_TRUE,
    SHARING_IN_BLOCK,  /* false; one heap block has bytes of both sides */
    SHARING_BETWEEN,   /* false; each side's bytes are in heap blocks, and no block has both */
    SHARING_ELSEWHERE, /* false; the bytes of a side are in no heap block */
    SHARING_AGAIN,     /* nobody changed it: the core had evicted it */
    SHARING_KINDS
};

/* Rules that the tests take out. */
enum sharing_mutant {
    SHARING_RULES,
    SHARING_WITHOUT_BYTES,  /* all bytes of a line are one */
    SHARING_WITHOUT_READS,  /* what others read is not what they used */
    SHARING_WITHOUT_JOINS,  /* each move begins a stay */
    SHARING_WITHOUT_FIRST,  /* a core's first stay is like any other */
    SHARING_WITHOUT_BLOCKS, /* heap blocks are not looked at */
    SHARING_MUTANTS
};

#ifdef CHIP_MUTANTS
#define SHARING_MUTANT(sharing, name) ((sharing)->mutant == SHARING_WITHOUT_##name)
#else
#define SHARING_MUTANT(sharing, name) ((void)(sharing), false)
#endif

struct sharing_tally {
    uint64_t moves, cycles;
};

struct sharing_site {
    uint32_t site;                /* for trace_site; 0: not known */
    uint64_t read, written;       /* bytes of the line */
    uint64_t cores;               /* a bit each */
    struct sharing_tally started; /* moves that it started */
};

struct sharing_block {
    uint64_t address, end; /* with the program, see HEAP_ADDRESS */
    uint32_t stack;
    uint64_t cores; /* that accessed it, a bit each */
    uint64_t moves; /* of stays in which the core accessed it */
};

struct sharing_line {
    uint64_t block; /* the number of the line, as in the caches */
    struct sharing_tally of[SHARING_KINDS];
    struct sharing_tally all;
    struct sharing_site *sites;
    struct sharing_stay *stays; /* one a core that has had a move */
    struct sharing_block blocks[SHARING_BLOCKS];
    uint8_t site_count, stay_count, block_count;
};

struct sharing_lock {
    unsigned call;                     /* enum trace_call */
    uint32_t taken_at[SHARING_TAKERS]; /* code sites, in the order of their first time */
    uint8_t takers;
};

struct sharing {
    unsigned block, shift, window;
    struct block_map index; /* line to place in lines[], from 1 */
    struct sharing_line **lines;
    size_t line_count, line_room;
    struct block_map lock_index; /* HEAP_ADDRESS to place in locks[], from 1 */
    struct sharing_lock *locks;
    size_t lock_count;
    struct heap heap;
    struct sharing_miss *misses; /* [core][mshr] */
    struct sharing_tally not_followed;
    bool stopped; /* the region of interest is over */
    enum sharing_mutant mutant;
};

/* Of a machine with blocks of up to SHARING_BLOCK_MOST bytes. */
struct sharing *sharing_new(unsigned block, unsigned cores, unsigned window);
void sharing_free(struct sharing *sharing);

/* An access of a core to bytes of one line: it hit, or it started the miss `mshr` of the core. */
struct sharing_access {
    uint64_t block;
    uint64_t address;
    unsigned size;
    uint32_t site;
    bool reads, writes;
};
void sharing_hit(struct sharing *sharing, unsigned core, const struct sharing_access *access);
void sharing_missed(struct sharing *sharing, unsigned core, unsigned mshr,
                    const struct sharing_access *access);
/* It waits for a miss under way. `then`: for the write that follows that read. */
void sharing_merged(struct sharing *sharing, unsigned core, unsigned mshr, bool then,
                    const struct sharing_access *access);

/* The miss is over, or its read is and its write follows (`over` false). */
struct sharing_end {
    uint64_t block;
    uint64_t cycles;
    unsigned mshr;
    bool moved; /* another core contributed */
    bool write;
    bool over;
};
void sharing_completed(struct sharing *sharing, unsigned core, const struct sharing_end *end);

/* A lock was taken by a call from this code site. */
void sharing_locked(struct sharing *sharing, uint64_t address, unsigned call, uint32_t site);

/* The lock at the address, or NULL. */
const struct sharing_lock *sharing_lock_at(const struct sharing *sharing, uint64_t address);

/* Forgets what was counted: the region of interest begins. */
void sharing_restart(struct sharing *sharing);

/* Judges the stays that have not ended. Nothing is counted from here on. */
void sharing_stop(struct sharing *sharing);

#endif
