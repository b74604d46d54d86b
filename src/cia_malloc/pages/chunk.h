/*
 * SPDX-License-Identifier: MIT
 *
 * A chunk: up to 4 MiB of pages that belong to one sub-heap, and, kept away from them, what is
 * known about each page. Hands out runs of pages and takes them back; purge.c purges what lies
 * free.
 *
 * Everything here but the remote words is read and written under the lock of the sub-heap that owns
 * the chunk. What asks the kernel is done without it, by the thread that chose it under the lock,
 * once it has given the lock up (purge.h).
 */
#ifndef MPLACE_CIA_CHUNK_H
#define MPLACE_CIA_CHUNK_H

#include "cia_malloc/pages/circle.h"
#include "cia_malloc/pages/page_bits.h"
#include "cia_malloc/pages/page_map.h"

#include <assert.h>

struct subheap;

/* What is to be populated once the lock is given up. Of one sub-heap. */
struct pending_pages {
    uint32_t count;
    struct {
        char *address;
        size_t bytes;
    } range[32];
};

enum {
    CHUNK_SPANS = 4 * CHUNK_PAGES,
    CHUNK_HALVES = 2, /* as long as a huge page each */
    HALF_PAGES = CHUNK_PAGES / CHUNK_HALVES,
};

/*
 * A span's words, one cache line, written under the sub-heap's lock only. A bit is a block: see
 * span_bit_of_block. A large block has bit 0 alone.
 */
struct span {
    struct circle_link link; /* of partial spans of its class and type */
    uint64_t free;           /* may be handed out; remote frees not yet drained are not in it */
    uint64_t untouched;      /* reads as zero: calloc need not zero it */
    uint64_t interior;       /* handed out from an address inside the block, for its alignment */
    char *base;              /* block 0; for a large block its address */
    struct chunk *chunk;
    uint8_t size_class; /* or CLASS_LARGE */
    uint8_t type;
    uint8_t phase;
    bool listed;       /* in its class heap's circle of partial spans of its type */
    uint16_t run_page; /* first page of its run, counted in the chunk */
    uint16_t run_pages;
};

/*
 * Blocks of a span freed by threads that did not hold its sub-heap's lock. Any thread may set bits;
 * the one that finds the word 0 also pushes the span onto the owner's inbox. The holder of the
 * owner's lock takes the inbox, then the words: see subheap_drain. A line of its own, so that
 * remote frees do not fetch the line that the owner works on.
 */
struct span_remote {
    _Alignas(LINE_BYTES) _Atomic uint64_t freed;
    /* In the inbox; written by the pusher, read by the drainer. Not before, so that the page of a
       span that no other thread frees of is not touched. */
    struct span_remote *next;
    struct chunk *chunk;
    /* Of blocks with their bit in span.interior: log2 of the alignment less 7, its low and its high
       bit. Under the owner's lock, read by whoever frees the block. */
    uint64_t alignment[2];
};

struct chunk {
    struct circle_link link; /* of chunks of the sub-heap, see struct page_heap */
    uint32_t used_pages;
    uint32_t dirty_pages;          /* free, but touched or filled */
    uint32_t longest_free;         /* an upper bound of the longest free run, in pages */
    struct subheap *owner;         /* constant */
    uint8_t node;                  /* constant: the memory node of its pages, if it has any left */
    char *base;                    /* constant */
    uint8_t circle;                /* which of those */
    uint8_t huge_halves;           /* bit h: the kernel was asked for a huge page for half h */
    bool stays_huge;               /* constant: an empty half is a huge page again */
    uint16_t mapped_pages;         /* constant: its pages, from base on; the others count as used */
    struct pending_pages *pending; /* constant: of the sub-heap */
    struct circle_link **with_idle_runs; /* constant: the head of the sub-heap's circle of chunks
                                            that may have one, see class_heap_retire_current */
    struct circle_link idle_run_link;    /* in it; next is NULL: no run is idle */
    struct circle_link dirty_link;       /* see struct page_heap; next is NULL: in no such circle */

    /* Work without the lock. While worker is not NULL the rest belongs to that thread. */
    void *worker;            /* the thread pointer of who does it */
    struct chunk *work_next; /* in a list of chunks in work, whose work is done, or that are
                                to be destroyed, whose worker is NULL */
    uint8_t splitting;       /* bit h: half h is to be a huge page no more */
    uint64_t purging[CHUNK_WORDS];
    uint64_t purged[CHUNK_WORDS]; /* of those, the ones that the kernel took */

