/*
 * SPDX-License-Identifier: MIT
 *
 * FLASK; see flask.h.
 */
#include "chip/coherence/flask.h"

#include "chip/coherence/partition.h"

static bool whom(struct home *home, struct transaction *transaction, const struct line *copy,
                 uint64_t *cores)
{
    struct directory_entry *entry = directory_find(&home->directory, transaction->block);
    struct fabric *fabric = home->fabric;
    uint64_t others = ~fabric_bit(transaction->requester);
    bool read = transaction->kind == TRANSACTION_READ, held;

    *cores = 0;
    /* Case 2, or a reader that the home can serve alone. */
    if (copy != NULL && (read || copy->tokens == fabric->tokens))
        return true;
    if (entry != NULL && entry->sharers != 0) {
        *cores = entry->sharers & others;
        if (read && entry->owner != DIRECTORY_NO_OWNER)
            *cores &= fabric_bit(entry->owner);
        return true;
    }
    fabric_count(fabric, transaction->requester, COUNT_FILTER_LOOKUPS, 1);
    held = filter_holds(&home->filter, transaction->block);
    if (MUTANT(fabric, FILTER_FALSE_NEGATIVE) && transaction->block % 16 == 3)
        held = false;
    if (!held)
        return true; /* case 1 */
    transaction->rebuilt = true;
    *cores = fabric_all_cores(fabric) & others;
    return true;
}

static void served(struct home *home, struct transaction *transaction)
{
    partition_adapt(home);

    struct directory_entry *entry = directory_find(&home->directory, transaction->block);
    struct directory_entry evicted; /* its copies stay */

    if (transaction->rebuilt && transaction->found != 0) {
        fabric_count(home->fabric, transaction->requester, COUNT_RECONSTRUCTIONS, 1);
        if (entry == NULL)
            entry = home_entry_new(home, transaction, &evicted); /* case 3 */
        if (entry != NULL)
            entry->sharers = transaction->found;
        if (entry != NULL && transaction->supplied_by != 0)
            entry->owner = (uint8_t)(transaction->supplied_by - 1);
    }
    home_entry_served(home, transaction);
}

/* Sharers may be without an entry. */
static uint64_t forget(struct home *home, uint64_t block)
{
    uint64_t sharers = home_entry_forget(home, block);

    return sharers != 0 ? sharers : fabric_all_cores(home->fabric);
}

bool flask_init(struct home *home, struct fabric *fabric, unsigned index)
{
    static const struct home_policy policy = {whom, served, forget};
    const struct machine *machine = fabric->machine;
    uint32_t ways = machine->coherence.ways;
    uint32_t rows = home_directory_rows(machine);

    home->has_filter = false;
    if (!home_init(home, fabric, index, &policy, rows, ways / 2, ways - 1) ||
        !filter_init(&home->filter, machine, ways / 2, ways - 1, rows))
        return false;
    home->has_filter = true;
    return true;
}
