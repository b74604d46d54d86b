/*
 * SPDX-License-Identifier: MIT
 *
 * What one event of a thread does: accesses, marks, what threads wait for; see replay.h.
 */
#include "chip/cores/replay.h"

#include "chip/coherence/requester.h"

#include <string.h>

static void wait_for_data(struct core *core, struct mshr *mshr)
{
    if (mshr->loads++ > 0)
        return;
    mshr->age = core->instructions;
    if (core->loads++ == 0)
        core->oldest = core->instructions;
}

static void record_sharing(const struct cores *cores, unsigned number, const struct thread *thread,
                           enum requester_result result, const struct mshr *mshr, bool write)
{
    const struct trace_event *event = &thread->event;
    struct sharing_access access = {
        .block = thread->block,
        .address = event->address,
        .size = event->size,
        .site = event->site,
        .reads = event->kind == TRACE_LOAD || event->kind == TRACE_LOCKED,
        .writes = write,
    };
    unsigned place = mshr == NULL ? 0 : (unsigned)(mshr - cores->fabric.cores[number].mshrs);

    if (result == REQUESTER_MISS)
        sharing_missed(cores->sharing, number, place, &access);
    else if (result == REQUESTER_MERGED)
        sharing_merged(cores->sharing, number, place, write && !mshr->write, &access);
    else
        sharing_hit(cores->sharing, number, &access);
}

/* The event stays until persistent memory lets the thread go on. */
static bool persists(struct thread *thread, bool done)
{
    thread->blocked = !done;
    return done;
}

/* Counts an access of which no block missed, with its last one: as a hit in the second level if one
 * of them was. A merged one has its latency from the miss. */
static void count_hit(struct fabric *fabric, unsigned number, const struct thread *thread,
                      bool merged)
{
    const struct machine *machine = fabric->machine;

    fabric_count(fabric, number, thread->in_l2 ? COUNT_L2_HITS : COUNT_L1_HITS, 1);
    if (thread->in_l2)
        fabric_count(fabric, number, COUNT_LATENCY, machine->l1.latency + machine->l2.latency);
    else if (!merged)
        fabric_count(fabric, number, COUNT_LATENCY, machine->l1.latency);
}

/* One block of an access. False: stalled, or blocked. */
static bool access_block(struct cores *cores, unsigned number, struct thread *thread, bool write,
                         bool load)
{
    struct fabric *fabric = &cores->fabric;
    struct core *core = &cores->core[number];
    bool last = thread->block == thread->last_block;
    uint64_t latency = fabric->machine->l1.latency, block = thread->block;
    struct mshr *mshr = NULL;
    enum requester_result result;

    uint32_t self = (uint32_t)(thread - cores->threads);

    if (!persists(thread, thread->software
                              ? software_replay(cores->persistence, self, &thread->event)
                              : persistence_access(cores->persistence, self, &block, write)))
        return false;
    result = requester_access(fabric, number, block, write, core->time, &mshr);
    if (cores->sharing != NULL && result != REQUESTER_RETRY)
        record_sharing(cores, number, thread, result, mshr, write);
    switch (result) {
    case REQUESTER_RETRY:
        return core_stall(core);
    case REQUESTER_L2:
        latency += fabric->machine->l2.latency;
        thread->in_l2 = true;
        break;
    case REQUESTER_L1:
        break;
    case REQUESTER_MERGED:
        if (thread->missed || thread->in_l2 || !last) {
            mshr->later--;
            mshr->merged -= core->time - mshr->begun;
        }
        if (load)
            wait_for_data(core, mshr);
        break;
    case REQUESTER_MISS:
        core->outstanding++;
        mshr->counted = !thread->missed;
        thread->missed = true;
        if (load)
            wait_for_data(core, mshr);
        break;
    }
    if (load)
        core->ready = later(core->ready, core->time + latency);
    if (last && !thread->missed)
        count_hit(fabric, number, thread, result == REQUESTER_MERGED);
    thread->block++;
    return true;
}

static bool replay_access(struct cores *cores, unsigned number, struct thread *thread)
{
    struct core *core = &cores->core[number];
    const struct trace_event *event = &thread->event;
    bool locked = event->kind == TRACE_LOCKED;

    if (locked && core->outstanding > 0)
        return core_stall(core);
    if ((locked || event->dependent) && core->loads > 0)
        return core_stall(core);
    if (locked || event->dependent)
        core->time = later(core->time, core->ready);
    while (thread->block <= thread->last_block)
        if (!access_block(cores, number, thread, event->kind != TRACE_LOAD,
                          event->kind == TRACE_LOAD || locked))
            return false;
    core->fence |= locked;
    cores->accesses++;
    cores->fabric.counts[number].of[COUNT_ACCESSES]++;
    return true;
}

