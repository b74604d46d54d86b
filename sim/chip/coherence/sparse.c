/*
 * SPDX-License-Identifier: MIT
 *
 * The sparse directory; see sparse.h.
 */
#include "chip/coherence/sparse.h"

#include "chip/coherence/transactions.h"

static struct directory_entry *entry_for(struct home *home, const struct transaction *transaction)
{
    struct directory_entry *entry = directory_find(&home->directory, transaction->block);
    struct directory_entry evicted;

    if (entry != NULL)
        return entry;
    entry = home_entry_new(home, transaction, &evicted);
    if (entry != NULL && !directory_is_empty(&evicted))
        transactions_recall(home, evicted.block, evicted.sharers, transaction->requester);
    return entry;
}

static bool whom(struct home *home, struct transaction *transaction, const struct line *copy,
                 uint64_t *cores)
{
    struct directory_entry *entry = entry_for(home, transaction);

    if (entry == NULL)
        return false;
    *cores = entry->sharers & ~fabric_bit(transaction->requester);
    if (transaction->kind == TRANSACTION_READ && copy != NULL)
        *cores = 0;
    else if (transaction->kind == TRANSACTION_READ && entry->owner != DIRECTORY_NO_OWNER)
        *cores &= fabric_bit(entry->owner);
    return true;
}

static void served(struct home *home, struct transaction *transaction)
{
    home_entry_served(home, transaction);
}

bool sparse_init(struct home *home, struct fabric *fabric, unsigned index)
{
    static const struct home_policy policy = {whom, served, home_entry_forget};
    const struct machine *machine = fabric->machine;

    return home_init(home, fabric, index, &policy, home_directory_rows(machine),
                     machine->coherence.ways, machine->coherence.ways);
}
