/*
 * SPDX-License-Identifier: MIT
 *
 * The operations of a trace that is being written, each with its number.
 */
#ifndef TRACE_OPERATION_TABLE_H
#define TRACE_OPERATION_TABLE_H

#include "trace/format.h"

#include <stdlib.h>
#include <string.h>

struct operation_table {
    struct trace_operation *operations; /* by number */
    uint32_t used;
    uint32_t *slots; /* a number + 1; 0: free */
    uint32_t slot_bits;
    uint32_t recent[256]; /* the number that was found last for a part of the hash */
};

/* False: out of memory. The table has to be freed in both cases. */
static inline bool operation_table_init(struct operation_table *table)
{
    *table = (struct operation_table){.slot_bits = 12};
    table->operations = malloc(sizeof *table->operations << (table->slot_bits - 1));
    table->slots = calloc((size_t)1 << table->slot_bits, sizeof *table->slots);
    return table->operations != NULL && table->slots != NULL;
}

static inline void operation_table_free(struct operation_table *table)
{
    free(table->operations);
    free(table->slots);
}

static inline bool operation_is(const struct trace_operation *one,
                                const struct trace_operation *other)
{
    return one->kind == other->kind && one->what == other->what && one->flags == other->flags &&
           one->size == other->size && one->site == other->site;
}

static inline uint64_t operation_hash(const struct trace_operation *operation)
{
    uint64_t key = (uint64_t)operation->site << 32 | (uint64_t)operation->size << 16 |
                   (uint64_t)operation->kind << 8 | (uint64_t)operation->what << 4 |
                   operation->flags;

    return key * 0x9e3779b97f4a7c15U;
}

/* The slot of the operation, or the free one where it belongs. */
static inline uint32_t *operation_slot(const struct operation_table *table,
                                       const struct trace_operation *operation)
{
    uint64_t mask = ((uint64_t)1 << table->slot_bits) - 1;
    uint64_t i = operation_hash(operation) >> (64 - table->slot_bits);

    while (table->slots[i] != 0 &&
           !operation_is(&table->operations[table->slots[i] - 1], operation))
        i = (i + 1) & mask;
    return &table->slots[i];
}

/* At most half of the slots are in use. */
static inline bool operation_table_grow(struct operation_table *table)
{
    struct trace_operation *operations =
        realloc(table->operations, sizeof *operations << table->slot_bits);
    uint32_t *slots = calloc((size_t)2 << table->slot_bits, sizeof *slots);

    if (operations != NULL)
        table->operations = operations;
    if (operations == NULL || slots == NULL) {
        free(slots);
        return false;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_bits++;
    for (uint32_t i = 0; i < table->used; i++)
        *operation_slot(table, &table->operations[i]) = i + 1;
    return true;
}

/* The number of the operation: table->used as it was before where it is new. False: out of memory.
 */
static inline bool operation_table_find(struct operation_table *table,
                                        const struct trace_operation *operation, uint32_t *number)
{
    uint32_t *recent = &table->recent[operation_hash(operation) >> 56];
    uint32_t *slot;

    if (*recent < table->used && operation_is(&table->operations[*recent], operation)) {
        *number = *recent;
        return true;
    }
    slot = operation_slot(table, operation);
    if (*slot == 0) {
        if (table->used == (uint32_t)1 << (table->slot_bits - 1)) {
            if (!operation_table_grow(table))
                return false;
            slot = operation_slot(table, operation);
        }
        table->operations[table->used++] = *operation;
        *slot = table->used;
    }
    *number = *recent = *slot - 1;
    return true;
}

#endif