    uint64_t used[CHUNK_WORDS]; /* in a run */
    /* A page whose bit is not set reads as zero and has no byte of any block that was ever handed
       out since: see populate.h, which sets the bits. One that is touched or filled, and not used,
       is dirty. */
    uint64_t touched[CHUNK_WORDS];
    uint64_t filled[CHUNK_WORDS]; /* the kernel may have filled it in, as a part of a huge page */
    struct page_info *pages;      /* constant: of the page map, CHUNK_PAGES of them */
    /* Constant: with CIA_HARDEN=1 a word for each line, see hardened.c; those of pages that are in
       no run are 0. Else NULL. */
    _Atomic uint32_t *marks;
    /* Indexed by page. The spans of a run take the entries from the run's first page on; where it
       has more spans than pages, at most two a page, those CHUNK_PAGES further as well: see
       class_layout_span. */
    _Alignas(LINE_BYTES) struct span spans[CHUNK_SPANS];
    struct span_remote remotes[CHUNK_SPANS];
};

static_assert(sizeof(struct span) == LINE_BYTES, "a span's words are one line");
static_assert(sizeof(struct span_remote) == LINE_BYTES, "remote words do not share a line");

/*
 * A run of so many pages, beginning at a page whose number, address / PAGE_BYTES, is residue modulo
 * modulus (a power of two), and if that is to be had at none that avoid names: bit n stands for
 * numbers of n modulo 64. It names some of the allowed pages, not all.
 */
struct page_request {
    uint32_t pages;
    uint32_t modulus, residue;
    uint64_t avoid;       /* 0 unless the modulus is at most 64 */
    bool populated_later; /* as populate.h does; else all pages count as touched at once */
};

struct page_run {
    struct chunk *chunk;
    uint32_t page; /* its first, counted in the chunk */
    bool clean;    /* every page reads as zero */
};

/*
 * NULL when out of memory. A chunk of so many pages, at most CHUNK_PAGES, registered; its pages are
 * to come from the memory node. huge: it has CHUNK_PAGES, and the kernel is asked for huge pages
 * for it; else it is asked for none, because where it gives them to everyone a program that uses a
 * few blocks would hold 2 MiB for them. Needs no lock: the caller sets owner, stays_huge and
 * pending.
 */
struct chunk *chunk_create(uint32_t pages, uint8_t node, bool huge);

/*
 * CHUNK_BYTES of the memory node for a chunk, out of a mapping that long blocks left a moment ago:
 * pages that the program may have written to. NULL: there are none. Needs no lock. The one function
 * that pages/ calls of large/, where it is defined (huge.c).
 */
char *chunk_addresses_kept(uint8_t node);

/* The chunk must have no used page, be in no list, and have no work. Needs no lock. */
void chunk_destroy(struct chunk *chunk);

/*
 * Finds a free run as requested, at none of the pages to be avoided if that is preferred, and marks
 * it used. False: it has none.
 */
bool chunk_take_pages(struct chunk *chunk, const struct page_request *request, bool preferred,
                      struct page_run *run);

/* Gives a run back; those of its pages that were touched count as dirty, and all free ones of a
   huge page that it has a part of. */
void chunk_return_pages(struct chunk *chunk, uint32_t first, uint32_t pages);

/*
 * Has the pages of a range populated that were not touched, and with the last of them up to so many
 * behind the range, as far as those were not touched either: they count as touched, and are
 * populated when the lock is given up. The caller's blocks lie there, so the run lives until then.
 */
void chunk_populate(struct chunk *chunk, uint32_t first, uint32_t pages, uint32_t ahead);

/* The dirty pages of a word of the bitmaps, by their bits. */
static inline uint64_t chunk_dirty_in_word(const struct chunk *chunk, uint32_t w)
{
    return (chunk->touched[w] | chunk->filled[w]) & ~chunk->used[w];
}

/* How many pages are dirty, from the first one of a word on, whole words of pages. */
static inline uint32_t chunk_count_dirty(const struct chunk *chunk, uint32_t first, uint32_t pages)
{
    uint32_t count = 0;

    for (uint32_t w = first / 64; w < (first + pages) / 64; w++)
        count += (uint32_t)__builtin_popcountll(chunk_dirty_in_word(chunk, w));
    return count;
}

/* Says that one of its runs may be idle, or that none is. */
static inline void chunk_note_idle_run(struct chunk *chunk)
{
    if (chunk->idle_run_link.next == NULL)
        circle_append(chunk->with_idle_runs, &chunk->idle_run_link);
}

static inline void chunk_forget_idle_run(struct chunk *chunk)
{
    circle_forget(chunk->with_idle_runs, &chunk->idle_run_link);
}

/* A span and its remote words have the same index in their chunk. */
static inline struct span *span_of_remote(struct span_remote *remote)
{
    return &remote->chunk->spans[remote - remote->chunk->remotes];
}

#endif
