/*
 * SPDX-License-Identifier: MIT
 *
 * A home and the list of its transactions; see home.h.
 */
#include "chip/coherence/home.h"

#include "chip/engine/allocation.h"

#include <stdlib.h>

bool home_init(struct home *home, struct fabric *fabric, unsigned index,
               const struct home_policy *policy, uint32_t rows, uint32_t ways, uint32_t ways_most)
{
    const struct machine *machine = fabric->machine;
    uint32_t sets = machine->llc.size / machine->llc.banks / machine->block / machine->llc.ways;

    *home = (struct home){.fabric = fabric, .policy = policy, .agent = machine->core.count + index};
    return array_init(&home->llc, sets, machine->llc.ways, fabric->bank_shift) &&
           (rows == 0 ||
            directory_init(&home->directory, rows, ways, ways_most, fabric->bank_shift));
}

void home_destroy(struct home *home)
{
    while (home->free != NULL) {
        struct transaction *next = home->free->next;

        free(home->free);
        home->free = next;
    }
    for (size_t i = 0; home->transactions.used > 0 && i <= home->transactions.mask; i++)
        if (home->transactions.entries[i].block != UINT64_MAX)
            free((void *)(uintptr_t)home->transactions.entries[i].value);
    block_map_destroy(&home->transactions);
    array_destroy(&home->llc);
    directory_destroy(&home->directory);
    if (home->has_filter)
        filter_destroy(&home->filter);
}

struct transaction *home_transaction(const struct home *home, uint64_t block)
{
    uint64_t *found = block_map_find(&home->transactions, block);

    return found == NULL ? NULL : (struct transaction *)(uintptr_t)*found;
}

bool home_is_busy(void *home, uint64_t block)
{
    return home_transaction(home, block) != NULL;
}

struct line *home_copy(struct home *home, uint64_t block)
{
    struct transaction *transaction = home_transaction(home, block);

    if (transaction != NULL && transaction->held.tokens > 0)
        return &transaction->held;
    return array_find(&home->llc, block);
}

struct transaction *home_begin(struct home *home, uint64_t block, enum transaction_kind kind,
                               unsigned requester)
{
    struct transaction *transaction = home->free;

    if (transaction != NULL)
        home->free = transaction->next;
    else
        transaction = allocation_checked(malloc(sizeof *transaction));
    *transaction = (struct transaction){
        .block = block, .kind = (uint8_t)kind, .requester = (uint16_t)requester};
    *block_map_add(&home->transactions, block) = (uint64_t)(uintptr_t)transaction;
    return transaction;
}

uint32_t home_directory_rows(const struct machine *machine)
{
    uint64_t entries =
        machine_private_blocks(machine) * machine->coherence.directory / 100 / machine->llc.banks;
    uint32_t rows = (uint32_t)(entries / machine->coherence.ways);

    return rows > 0 ? rows : 1;
}

struct directory_entry *home_entry_new(struct home *home, const struct transaction *transaction,
                                       struct directory_entry *evicted)
{
    struct directory_entry *entry =
        directory_victim(&home->directory, transaction->block, home_is_busy, home);
    unsigned core = transaction->requester;

    if (entry == NULL)
        return NULL;
    *evicted = *entry;
    if (!directory_is_empty(evicted))
        fabric_count(home->fabric, core, COUNT_DIRECTORY_EVICTIONS, 1);
    directory_put(&home->directory, entry, transaction->block);
    fabric_count(home->fabric, core, COUNT_DIRECTORY_ALLOCATIONS, 1);
    return entry;
}

void home_entry_served(struct home *home, const struct transaction *transaction)
{
    struct directory_entry *entry = directory_find(&home->directory, transaction->block);
    uint64_t bit = fabric_bit(transaction->requester);

    if (entry == NULL)
        return;
    if (transaction->kind == TRANSACTION_WRITE)
        entry->sharers = bit;
    else if (!MUTANT(home->fabric, SHARER_FORGOTTEN))
        entry->sharers |= bit;
    if (transaction->owner)
        entry->owner = (uint8_t)transaction->requester;
}

void home_entry_left(struct home *home, uint64_t block, unsigned core, bool owner)
{
    struct directory_entry *entry = directory_find(&home->directory, block);

    if (entry == NULL)
        return;
    entry->sharers &= ~fabric_bit(core);
    if (owner)
        entry->owner = DIRECTORY_NO_OWNER;
    if (entry->sharers == 0 && !home_is_busy(home, block))
        directory_remove(entry);
}

uint64_t home_entry_forget(struct home *home, uint64_t block)
{
    struct directory_entry *entry = directory_find(&home->directory, block);
    uint64_t sharers = entry == NULL ? 0 : entry->sharers;

    if (entry != NULL)
        directory_remove(entry);
    return sharers;
}
