/*
 * SPDX-License-Identifier: MIT
 *
 * hash: a table of chains, an entry a block; as many buckets as keys.
 */
#include "workload.h"

struct entry {
    uint64_t next, key, value;
};

struct table {
    uint64_t buckets;
    uint64_t first[];
};

enum { BUCKETS_AT_ONCE = 512 };

static uint64_t create(struct session *session, uint64_t keys)
{
    static const uint64_t none[BUCKETS_AT_ONCE];
    struct table *table;
    uint64_t root;

    store_begin(session);
    root = store_alloc(session, sizeof *table + keys * sizeof(uint64_t));
    table = store_at(session, root);
    store_u64(session, &table->buckets, keys);
    store_commit(session, true);
    for (uint64_t from = 0; from < keys; from += BUCKETS_AT_ONCE) {
        uint64_t count = keys - from < BUCKETS_AT_ONCE ? keys - from : BUCKETS_AT_ONCE;

        store_begin(session);
        store_write(session, &table->first[from], none, count * sizeof *none);
        store_commit(session, true);
    }
    return root;
}

static uint64_t bucket_of(const struct table *table, uint64_t key)
{
    return (workload_value(key) >> 32) % table->buckets;
}

static void operate(struct session *session, uint64_t key, uint64_t random)
{
    struct table *table = store_at(session, session->root);
    uint64_t *first = &table->first[bucket_of(table, key)], *link = first;
    uint64_t block;
    struct entry *entry;

    (void)random;
    while (*link != 0) {
        entry = store_at(session, *link);
        if (entry->key == key) {
            block = *link;
            store_u64(session, link, entry->next);
            store_free(session, block);
            return;
        }
        link = &entry->next;
    }
    block = store_alloc_node(session, sizeof *entry);
    store_write(session, store_at(session, block),
                &(struct entry){*first, key, workload_value(key)}, sizeof *entry);
    store_u64(session, first, block);
}

static const char *check(const struct session *session, const uint8_t *present, uint64_t keys)
{
    const struct table *table = store_at(session, session->root);
    uint64_t wanted = 0, found = 0;

    for (uint64_t key = 0; key < keys; key++)
        wanted += present[key] & 1;
    for (uint64_t bucket = 0; bucket < table->buckets; bucket++) {
        for (uint64_t block = table->first[bucket]; block != 0; found++) {
            const struct entry *entry = store_at(session, block);

            if (entry->key >= keys || !(present[entry->key] & 1) || found > wanted)
                return "an entry should not be there";
            if (bucket_of(table, entry->key) != bucket)
                return "an entry is in another bucket";
            if (entry->value != workload_value(entry->key))
                return "a value is another one";
            block = entry->next;
        }
    }
    return found == wanted ? NULL : "entries are missing";
}

const struct workload workload_hash = {"hash", create, operate, check, true, NULL};
