/*
 * SPDX-License-Identifier: MIT
 *
 * The two private levels; see private_cache.h.
 */
#include "chip/caches/private_cache.h"

#include <stddef.h>

struct line *private_cache_find(const struct private_cache *cache, uint64_t block)
{
    struct line *line = array_find(&cache->l1, block);

    return line != NULL ? line : array_find(&cache->l2, block);
}

void private_cache_remove(struct private_cache *cache, uint64_t block)
{
    struct line *line = array_find(&cache->l1, block);

    if (line != NULL)
        array_remove(&cache->l1, line);
    line = array_find(&cache->l2, block);
    if (line != NULL)
        array_remove(&cache->l2, line);
}

static void leave(struct private_cache_victim *victim, uint64_t block, const struct line *state)
{
    *victim = (struct private_cache_victim){.any = true, .block = block, .state = *state};
}

static enum private_cache_place bring_exclusive(struct private_cache *cache, uint64_t block,
                                                struct line **line,
                                                struct private_cache_victim *victim)
{
    struct line *place = array_victim(&cache->l1, block), *second;
    uint64_t displaced = *array_tag(&cache->l1, place);
    enum private_cache_place found = PRIVATE_CACHE_NEW;
    struct line state = {0};

    if (displaced != ARRAY_NONE && place->pending)
        return PRIVATE_CACHE_FULL;
    second = array_find(&cache->l2, block);
    if (second != NULL) {
        found = PRIVATE_CACHE_L2;
        state = *second;
        array_remove(&cache->l2, second);
    }
    if (displaced != ARRAY_NONE) {
        struct line *below = array_victim(&cache->l2, displaced);

        if (*array_tag(&cache->l2, below) != ARRAY_NONE)
            leave(victim, *array_tag(&cache->l2, below), below);
        array_put(&cache->l2, below, displaced, place);
    }
    array_put(&cache->l1, place, block, &state);
    *line = place;
    return found;
}

/* Whether the second level's place can be given away: its block is not waited for in the first. */
static bool can_leave(const struct private_cache *cache, const struct line *second)
{
    const struct line *first;

    if (*array_tag(&cache->l2, second) == ARRAY_NONE || !second->elsewhere)
        return true;
    first = array_find(&cache->l1, *array_tag(&cache->l2, second));
    return first == NULL || !first->pending;
}

static enum private_cache_place bring_inclusive(struct private_cache *cache, uint64_t block,
                                                struct line **line,
                                                struct private_cache_victim *victim)
{
    struct line *place = array_victim(&cache->l1, block);
    uint64_t displaced = *array_tag(&cache->l1, place);
    struct line *second = array_find(&cache->l2, block);
    bool hit = second != NULL;
    struct line state = {0};

    if (displaced != ARRAY_NONE && place->pending)
        return PRIVATE_CACHE_FULL;
    if (!hit)
        second = array_victim(&cache->l2, block);
    if (!hit && !can_leave(cache, second))
        return PRIVATE_CACHE_FULL;
    if (displaced != ARRAY_NONE) {
        struct line *below = array_find(&cache->l2, displaced);
        uint64_t stamp = below->stamp;

        *below = *place;
        below->stamp = stamp; /* leaving the first level is no use */
        array_remove(&cache->l1, place);
    }
    if (hit) {
        state = *second;
    } else if (*array_tag(&cache->l2, second) != ARRAY_NONE) {
        uint64_t gone = *array_tag(&cache->l2, second);
        struct line *first = second->elsewhere ? array_find(&cache->l1, gone) : NULL;

        leave(victim, gone, first != NULL ? first : second);
        if (first != NULL)
            array_remove(&cache->l1, first);
    }
    array_put(&cache->l2, second, block, &(struct line){.elsewhere = true});
    array_put(&cache->l1, place, block, &state);
    *line = place;
    return hit ? PRIVATE_CACHE_L2 : PRIVATE_CACHE_NEW;
}

enum private_cache_place private_cache_bring(struct private_cache *cache, uint64_t block,
                                             struct line **line,
                                             struct private_cache_victim *victim)
{
    victim->any = false;
    return cache->inclusive ? bring_inclusive(cache, block, line, victim)
                            : bring_exclusive(cache, block, line, victim);
}
