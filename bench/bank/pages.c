/*
 * SPDX-License-Identifier: MIT
 *
 * Arrays in pages; see workload.h.
 */
#include "workload.h"

#include <stdlib.h>

bool pages_take(struct pages *pages, const struct plan *plan, const struct worker *worker,
                size_t first, size_t count)
{
    pages->first = first;
    pages->count = count;
    pages->page = calloc(count, sizeof *pages->page);
    for (size_t i = 0; pages->page != NULL && i < count; i++) {
        pages->page[i] = placement_page(plan->placement, worker, first + i);
        if (pages->page[i] == NULL)
            return false;
    }
    return pages->page != NULL;
}

void pages_print(const struct pages *pages, const struct worker *worker, FILE *file)
{
    for (size_t i = 0; i < pages->count; i++) {
        uint32_t controller, bank;

        if (placement_of(pages->page[i], &controller, &bank))
            fprintf(file, "%u %u %zu %u %u\n", worker->number, worker->quadrant, pages->first + i,
                    controller, bank);
        else
            fprintf(file, "%u %u %zu - -\n", worker->number, worker->quadrant, pages->first + i);
    }
}
