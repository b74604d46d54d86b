/*
 * SPDX-License-Identifier: MIT
 *
 * Cores and threads: what a core does next, and when; see core.h.
 */
#include "chip/cores/replay.h"

#include "chip/coherence/check.h"
#include "chip/coherence/protocols.h"

#include <stdlib.h>
#include <string.h>

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

void core_unblock(void *context, uint32_t number)
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
    core_unblock(cores, number);
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

static void issue(struct cores *cores, struct core *core, uint32_t instructions)
{
    uint32_t width = cores->fabric.machine->core.width;

    core->instructions += instructions;
    core->time += (core->slots + (uint64_t)instructions) / width;
    core->slots = (uint32_t)((core->slots + (uint64_t)instructions) % width);
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
            return core_stall(core);
        thread->over = true;
        core->time = later(core->time, core->ready);
        core->ended = core->time;
        cores->running--;
        cores->released = core->time;
        sync_release_all(&cores->sync, (uint32_t)(thread - cores->threads), core_unblock, cores);
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

        thread->block = core_block_of(cores, thread->source.program, event->address);
        thread->last_block = core_block_of(cores, thread->source.program, last);
    }
    return true;
}

/* Goes on with an event, or takes the next one. False: the core is stalled, or ahead of `limit`. */
static bool go_on(struct cores *cores, unsigned number, struct thread *thread, uint64_t limit)
{
    struct core *core = &cores->core[number];

    if (core->loads > 0 && core->instructions - core->oldest >= cores->fabric.machine->core.rob)
        return core_stall(core);
    if (!thread->has_event && !fetch(cores, core, thread))
        return false;
    if (!thread->has_event)
        return true; /* it is over */
    if (core->fence) {
        if (core->outstanding > 0)
            return core_stall(core);
        core->time = later(core->time, core->ready);
        core->fence = false;
    }
    if (core->time > limit) {
        schedule(cores, number);
        return false;
    }
    if (!core_replay(cores, number, thread))
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
            if (!sync_let_one_in(&cores->sync, core_unblock, cores))
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
