/*
 * SPDX-License-Identifier: MIT
 *
 * Recovery; see recovery.h.
 *
 * s-wal, h-wal, kiln: the transactions with a commit record (kiln: with the flipped state), from
 * the head's on, in the order of the commits. kiln has no head, and versions in its banks, too.
 *
 * loc-wal, section III.C: (1) the blocks of each transaction are counted; (2) the dependency pairs
 * are read from the last to the first, and a pair <Tx, Ty, n> adds n to Tx if Ty is complete; (3)
 * in the order of the commit issue numbers from the head's on, the first one that is missing or not
 * complete ends the committed ones. With these three steps alone a Tx before that one could be
 * committed whose pair names a Ty behind it: the blocks that Tx left to Ty would be lost. So such a
 * Tx is not committed either, and (3) is repeated with it as the end.
 *
 * Then the blocks of the committed transactions go home, in their order.
 */
#include "chip/persistence/recovery.h"

#include "chip/engine/allocation.h"

#include <string.h>

/* A transaction as the log shows it. */
struct found {
    uint64_t tx, order;
    uint32_t blocks, total;
    bool record;    /* a commit record */
    bool committed; /* decided */
};

struct found_list {
    struct found *all;
    size_t count, room;
    struct block_map places; /* transaction to place, from 1 */
};

static struct found *find(struct found_list *list, uint64_t tx)
{
    uint64_t *place = block_map_add(&list->places, tx);

    if (*place == 0) {
        if (list->count == list->room) {
            list->room = list->room == 0 ? 64 : 2 * list->room;
            list->all = allocation_checked(realloc(list->all, list->room * sizeof *list->all));
        }
        list->all[list->count] = (struct found){.tx = tx};
        *place = ++list->count;
    }
    return &list->all[*place - 1];
}

static void scan(const struct image *image, struct found_list *list)
{
    for (size_t i = 0; i < image->log_count; i++) {
        const struct record *record = &image->log[i];
        struct found *found = find(list, record->tx);

        if (record->order != 0)
            found->order = record->order;
        if (record->kind == RECORD_COMMIT)
            found->record = true;
        if (record->kind == RECORD_PAIR)
            found->total = record->total;
        if (record->kind != RECORD_ENTRY)
            continue;
        found->blocks += record->address != RECORD_NO_ADDRESS;
        if (record->count != 0)
            found->total = record->count;
    }
}

static bool is_complete(const struct image *image, const struct found *found)
{
    return found->total != 0 && (found->blocks == found->total || PERSISTENCE_MUTANT(image, COUNT));
}

static int by_sid(const void *a, const void *b)
{
    const struct record *const *first = a, *const *second = b;

    if ((*first)->sid != (*second)->sid)
        return (*first)->sid < (*second)->sid ? -1 : 1;
    return *first < *second ? -1 : 1; /* of one block: as they stand in it */
}

static int by_order(const void *a, const void *b)
{
    const struct found *first = a, *second = b;

    return first->order < second->order ? -1 : first->order > second->order;
}

/* The dependency pairs, in the order of the log. */
static const struct record **sorted_pairs(const struct image *image, size_t *count)
{
    const struct record **all =
        allocation_checked(malloc((image->log_count + 1) * sizeof(struct record *)));

    *count = 0;
    for (size_t i = 0; i < image->log_count; i++)
        if (image->log[i].kind == RECORD_PAIR)
            all[(*count)++] = &image->log[i];
    qsort(all, *count, sizeof(struct record *), by_sid);
    return all;
}

static void add_pairs(const struct image *image, struct found_list *list)
{
    size_t count;
    const struct record **pairs = sorted_pairs(image, &count);

    while (count-- > 0) {
        bool complete = is_complete(image, find(list, pairs[count]->other));
        struct found *found = find(list, pairs[count]->tx);

        if (complete || PERSISTENCE_MUTANT(image, PAIR_IGNORED))
            found->blocks += pairs[count]->count;
    }
    free(pairs);
}

static void sort_by_order(struct found_list *list)
{
    if (list->count > 0)
        qsort(list->all, list->count, sizeof *list->all, by_order);
    for (size_t i = 0; i < list->count; i++)
        *block_map_find(&list->places, list->all[i].tx) = i + 1;
}

