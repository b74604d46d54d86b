/*
 * SPDX-License-Identifier: MIT
 *
 * A sorted list of up to 512 keys, half of them there: each transaction reads its way to the key.
 */
#include "workload.h"

#include "harness/random.h"

#include <stdbool.h>
#include <stdlib.h>

struct node {
    uint64_t key;
    struct node *next;
};

enum { KEYS = 512 };

static struct node *first;

/* The link behind which the key is or belongs. */
__attribute__((transaction_safe)) static struct node **place_of(uint64_t key)
{
    struct node **link = &first;

    while (*link != NULL && (*link)->key < key)
        link = &(*link)->next;
    return link;
}

__attribute__((transaction_safe)) static int insert(uint64_t key)
{
    struct node **link = place_of(key);

    if (*link != NULL && (*link)->key == key)
        return 0;
    struct node *node = malloc(sizeof *node);
    node->key = key;
    node->next = *link;
    *link = node;
    return 1;
}

__attribute__((transaction_safe)) static int take_out(uint64_t key)
{
    struct node **link = place_of(key);
    struct node *node = *link;

    if (node == NULL || node->key != key)
        return 0;
    *link = node->next;
    free(node);
    return -1;
}

static int64_t create(uint64_t seed)
{
    int64_t size = 0;

    while (size < KEYS / 2)
        size += insert(random_below(&seed, KEYS));
    return size;
}

/* What a look-up found must be used, or the compiler leaves it out. */
static _Thread_local bool found;

static int operate(uint64_t key, unsigned percent)
{
    int change = 0;

    if (percent < INSERTS) {
        __transaction_atomic
        {
            change = insert(key);
        }
    } else if (percent < INSERTS + REMOVALS) {
        __transaction_atomic
        {
            change = take_out(key);
        }
    } else {
        bool is_there;

        __transaction_atomic
        {
            struct node *node = *place_of(key);

            is_there = node != NULL && node->key == key;
        }
        found = is_there;
    }
    return change;
}

static const char *check(int64_t size)
{
    int64_t count = 0;

    for (const struct node *node = first; node != NULL; node = node->next, count++) {
        if (node->next != NULL && node->next->key <= node->key)
            return "the list is out of order";
    }
    return count == size ? NULL : "a node was lost or is there twice";
}

const struct workload workload_list = {
    .name = "list", .keys = KEYS, .create = create, .operate = operate, .check = check};
