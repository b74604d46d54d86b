/*
 * SPDX-License-Identifier: MIT
 *
 * The private caches of a core as an agent; see requester.h.
 */
#include "chip/coherence/requester.h"

#include "chip/coherence/check.h"

static void load(struct fabric *fabric, unsigned core, uint64_t block, const struct line *line)
{
    if (fabric->check != NULL)
        check_load(fabric->check, core, block, line);
}

static void store(struct fabric *fabric, unsigned core, uint64_t block, struct line *line)
{
    line->dirty = true;
    if (fabric->check != NULL)
        check_store(fabric->check, core, block, line);
}

static bool may_write(const struct fabric *fabric, const struct line *line)
{
    return line->valid && line->tokens == fabric->tokens;
}

bool requester_hit(struct fabric *fabric, unsigned core, uint64_t block, bool write)
{
    struct array *l1 = &fabric->cores[core].cache.l1;
    struct line *line = array_find(l1, block);

    if (line == NULL || !line->valid || (write && !may_write(fabric, line)))
        return false;
    array_touch(l1, line);
    if (write)
        store(fabric, core, block, line);
    else
        load(fabric, core, block, line);
    return true;
}

struct mshr *requester_mshr(struct fabric *fabric, unsigned core, const struct line *line)
{
    return line->pending ? &fabric->cores[core].mshrs[line->mshr] : NULL;
}

static struct mshr *begin_miss(struct fabric *fabric, unsigned core, uint64_t block,
                               struct line *line, bool write, uint64_t time)
{
    struct fabric_core *own = &fabric->cores[core];
    unsigned place = 0;
    struct mshr *mshr;

    while (own->mshrs[place].used)
        place++;
    mshr = &own->mshrs[place];
    *mshr = (struct mshr){
        .block = block,
        .begun = time,
        .line = line,
        .generation = ++own->generation,
        .used = true,
        .write = write,
        .counted = true,
    };
    own->outstanding++;
    line->pending = true;
    line->mshr = (uint8_t)place;
    fabric->protocol->request(fabric, core, mshr,
                              time + fabric->machine->l1.latency + fabric->machine->l2.latency);
    return mshr;
}

void requester_put(struct fabric *fabric, unsigned core, uint64_t block, struct line *line,
                   bool answer, uint64_t time)
{
    struct message *put =
        fabric_message(fabric, MESSAGE_PUT, core, fabric_home_agent(fabric, block), block, core);

    fabric_load_tokens(put, line, line->tokens, line->owner, true);
    put->answer = answer;
    fabric_send(fabric, put, time);
}

void requester_flush(struct fabric *fabric, unsigned core, uint64_t block, bool bank)
{
    struct private_cache *cache = &fabric->cores[core].cache;
    struct line *line = private_cache_find(cache, block);
    struct message *put;

    if (line == NULL ? !bank : line->pending)
        return;
    put = fabric_message(fabric, MESSAGE_PUT, core, fabric_home_agent(fabric, block), block, core);
    put->evict = bank;
    if (line != NULL) {
        fabric_load_tokens(put, line, line->tokens, line->owner, true);
        private_cache_remove(cache, block);
    }
    fabric_send(fabric, put, fabric->queue.now);
}

void requester_drop(struct fabric *fabric, unsigned core, uint64_t block, const struct line *line)
{
    if (MUTANT(fabric, COPY_KEPT))
        return;
    if (line->tokens == 0 && !line->pending)
        private_cache_remove(&fabric->cores[core].cache, block);
}

