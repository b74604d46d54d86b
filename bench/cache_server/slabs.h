/*
 * SPDX-License-Identifier: MIT
 *
 * The slab allocator: classes of chunk sizes that grow by a quarter, each with pages of one
 * mebibyte and a list of its free chunks.
 */
#ifndef BENCH_CACHE_SERVER_SLABS_H
#define BENCH_CACHE_SERVER_SLABS_H

#include "item.h"
#include "stats.h"

enum { SLAB_PAGE_SIZE = 1 << 20 };

/* All of it is the slabs lock's once threads run, but size and chunks, which never change. */
struct slab_class {
    size_t size;
    unsigned chunks; /* in a page */
    struct item *free_list;
    unsigned free_count;
    unsigned pages, pages_listed; /* in use; that the list has room for */
    void **page_list;
    size_t requested; /* bytes of items */
};

extern struct slab_class slab_classes[SLAB_CLASSES_MOST]; /* from 1; 0 is CLASS_NONE */
extern unsigned slab_classes_used;                        /* the number of the last one */

/* So many pages, and one more for each class that finds none left. False: there is no memory. */
bool slabs_init(size_t pages);

/* The class of items of so many bytes, or CLASS_NONE. */
SAFE_FROM_MAX unsigned slabs_class(size_t bytes);

/* A chunk for an item of so many bytes, its class CLASS_NONE and its count of references 0; NULL if
   the class has none and there is no page for it. */
SAFE_FROM_LIBRARY struct item *slabs_alloc(size_t bytes, unsigned class);
SAFE_FROM_MAX void slabs_free(struct item *item, size_t bytes, unsigned class);

/* An item of so many bytes becomes one of so many others, in the same chunk. */
SAFE_FROM_MAX void slabs_adjust_requested(unsigned class, size_t old_bytes, size_t new_bytes);

/* Under the slabs lock: takes a free chunk out of the list; puts all chunks of a page into it. */
SAFE_FROM_MAX void do_slabs_unlink_free(struct item *item, unsigned class);
SAFE_FROM_MAX void do_slabs_split_page(char *page, unsigned class);

/* Under the slabs lock: room for one more page in the class's list. */
SAFE_FROM_LIBRARY bool do_slabs_grow_list(unsigned class);

/* Pages count from 0 in the order of their addresses. */
SAFE_FROM_MAX unsigned slabs_page_number(const void *address);

/* While no thread runs. */
size_t slabs_pages_used(void);

#endif
