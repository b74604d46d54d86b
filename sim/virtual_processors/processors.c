/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See processors.h.
 */
#include "virtual_processors/processors.h"

#include "virtual_processors/futex_call.h"

struct processor {
    Int current;     /* its thread: index into runners, or NOBODY_RUNS */
    UInt slice_used; /* blocks that thread has had since it came */
};

struct processor_settings processor_settings = {.cpus = 16, .timeslice = 100000};

struct runner *runners;
Int runner_running = NOBODY_RUNS;

static Int runners_used; /* beyond it all are free */
static Int runners_room;
static struct processor processors[CPUS_MOST];
/* 0 free, 1 held, 2 held and somebody may sleep for it: Drepper, "Futexes Are Tricky", mutex2. A
 * waiter sleeps, for one of real-time priority that spun would keep the holder from its processor
 * of the host for ever. */
static UInt guard;
static ULong inherited = ~0ULL; /* what a thread may use whose creator is not known */

void processors_lock(void)
{
    UInt seen = 0;

    /* Both acquires pair with the release below. */
    if (__atomic_compare_exchange_n(&guard, &seen, 1, False, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&guard, 2, __ATOMIC_ACQUIRE) != 0)
        futex_sleep(&guard, 2);
}

void processors_unlock(void)
{
    if (__atomic_exchange_n(&guard, 0, __ATOMIC_RELEASE) == 2)
        futex_wake_one(&guard);
}

ULong processors_all(void)
{
    return processor_settings.cpus == CPUS_MOST ? ~0ULL : (1ULL << processor_settings.cpus) - 1;
}

static void forget_turns(void)
{
    for (Int cpu = 0; cpu < CPUS_MOST; cpu++)
        processors[cpu] = (struct processor){.current = NOBODY_RUNS};
}

void processors_reset(void)
{
    if (runners == NULL) {
        runners_room = (Int)VG_N_THREADS + 1;
        runners = VG_(calloc)("processors.runners", (SizeT)runners_room, sizeof *runners);
    }
    if (runner_running != NOBODY_RUNS)
        inherited = runners[runner_running].affinity;
    VG_(memset)(runners, 0, (SizeT)runners_room * sizeof *runners);
    runners_used = 0;
    forget_turns();
    guard = 0;
    runner_running = NOBODY_RUNS;
}

Int processors_runner_of(Int lwp)
{
    Int unused = NOBODY_RUNS;

    for (Int i = 0; i < runners_used; i++) {
        if (runners[i].lwp == lwp)
            return i;
        if (runners[i].lwp == 0 && unused == NOBODY_RUNS)
            unused = i;
    }
    if (unused == NOBODY_RUNS) {
        tl_assert(runners_used < runners_room);
        unused = runners_used++;
    }
    runners[unused] = (struct runner){.lwp = lwp, .cpu = NOWHERE, .affinity = inherited};
    return unused;
}

/* How many threads want this processor. */
static UInt load_of(Int cpu)
{
    UInt load = 0;

    for (Int i = 0; i < runners_used; i++) {
        if (runners[i].lwp != 0 && runners[i].cpu == cpu &&
            (runners[i].ready || i == runner_running))
            load++;
    }
    return load;
}

/* Where a thread goes on that was away: where it was if nobody is there, else where the fewest
 * are. As kernels do, for an idle processor is worth more than a warm cache. */
static void place(struct runner *runner)
{
    Int best = NOWHERE;
    UInt best_load = 0;

    if (runner->cpu != NOWHERE && (runner->affinity >> runner->cpu & 1)) {
        best = runner->cpu;
        best_load = load_of(best);
    }
    for (Int cpu = 0; cpu < processor_settings.cpus && (best == NOWHERE || best_load != 0); cpu++) {
        if (!(runner->affinity >> cpu & 1))
            continue;
        UInt load = load_of(cpu);
        if (best == NOWHERE || load < best_load) {
            best = cpu;
            best_load = load;
        }
    }
    tl_assert(best != NOWHERE);
    runner->cpu = best;
}

void processors_arrive(struct runner *runner)
{
    runner->ready = True;
    place(runner);
}

/* An idle processor takes one that waits for its turn elsewhere. */
void processors_leave(const struct runner *runner)
{
    Int cpu = runner->cpu;

    if (load_of(cpu) != 0)
        return;
    for (Int i = 0; i < runners_used; i++) {
        struct runner *other = &runners[i];
        if (other->lwp != 0 && other->ready && (other->affinity >> cpu & 1) &&
            processors[other->cpu].current != i && load_of(other->cpu) > 1) {
            other->cpu = cpu;
            return;
        }
    }
}

ULong processors_ready(void)
{
    ULong ready = 0;

    for (Int i = 0; i < runners_used; i++) {
        if (runners[i].lwp != 0 && runners[i].ready)
            ready |= 1ULL << runners[i].cpu;
    }
    return ready;
}

static Int next_on(Int cpu, Int after)
{
    for (Int step = 1; step <= runners_used; step++) {
        Int i = (after + step) % runners_used;
        if (runners[i].lwp != 0 && runners[i].ready && runners[i].cpu == cpu)
            return i;
    }
    return NOBODY_RUNS;
}

static void context_switch(Int cpu)
{
    if (processor_settings.switches != NULL)
        processor_settings.switches(cpu);
}

Int processors_current(Int cpu)
{
    Int current = processors[cpu].current;

    return current != NOBODY_RUNS && runners[current].lwp != 0 && runners[current].ready &&
                   runners[current].cpu == cpu
               ? current
               : NOBODY_RUNS;
}

Int processors_turn(Int cpu)
{
    struct processor *processor = &processors[cpu];
    Int next = processors_current(cpu);

    if (next != NOBODY_RUNS && processor->slice_used < (UInt)processor_settings.timeslice)
        return next;
    next = next_on(cpu, processor->current == NOBODY_RUNS ? 0 : processor->current);
    if (next != processor->current)
        context_switch(cpu);
    *processor = (struct processor){.current = next};
    return next;
}

void processors_count(UInt blocks)
{
    processors[processors_mine()].slice_used += blocks;
}

void processors_end_slice(void)
{
    processors[processors_mine()].slice_used = (UInt)processor_settings.timeslice;
}

Int processors_mine(void)
{
    return runners[runner_running].cpu;
}

Bool processors_alone(void)
{
    Int threads = 0;

    for (Int i = 0; i < runners_used; i++)
        threads += runners[i].lwp != 0;
    return threads == 1;
}

void processors_start_anew(void)
{
    struct runner *me = &runners[runner_running];

    forget_turns();
    me->cpu = NOWHERE;
    place(me);
    processors[me->cpu].current = runner_running;
}

ULong processors_affinity(Int lwp)
{
    return runners[processors_runner_of(lwp)].affinity & processors_all();
}

void processors_set_affinity(Int lwp, ULong cpus)
{
    Int i = processors_runner_of(lwp);
    struct runner *runner = &runners[i];
    Int from = runner->cpu;

    runner->affinity = cpus;
    if (from == NOWHERE || (cpus >> from & 1))
        return;
    if (processors[from].current == i) {
        context_switch(from);
        processors[from].current = NOBODY_RUNS;
    }
    place(runner);
    if (i != runner_running)
        return;
    /* It goes on there at once, in the place of whoever was there. */
    context_switch(runner->cpu);
    processors[runner->cpu] = (struct processor){.current = i};
}
