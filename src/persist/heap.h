/*
 * SPDX-License-Identifier: MIT
 *
 * Allocation in a region. The table of pages in the region says which blocks are allocated by
 * committed transactions. A copy in ordinary memory says besides which ones are promised to
 * transactions that are open, and where there is room; it is made anew when the region is opened.
 * So a transaction that is aborted, or that a power cut ends, loses no memory.
 *
 * Invariant, for each block: allocated in the table implies taken here. Between transactions the
 * two are equal.
 *
 * Thread-safe by a lock of its own, but for the functions that say that the caller holds the commit
 * lock, which is taken first.
 */
#ifndef MPLACE_PERSIST_HEAP_H
#define MPLACE_PERSIST_HEAP_H

#include "persist/format.h"
#include "persist/size_class.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define NO_PAGE UINT32_MAX

struct heap_page {
    uint64_t what;           /* as in page_entry, of the first page of a span or large block */
    uint64_t taken;          /* blocks that are allocated, or promised */
    uint64_t pending;        /* blocks that open transactions were promised, or free */
    uint32_t first;          /* first page of the span or large block; NO_PAGE: free */
    uint32_t next, previous; /* in the class's list of spans that have room; NO_PAGE: none */
};

struct heap {
    pthread_mutex_t lock;
    uint8_t *view; /* the memory area */
    uint64_t pages_offset, pages;
    struct heap_page *page; /* an entry a page */
    uint32_t cursor;        /* where the search for free pages goes on */
    uint32_t colour;        /* line that the next large block begins at */
    struct {
        uint32_t room;  /* first span with room */
        uint32_t block; /* where in a span the search goes on: the colours come in turn */
    } of_class[CLASSES];
};

/* Reads the table. 0, ENOMEM, or EBADMSG: it is damaged. */
int heap_start(struct heap *heap, uint8_t *view, uint64_t pages);
void heap_end(struct heap *heap);

/* Promises a block of size bytes, from 1, to a transaction. 0: there is none. */
uint64_t heap_promise(struct heap *heap, uint64_t size);

/* Takes the promise back. */
void heap_break_promise(struct heap *heap, uint64_t block);

/* Notes that a transaction frees the block. False: there is no such block, or it is promised, or
   being freed. */
bool heap_begin_free(struct heap *heap, uint64_t block);

/* The block stays: it is allocated by a committed transaction, or is not freed after all. */
void heap_keep(struct heap *heap, uint64_t block);

/*
 * The entry as it will be when the block is allocated, or freed, and where it belongs. Writes
 * nothing. The caller holds the commit lock, and stores it before the next call.
 */
struct page_entry *heap_entry_of(struct heap *heap, uint64_t block, bool allocated,
                                 struct page_entry *entry);

/* The free is committed: the block may be promised again. The caller holds the commit lock. */
void heap_end_free(struct heap *heap, uint64_t block);

/* Blocks that are allocated or promised; for tests. */
uint64_t heap_count_taken(struct heap *heap);

#endif
