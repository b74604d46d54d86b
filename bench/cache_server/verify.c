/*
 * SPDX-License-Identifier: MIT
 *
 * See verify.h.
 */
#include "verify.h"

#include "assoc.h"
#include "content.h"
#include "items.h"
#include "slabs.h"
#include "stats.h"

struct tally {
    const char *complaint;
    uint64_t items, bytes;
    uint64_t class_items[SLAB_CLASSES_MOST], class_bytes[SLAB_CLASSES_MOST];
};

static void check_item(struct item *item, uint32_t hash, void *argument)
{
    struct tally *tally = argument;

    if (hash != item_hash(item->data, item->key_size))
        tally->complaint = "an item is in a chain of another hash";
    else if ((item->flags & (ITEM_LINKED | ITEM_SLABBED)) != ITEM_LINKED)
        tally->complaint = "an item of the table is not marked so";
    else if (item->refcount != 1)
        tally->complaint = "an item has references that nobody holds";
    else if (item->slab_class != slabs_class(item_total(item)))
        tally->complaint = "an item is in a chunk of another class";
    else if (item->data[0] != CONTENT_NUMBER &&
             !content_is_whole(item_value(item), item->value_size, content_number(item->data)))
        tally->complaint = "an item has not the value of its key";
    tally->items++;
    tally->bytes += item_total(item);
    tally->class_items[item->slab_class]++;
    tally->class_bytes[item->slab_class] += item_total(item);
}

/* A doubly linked list of so many items, all with the flag. */
static bool list_is_whole(const struct item *head, const struct item *tail, uint64_t count,
                          unsigned flag)
{
    const struct item *before = NULL;
    uint64_t seen = 0;

    for (const struct item *item = head; item != NULL; item = item->next) {
        if (item->prev != before || (item->flags & flag) == 0 || ++seen > count)
            return false;
        before = item;
    }
    return seen == count && (tail == NULL || before == tail);
}

static const char *check_class(unsigned class, const struct tally *tally)
{
    const struct slab_class *slabs = &slab_classes[class];
    const struct item_list *list = &item_lists[class];

    if (list->count != tally->class_items[class] || (list->count > 0) != (list->tail != NULL) ||
        !list_is_whole(list->head, list->tail, list->count, ITEM_LINKED))
        return "an LRU list does not have the items of the table";
    if (!list_is_whole(slabs->free_list, NULL, slabs->free_count, ITEM_SLABBED))
        return "a free list is broken";
    if (slabs->free_count + list->count != (uint64_t)slabs->pages * slabs->chunks)
        return "a slab class has chunks that are neither free nor an item's";
    if (slabs->requested != tally->class_bytes[class])
        return "a slab class counts other bytes than its items have";
    return NULL;
}

const char *verify_cache(void)
{
    struct tally tally = {0};
    size_t pages = 0;

    assoc_walk(check_item, &tally);
    for (unsigned i = 1; i <= slab_classes_used && tally.complaint == NULL; i++) {
        tally.complaint = check_class(i, &tally);
        pages += slab_classes[i].pages;
    }
    if (tally.complaint == NULL && pages != slabs_pages_used())
        tally.complaint = "pages of memory were lost";
    if (tally.complaint == NULL &&
        (tally.items != stats.current_items || tally.bytes != stats.current_bytes))
        tally.complaint = "the counts of items and bytes are not those of the table";
    if (tally.complaint == NULL && (stats.hash_is_expanding || stats.rebalance_is_running))
        tally.complaint = "a maintenance thread ended before its work";
    return tally.complaint;
}
