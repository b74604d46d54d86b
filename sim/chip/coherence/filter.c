/*
 * SPDX-License-Identifier: MIT
 *
 * The filter, of either kind; see filter.h.
 */
#include "chip/coherence/filter.h"

#include "chip/coherence/filter_cbf.h"
#include "chip/coherence/filter_dleft.h"

#include <stdlib.h>

bool filter_init(struct filter *filter, const struct machine *machine, uint32_t tables,
                 uint32_t tables_most, uint32_t rows)
{
    *filter = (struct filter){
        .is_dleft = machine->filter.kind == MACHINE_DLEFT,
        .tables = tables,
        .tables_most = tables_most,
        .shift = (uint32_t)__builtin_ctz(machine->llc.banks),
    };
    return filter->is_dleft ? filter_dleft_init(filter, machine, rows)
                            : filter_cbf_init(filter, machine, rows);
}

void filter_destroy(struct filter *filter)
{
    free(filter->places);
}

bool filter_holds(const struct filter *filter, uint64_t block)
{
    return filter->is_dleft ? filter_dleft_holds(filter, block) : filter_cbf_holds(filter, block);
}

bool filter_has_room(const struct filter *filter, uint64_t block)
{
    return filter->is_dleft ? filter_dleft_has_room(filter, block)
                            : filter_cbf_has_room(filter, block);
}

void filter_insert(struct filter *filter, uint64_t block)
{
    if (filter->is_dleft)
        filter_dleft_insert(filter, block);
    else
        filter_cbf_insert(filter, block);
}

void filter_remove(struct filter *filter, uint64_t block)
{
    if (filter->is_dleft)
        filter_dleft_remove(filter, block);
    else
        filter_cbf_remove(filter, block);
}

bool filter_shares(const struct filter *filter, uint64_t block, uint64_t other)
{
    return filter->is_dleft ? filter_dleft_shares(filter, block, other)
                            : filter_cbf_shares(filter, block, other);
}

bool filter_shrink(struct filter *filter)
{
    return filter->is_dleft && filter_dleft_shrink(filter);
}

void filter_grow(struct filter *filter)
{
    filter->tables++;
}