static void decide_by_records(const struct image *image, struct found_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        list->all[i].committed = list->all[i].record && list->all[i].order >= image->head_order;
}

/* The first one that is missing, not complete, or `limit` ends the committed ones. */
static void decide_prefix(const struct image *image, struct found_list *list, uint64_t limit)
{
    uint64_t next = image->head_order;
    bool goes_on = true;

    for (size_t i = 0; i < list->count; i++) {
        struct found *found = &list->all[i];

        if (found->order == 0 || found->order < image->head_order)
            continue;
        if (!PERSISTENCE_MUTANT(image, IN_ORDER))
            goes_on = goes_on && found->order == next++ && found->order < limit;
        found->committed = goes_on && is_complete(image, found);
        if (!PERSISTENCE_MUTANT(image, IN_ORDER))
            goes_on = found->committed;
    }
}

/* A transaction needs each Ty of its pairs among the committed ones, too. */
static void decide_in_order(const struct image *image, struct found_list *list)
{
    uint64_t limit = UINT64_MAX, before;

    do {
        before = limit;
        decide_prefix(image, list, limit);
        for (size_t i = 0; i < image->log_count; i++) {
            const struct found *found = find(list, image->log[i].tx);

            if (PERSISTENCE_MUTANT(image, PAIR_PREFIX) || PERSISTENCE_MUTANT(image, PAIR_IGNORED))
                break;
            if (image->log[i].kind == RECORD_PAIR && found->committed &&
                !find(list, image->log[i].other)->committed && found->order < limit)
                limit = found->order;
        }
    } while (limit != before);
}

/* A block of the log, or of a bank that is not volatile. */
static bool has_data(const struct record *record)
{
    return (record->kind == RECORD_ENTRY || record->kind == RECORD_BANK) &&
           record->address != RECORD_NO_ADDRESS;
}

struct redo {
    uint64_t order;
    const struct record *entry;
};

static int by_redo(const void *a, const void *b)
{
    const struct redo *first = a, *second = b;

    if (first->order != second->order)
        return first->order < second->order ? -1 : 1;
    if (first->entry->sid != second->entry->sid)
        return first->entry->sid < second->entry->sid ? -1 : 1;
    return first->entry < second->entry ? -1 : 1; /* s-wal: a line that was written again */
}

/* The blocks of the committed transactions go home, in the order of the commits and of the log. */
static void redo(struct image *image, struct found_list *list, uint64_t *contents)
{
    struct redo *all = allocation_checked(malloc((image->log_count + 1) * sizeof *all));
    size_t count = 0;

    for (size_t i = 0; i < image->log_count; i++) {
        const struct record *entry = &image->log[i];
        const struct found *found = find(list, entry->tx);

        if (has_data(entry) && found->committed)
            all[count++] = (struct redo){found->order, entry};
    }
    qsort(all, count, sizeof *all, by_redo);
    for (size_t i = 0; i < count; i++)
        contents[image_place(image, all[i].entry->address)] = all[i].entry->data;
    free(all);
}

/* Every block of the log has a place. */
static void make_places(struct image *image, uint64_t **contents)
{
    for (size_t i = 0; i < image->log_count; i++)
        if (has_data(&image->log[i]))
            image_place(image, image->log[i].address);
    *contents = allocation_checked(realloc(*contents, (image->home_count + 1) * sizeof **contents));
    if (image->home_count > 0)
        memcpy(*contents, image->home, image->home_count * sizeof **contents);
}

void recovery_run(struct image *image, enum machine_persistence protocol, uint64_t **contents)
{
    bool counts = protocol == MACHINE_EC_WAL || protocol == MACHINE_LOC_WAL;
    struct found_list list = {0};

    make_places(image, contents);
    scan(image, &list);
    if (counts)
        add_pairs(image, &list);
    sort_by_order(&list);
    if (counts)
        decide_in_order(image, &list);
    else
        decide_by_records(image, &list);
    redo(image, &list, *contents);
    block_map_destroy(&list.places);
    free(list.all);
}
