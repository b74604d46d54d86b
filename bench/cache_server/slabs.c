/*
 * SPDX-License-Identifier: MIT
 *
 * See slabs.h.
 */
#include "slabs.h"

#include "locks.h"

#include "harness/pages.h"

enum { LEAST_CHUNK = 96 };

struct slab_class slab_classes[SLAB_CLASSES_MOST];
unsigned slab_classes_used;

static char *memory;
static size_t pages_limit, pages_used; /* of memory, in order: pages_used is the slabs lock's */

bool slabs_init(size_t pages)
{
    size_t size = LEAST_CHUNK;
    unsigned class = 1;

    pages_limit = pages;
    memory = pages_map(pages + SLAB_CLASSES_MOST, SLAB_PAGE_SIZE);
    for (; size <= SLAB_PAGE_SIZE / 2; class ++, size = (size * 5 / 4 + 7) / 8 * 8) {
        slab_classes[class].size = size;
        slab_classes[class].chunks = (unsigned)(SLAB_PAGE_SIZE / size);
    }
    slab_classes_used = class - 1;
    assert(class <= SLAB_CLASSES_MOST);
    return memory != NULL;
}

SAFE_FROM_MAX unsigned slabs_class(size_t bytes)
{
    for (unsigned class = 1; class <= slab_classes_used; class ++) {
        if (bytes <= slab_classes[class].size)
            return class;
    }
    return CLASS_NONE;
}

static SAFE_FROM_MAX void do_slabs_free(struct item *item, size_t bytes, unsigned class)
{
    struct slab_class *of = &slab_classes[class];

    item->slab_class = CLASS_NONE;
    item->flags = ITEM_SLABBED;
    item->prev = NULL;
    item->next = of->free_list;
    if (item->next != NULL)
        item->next->prev = item;
    of->free_list = item;
    of->free_count++;
    of->requested -= bytes;
}

SAFE_FROM_MAX void do_slabs_unlink_free(struct item *item, unsigned class)
{
    struct slab_class *of = &slab_classes[class];

    if (of->free_list == item)
        of->free_list = item->next;
    if (item->next != NULL)
        item->next->prev = item->prev;
    if (item->prev != NULL)
        item->prev->next = item->next;
    of->free_count--;
}

SAFE_FROM_MAX void do_slabs_split_page(char *page, unsigned class)
{
    for (unsigned i = 0; i < slab_classes[class].chunks; i++)
        do_slabs_free((struct item *)(page + i * slab_classes[class].size), 0, class);
}

SAFE_FROM_LIBRARY bool do_slabs_grow_list(unsigned class)
{
    struct slab_class *of = &slab_classes[class];
    bool room = of->pages < of->pages_listed;

    if (!room) {
        unsigned listed = of->pages_listed == 0 ? 16 : of->pages_listed * 2;
        void **list =
            lib_realloc(of->page_list, of->pages_listed * sizeof *list, listed * sizeof *list);

        if (list != NULL) {
            of->page_list = list;
            of->pages_listed = listed;
            room = true;
        }
    }
    return room;
}

static SAFE_FROM_LIBRARY bool do_slabs_new_page(unsigned class)
{
    struct slab_class *of = &slab_classes[class];
    bool got = (pages_used < pages_limit || of->pages == 0) && do_slabs_grow_list(class);

    if (got) {
        char *page = memory + pages_used * SLAB_PAGE_SIZE;

        of->page_list[of->pages++] = page;
        do_slabs_split_page(page, class);
        pages_used++;
    }
    return got;
}

SAFE_FROM_LIBRARY struct item *slabs_alloc(size_t bytes, unsigned class)
{
    struct slab_class *of = &slab_classes[class];
    struct item *item = NULL;

    SECTION(slabs_lock, LIBRARY)
    {
        ENSURE(of->free_count == 0 || of->free_list->slab_class == CLASS_NONE);
        if (of->free_count > 0 || do_slabs_new_page(class)) {
            item = of->free_list;
            do_slabs_unlink_free(item, class);
            item->flags = 0;
            of->requested += bytes;
        }
    }
    return item;
}

SAFE_FROM_MAX void slabs_free(struct item *item, size_t bytes, unsigned class)
{
    SECTION(slabs_lock, MAX)
    {
        do_slabs_free(item, bytes, class);
    }
}

SAFE_FROM_MAX void slabs_adjust_requested(unsigned class, size_t old_bytes, size_t new_bytes)
{
    SECTION(slabs_lock, MAX)
    {
        slab_classes[class].requested += new_bytes - old_bytes;
    }
}

SAFE_FROM_MAX unsigned slabs_page_number(const void *address)
{
    return (unsigned)((size_t)((const char *)address - memory) / SLAB_PAGE_SIZE);
}

size_t slabs_pages_used(void)
{
    return pages_used;
}