static void region_mark(struct cores *cores, const struct core *core, enum trace_mark what)
{
    size_t bytes = fabric_count_rows(&cores->fabric) * sizeof *cores->region;

    if (what == TRACE_REGION_BEGIN && !cores->in_region) {
        cores->in_region = true;
        cores->region_begin = core->time;
        memset(cores->fabric.counts, 0, bytes);
        persistence_restart(cores->persistence);
        if (cores->sharing != NULL)
            sharing_restart(cores->sharing);
    } else if (what == TRACE_REGION_END && cores->in_region && !cores->left) {
        cores->left = true;
        cores->region_end = core->time;
        memcpy(cores->region, cores->fabric.counts, bytes);
        persistence_stop(cores->persistence);
        if (cores->sharing != NULL)
            sharing_stop(cores->sharing);
    }
}

/* What is where: heap blocks and locks. */
static void record_objects(struct sharing *sharing, const struct trace_event *event,
                           uint32_t program)
{
    uint64_t address = HEAP_ADDRESS(program, event->address);

    if (event->kind == TRACE_ALLOC)
        heap_allocated(&sharing->heap, address, event->value, event->stack);
    else if (event->kind == TRACE_FREE)
        heap_freed(&sharing->heap, address);
    else if (event->kind == TRACE_ACQUIRE)
        sharing_locked(sharing, address, event->what, event->site);
}

/* A commit waits for the thread's stores, except where nothing is persistent. */
static bool replay_commit(struct cores *cores, struct core *core, struct thread *thread)
{
    uint32_t self = (uint32_t)(thread - cores->threads);

    if (!persistence_is_none(cores->persistence)) {
        if (core->outstanding > 0)
            return core_stall(core);
        core->time = later(core->time, core->ready);
    }
    if (persists(thread, persistence_commit(cores->persistence, self, core->time)))
        return true;
    if (software_is_due(cores->persistence, self)) {
        thread->blocked = false;
        thread->held = true;
        thread->after = thread->event;
        return true;
    }
    return false;
}

/* What the protocol's software does beside loads and stores. */
static bool replay_software(struct cores *cores, struct core *core, struct thread *thread)
{
    if (core->outstanding > 0)
        return core_stall(core);
    core->time = later(core->time, core->ready);
    return persists(thread, software_replay(cores->persistence, (uint32_t)(thread - cores->threads),
                                            &thread->event));
}

/* False: the core is stalled, or the thread blocked; the event stays. */
static bool replay_mark(struct cores *cores, unsigned number, struct thread *thread)
{
    const struct trace_event *event = &thread->event;
    uint32_t self = (uint32_t)(thread - cores->threads), program = thread->source.program;
    struct core *core = &cores->core[number];

    switch (event->what) {
    case TRACE_FRAME:
        memory_place(&cores->fabric.memory, core_block_of(cores, program, event->address),
                     event->value);
        return true;
    case TRACE_PERSISTENT:
        if (event->value > 0)
            persistence_region(cores->persistence, core_block_of(cores, program, event->address),
                               core_block_of(cores, program, event->address + event->value - 1));
        return true;
    case TRACE_TX_BEGIN:
        return persists(thread, persistence_begin(cores->persistence, self, number));
    case TRACE_TX_COMMIT:
        return replay_commit(cores, core, thread);
    case TRACE_TX_ABORT:
        return persists(thread, persistence_abort(cores->persistence, self));
    default:
        region_mark(cores, core, event->what);
        return true;
    }
}

bool core_replay(struct cores *cores, unsigned number, struct thread *thread)
{
    const struct trace_event *event = &thread->event;
    uint32_t self = (uint32_t)(thread - cores->threads), program = thread->source.program;
    struct core *core = &cores->core[number];

    if (event->kind <= TRACE_NT_STORE)
        return replay_access(cores, number, thread);
    if (thread->software)
        return replay_software(cores, core, thread);
    if (cores->sharing != NULL)
        record_objects(cores->sharing, event, program);
    switch (event->kind) {
    case TRACE_FENCE:
        core->fence = true;
        return true;
    case TRACE_ACQUIRE:
        thread->blocked = !sync_acquire(&cores->sync, self, program, event->address, event->shared);
        return true;
    case TRACE_RELEASE:
        cores->released = core->time;
        sync_release(&cores->sync, self, program, event->address, core_unblock, cores);
        return true;
    case TRACE_POST:
        cores->released = core->time;
        sync_post(&cores->sync, self, core_unblock, cores);
        return true;
    case TRACE_WAIT:
        thread->blocked =
            !sync_wait(&cores->sync, self, thread->base + event->thread, event->value);
        return true;
    case TRACE_MARK:
        return replay_mark(cores, number, thread);
    case TRACE_FLUSH:
        return persists(thread, persistence_flush(cores->persistence, self));
    default:
        return true; /* the heap: nothing that the caches see */
    }
}
