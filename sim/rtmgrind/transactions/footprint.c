/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See footprint.h.
 */
#include "rtmgrind/transactions/footprint.h"

static void make_model(struct cache_model *model, const struct cache_model_geometry *geometry)
{
    cache_model_init(model, geometry, options.replacement,
                     VG_(malloc)("rtm.cache", cache_model_bytes(geometry)));
}

void footprint_init(struct footprint *footprint)
{
    make_model(&footprint->l1d, &options.l1d);
    make_model(&footprint->l2, &options.l2);
}

enum footprint_verdict footprint_access(struct footprint *footprint, Addr line, Bool store)
{
    unsigned mark = store ? CACHE_MODEL_WRITTEN : CACHE_MODEL_READ;
    struct cache_model_access first = cache_model_access(&footprint->l1d, line, mark);

    if (LIKELY(!first.evicted || first.evicted_marks == 0))
        return FOOTPRINT_FITS;
    if (first.evicted_marks & CACHE_MODEL_WRITTEN)
        return FOOTPRINT_WRITE_LOST;
    if (options.read_lines != 0)
        return FOOTPRINT_FITS;
    struct cache_model_access second =
        cache_model_access(&footprint->l2, first.evicted_line, CACHE_MODEL_READ);
    /* What came back to the first level meanwhile is not lost with its copy in the second. */
    if (second.evicted && second.evicted_marks != 0 &&
        !cache_model_holds(&footprint->l1d, second.evicted_line))
        return FOOTPRINT_READ_LOST;
    return FOOTPRINT_FITS;
}

void footprint_committed(struct footprint *footprint)
{
    cache_model_clear_marks(&footprint->l1d);
    cache_model_clear_marks(&footprint->l2);
}

void footprint_aborted(struct footprint *footprint)
{
    /* With true LRU the lines that stay behind cannot matter to the next transaction. */
    if (options.replacement != CACHE_MODEL_LRU)
        cache_model_drop_written(&footprint->l1d);
    footprint_committed(footprint);
}
