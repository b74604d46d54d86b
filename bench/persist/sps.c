/*
 * SPDX-License-Identifier: MIT
 *
 * sps: swaps two entries of 8 B of an array, which begins as 0, 1, 2 ... and stays a permutation.
 */
#include "workload.h"

#include <stdlib.h>

struct array {
    uint64_t count;
    uint64_t entry[];
};

enum { ENTRIES_AT_ONCE = 512 };

static uint64_t create(struct session *session, uint64_t keys)
{
    uint64_t root, entries[ENTRIES_AT_ONCE];
    struct array *array;

    store_begin(session);
    root = store_alloc(session, sizeof(struct array) + keys * sizeof(uint64_t));
    array = store_at(session, root);
    store_u64(session, &array->count, keys);
    store_commit(session, true);
    for (uint64_t from = 0; from < keys; from += ENTRIES_AT_ONCE) {
        uint64_t count = keys - from < ENTRIES_AT_ONCE ? keys - from : ENTRIES_AT_ONCE;

        for (uint64_t i = 0; i < count; i++)
            entries[i] = from + i;
        store_begin(session);
        store_write(session, &array->entry[from], entries, count * sizeof *entries);
        store_commit(session, true);
    }
    return root;
}

static void operate(struct session *session, uint64_t key, uint64_t random)
{
    struct array *array = store_at(session, session->root);
    uint64_t *one = &array->entry[key], *other = &array->entry[random % array->count];
    uint64_t kept = *one;

    store_u64(session, one, *other);
    store_u64(session, other, kept);
}

static const char *check(const struct session *session, const uint8_t *present, uint64_t keys)
{
    const struct array *array = store_at(session, session->root);
    uint8_t *seen = calloc(keys, 1);
    const char *complaint = array->count == keys ? NULL : "the array has another length";

    (void)present;
    for (uint64_t i = 0; i < keys && complaint == NULL; i++) {
        if (array->entry[i] >= keys || seen[array->entry[i]]++)
            complaint = "the array is no permutation";
    }
    free(seen);
    return complaint;
}

const struct workload workload_sps = {"sps", create, operate, check, false, NULL};
