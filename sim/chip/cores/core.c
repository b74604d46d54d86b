/*
 * SPDX-License-Identifier: MIT
 *
 * Cores and threads; see core.h.
 */
#include "chip/cores/core.h"

#include "chip/coherence/check.h"
#include "chip/coherence/protocols.h"
#include "chip/coherence/requester.h"

#include <stdlib.h>
#include <string.h>

enum { PROGRAM_SHIFT = 48 }; /* programs do not share blocks */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void schedule(struct cores *cores, unsigned number)
{
    struct core *core = &cores->core[number];

    if (core->scheduled)
        return;
    core->scheduled = true;
    core->time = later(core->time, cores->fabric.queue.now);
    protocols_wake(&cores->fabric, number, core->time);
}

static void find_oldest(struct cores *cores, unsigned number)
{
    const struct mshr *mshrs = cores->fabric.cores[number].mshrs;
    struct core *core = &cores->core[number];

    core->oldest = UINT64_MAX;
    for (unsigned i = 0; core->loads > 0 && i < cores->fabric.machine->core.window; i++)
        if (mshrs[i].used && mshrs[i].loads > 0 && mshrs[i].age < core->oldest)
            core->oldest = mshrs[i].age;
}

static void completed(void *owner, unsigned number, struct mshr *mshr, bool over)
{
    struct cores *cores = owner;
    struct core *core = &cores->core[number];

    if (cores->sharing != NULL) {
        struct sharing_end end = {
            .block = mshr->block,
            .cycles = cores->fabric.queue.now - mshr->begun,
            .mshr = (unsigned)(mshr - cores->fabric.cores[number].mshrs),
            .moved = mshr->answered != 0,
            .write = mshr->write || (over && mshr->then_write),
            .over = over,
        };

        sharing_completed(cores->sharing, number, &end);
    }
    if (mshr->loads > 0) {
        mshr->loads = 0;
        core->loads--;
        core->ready = later(core->ready, cores->fabric.queue.now);
        find_oldest(cores, number);
    }
    core->outstanding -= over;
    if (core->stalled) {
        core->stalled = false;
        schedule(cores, number);
    }
}

static void resume(void *context, uint32_t number);

bool cores_init(struct cores *cores, const struct machine *machine, const struct source *sources,
                uint32_t count, bool check)
{
    *cores = (struct cores){.thread_count = count, .running = count};
    if (!protocols_init(&cores->fabric, machine, check))
        return false;
    cores->fabric.completed = completed;
    cores->fabric.owner = cores;
    cores->core = calloc(machine->core.count, sizeof *cores->core);
    cores->threads = calloc(count, sizeof *cores->threads);
    cores->region = calloc(fabric_count_rows(&cores->fabric), sizeof *cores->region);
    if (cores->core == NULL || cores->threads == NULL || cores->region == NULL ||
        !sync_init(&cores->sync, count))
        return false;
    for (unsigned i = 0; i < machine->core.count; i++)
        cores->core[i].thread = SYNC_NOBODY;
    for (uint32_t i = 0; i < count; i++) {
        unsigned number = i % machine->core.count;

        cores->threads[i].source = sources[i];
        cores->threads[i].core = number;
        cores->threads[i].base = i - sources[i].thread;
        cores->core[number].threads++;
        schedule(cores, number);
    }
    cores->persistence = persistence_new(&cores->fabric, count, resume, cores);
    return cores->persistence != NULL;
}

void cores_destroy(struct cores *cores)
{
    free(cores->core);
    free(cores->threads);
    free(cores->region);
    sync_destroy(&cores->sync);
    sharing_free(cores->sharing);
    persistence_free(cores->persistence);
    protocols_destroy(&cores->fabric);
}

void cores_record_sharing(struct cores *cores)
{
    const struct machine *machine = cores->fabric.machine;

    cores->sharing = sharing_new(machine->block, machine->core.count, machine->core.window);
}

/* A thread may go on, no earlier than what it waited for was done. */
static void unblock(void *context, uint32_t number)
{
    struct cores *cores = context;
    struct thread *thread = &cores->threads[number];
    struct core *core = &cores->core[thread->core];
    bool idle = core->thread == SYNC_NOBODY || cores->threads[core->thread].blocked ||
                cores->threads[core->thread].over;

    thread->blocked = false;
    if (!idle)
        return;
    core->time = later(core->time, cores->released);
    if (!core->stalled)
        schedule(cores, thread->core);
}

/* What the thread waited for in persistent memory is done. */
static void resume(void *context, uint32_t number)
{
    struct cores *cores = context;

    cores->released = cores->fabric.queue.now;
    unblock(cores, number);
}

/* The core's next thread that can run, after the present one. False: there is none. */
static bool next_thread(struct cores *cores, unsigned number)
{
    struct core *core = &cores->core[number];
    unsigned count = cores->fabric.machine->core.count;
    uint32_t first = core->thread == SYNC_NOBODY ? number : core->thread + count;

    for (uint32_t i = 0; i < core->threads; i++, first += count) {
        const struct thread *thread;

        if (first >= cores->thread_count)
            first = number;
        thread = &cores->threads[first];
        if (!thread->blocked && !thread->over) {
            core->thread = first;
            core->turn = core->time;
            return true;
        }
    }
    return false;
}

static bool stall(struct core *core)
{
    core->stalled = true;
    return false;
}