enum requester_result requester_access(struct fabric *fabric, unsigned core, uint64_t block,
                                       bool write, uint64_t time, struct mshr **mshr)
{
    struct fabric_core *own = &fabric->cores[core];
    bool room = own->outstanding < fabric->machine->core.window;
    enum private_cache_place place;
    struct private_cache_victim victim;
    struct line *line;

    if (requester_hit(fabric, core, block, write))
        return REQUESTER_L1;
    line = array_find(&own->cache.l1, block);
    if (line != NULL && line->pending) {
        *mshr = &own->mshrs[line->mshr];
        if (write && !(*mshr)->write)
            (*mshr)->then_write = true;
        (*mshr)->later++;
        (*mshr)->merged += time - (*mshr)->begun;
        array_touch(&own->cache.l1, line);
        return REQUESTER_MERGED;
    }
    if (line != NULL) { /* readable, and it is a store */
        if (!room)
            return REQUESTER_RETRY;
        array_touch(&own->cache.l1, line);
        *mshr = begin_miss(fabric, core, block, line, write, time);
        return REQUESTER_MISS;
    }
    line = array_find(&own->cache.l2, block);
    if (!room && (line == NULL || (write && !may_write(fabric, line))))
        return REQUESTER_RETRY;
    place = private_cache_bring(&own->cache, block, &line, &victim);
    if (place == PRIVATE_CACHE_FULL)
        return REQUESTER_RETRY;
    fabric_count(fabric, core, COUNT_L2_LOOKUPS, 1);
    if (victim.any)
        requester_put(fabric, core, victim.block, &victim.state, false,
                      time + fabric->machine->l1.latency + fabric->machine->l2.latency);
    if (place == PRIVATE_CACHE_L2 && requester_hit(fabric, core, block, write))
        return REQUESTER_L2;
    *mshr = begin_miss(fabric, core, block, line, write, time);
    return REQUESTER_MISS;
}

static bool is_satisfied(const struct fabric *fabric, const struct mshr *mshr)
{
    const struct line *line = mshr->line;

    if (MUTANT(fabric, ACK_NOT_AWAITED))
        return line->valid;
    return line->valid && (!mshr->write || line->tokens == fabric->tokens);
}

/* The accesses that wait for data have them. */
static void satisfy(struct fabric *fabric, unsigned core, struct mshr *mshr)
{
    struct line *line = mshr->line;
    uint64_t now = fabric->queue.now;

    fabric->protocol->satisfied(fabric, core, mshr);
    load(fabric, core, mshr->block, line);
    if (mshr->counted) {
        fabric_count(fabric, core, COUNT_LATENCY, now - mshr->begun);
        fabric_count(fabric, core, COUNT_LLC_HITS, mshr->from_home);
        fabric_count(fabric, core, COUNT_COHERENCE_MISSES, !mshr->from_home && !mshr->from_memory);
    }
    fabric_count(fabric, core, COUNT_LATENCY, mshr->later * (now - mshr->begun) - mshr->merged);
    mshr->later = 0;
    mshr->merged = 0;
    mshr->counted = false;
    if (mshr->then_write && !may_write(fabric, line)) {
        fabric->completed(fabric->owner, core, mshr, false);
        mshr->begun = now;
        mshr->then_write = false;
        mshr->write = true;
        mshr->answered = 0;
        mshr->retries = 0;
        mshr->persistent = false;
        mshr->generation = ++fabric->cores[core].generation;
        fabric->protocol->request(fabric, core, mshr, now + 1);
        return;
    }
    line->pending = false;
    if (mshr->write || mshr->then_write)
        store(fabric, core, mshr->block, line);
    mshr->used = false;
    fabric->cores[core].outstanding--;
    fabric->completed(fabric->owner, core, mshr, true);
}

bool requester_granted(struct fabric *fabric, unsigned core, struct message *message)
{
    struct line *line = private_cache_find(&fabric->cores[core].cache, message->block);
    struct mshr *mshr;

    if (line == NULL)
        return false;
    fabric_take_tokens(line, message);
    if (MUTANT(fabric, DATA_LEFT_BEHIND) && line->tokens == fabric->tokens && !line->valid) {
        line->valid = true; /* whatever was there */
        line->version = 0;
    }
    mshr = requester_mshr(fabric, core, line);
    if (mshr == NULL)
        return true;
    if (message->from < fabric->machine->core.count)
        mshr->answered |= fabric_bit(message->from);
    else if (message->from < fabric->machine->core.count + fabric->machine->llc.banks)
        mshr->from_home |= message->data;
    else
        mshr->from_memory |= message->data;
    if (is_satisfied(fabric, mshr))
        satisfy(fabric, core, mshr);
    return true;
}