static void issue(struct cores *cores, struct core *core, uint32_t instructions)
{
    uint32_t width = cores->fabric.machine->core.width;

    core->instructions += instructions;
    core->time += (core->slots + (uint64_t)instructions) / width;
    core->slots = (uint32_t)((core->slots + (uint64_t)instructions) % width);
}

static uint64_t block_of(const struct cores *cores, uint32_t program, uint64_t address)
{
    return address >> __builtin_ctz(cores->fabric.machine->block) | (uint64_t)program
                                                                        << PROGRAM_SHIFT;
}

/* The thread's next event. False: none, or not yet. */
static bool fetch(struct cores *cores, struct core *core, struct thread *thread)
{
    enum trace_status status = TRACE_END;
    struct trace_event *event = &thread->event;

    thread->software =
        software_next(cores->persistence, (uint32_t)(thread - cores->threads), event);
    if (!thread->software && thread->held) {
        *event = thread->after;
        thread->held = false;
        thread->has_event = true;
        return true;
    }
    if (thread->software)
        status = TRACE_EVENT;
    else if (!thread->at_end)
        status = thread->source.next(thread->source.self, event);
    if (status == TRACE_DAMAGED) {
        cores->problem = thread->source.problem(thread->source.self);
        cores->problem_of = thread->source.program;
        return false;
    }
    if (status == TRACE_END) {
        thread->at_end = true;
        if (core->outstanding > 0)
            return stall(core);
        thread->over = true;
        core->time = later(core->time, core->ready);
        core->ended = core->time;
        cores->running--;
        cores->released = core->time;
        sync_release_all(&cores->sync, (uint32_t)(thread - cores->threads), unblock, cores);
        return true;
    }
    issue(cores, core, event->instructions);
    thread->has_event = true;
    thread->in_l2 = false;
    thread->missed = false;
    if (thread->software) {
        thread->block = event->address;
        thread->last_block = event->address;
    } else if (event->kind <= TRACE_NT_STORE) {
        uint64_t last = event->address + (event->size > 0 ? event->size - 1u : 0);

        thread->block = block_of(cores, thread->source.program, event->address);
        thread->last_block = block_of(cores, thread->source.program, last);
    }
    return true;
}

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
        return stall(core);
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
        return stall(core);
    if ((locked || event->dependent) && core->loads > 0)
        return stall(core);
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
            return stall(core);
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
        return stall(core);
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
        memory_place(&cores->fabric.memory, block_of(cores, program, event->address), event->value);
        return true;
    case TRACE_PERSISTENT:
        if (event->value > 0)
            persistence_region(cores->persistence, block_of(cores, program, event->address),
                               block_of(cores, program, event->address + event->value - 1));
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

/* The thread's event is replayed. False: the core is stalled or the thread blocked; the event
 * stays.
 */
static bool replay(struct cores *cores, unsigned number, struct thread *thread)
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
        sync_release(&cores->sync, self, program, event->address, unblock, cores);
        return true;
    case TRACE_POST:
        cores->released = core->time;
        sync_post(&cores->sync, self, unblock, cores);
        return true;
    case TRACE_WAIT:
        thread->blocked =
            event->what != TRACE_TURN &&
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

/* Goes on with an event, or takes the next one. False: the core is stalled, or ahead of `limit`. */
static bool go_on(struct cores *cores, unsigned number, struct thread *thread, uint64_t limit)
{
    struct core *core = &cores->core[number];

    if (core->loads > 0 && core->instructions - core->oldest >= cores->fabric.machine->core.rob)
        return stall(core);
    if (!thread->has_event && !fetch(cores, core, thread))
        return false;
    if (!thread->has_event)
        return true; /* it is over */
    if (core->fence) {
        if (core->outstanding > 0)
            return stall(core);
        core->time = later(core->time, core->ready);
        core->fence = false;
    }
    if (core->time > limit) {
        schedule(cores, number);
        return false;
    }
    if (!replay(cores, number, thread))
        return thread->blocked;
    thread->has_event = false;
    return true;
}

static void run_core(struct cores *cores, unsigned number)
{
    const struct machine *machine = cores->fabric.machine;
    struct core *core = &cores->core[number];
    uint64_t limit = cores->fabric.queue.now + machine->core.slack;

    core->scheduled = false;
    core->time = later(core->time, cores->fabric.queue.now);
    for (;;) {
        struct thread *thread = core->thread == SYNC_NOBODY ? NULL : &cores->threads[core->thread];

        if (thread == NULL || thread->blocked || thread->over ||
            (core->threads > 1 && core->time - core->turn >= machine->core.turn)) {
            if (!next_thread(cores, number))
                return;
            thread = &cores->threads[core->thread];
        }
        if (!go_on(cores, number, thread, limit))
            return;
    }
}

bool cores_run(struct cores *cores, uint64_t accesses)
{
    uint64_t until = cores->accesses + accesses;
    int woken;

    while (cores->accesses < until) {
        if (!protocols_step(&cores->fabric, &woken)) {
            cores->released = cores->fabric.queue.now;
            if (persistence_let_one_in(cores->persistence) ||
                (cores->running == 0 && persistence_drain(cores->persistence)))
                continue;
            if (!sync_let_one_in(&cores->sync, unblock, cores))
                return false;
            cores->let_in++;
            continue;
        }
        if (woken >= 0)
            run_core(cores, (unsigned)woken);
        if (cores->problem != NULL ||
            (cores->fabric.check != NULL && check_finding(cores->fabric.check) != NULL))
            return false;
    }
    return true;
}
