/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See allocations.h.
 */
#include "memtrace/allocations.h"

#include "memtrace/events.h"
#include "memtrace/sites.h"

/* The call that is told of now. */
static ThreadId caller;
static ExeContext *origin;

static void tell(enum trace_kind kind, Addr start, SizeT size)
{
    struct trace_event event = {.kind = (uint8_t)kind, .address = start, .value = size};

    event.stack = sites_of_stack(origin, &event.site);
    events_append(caller, &event);
}

static void appeared(Addr start, SizeT size, ExeContext *stack)
{
    tell(TRACE_ALLOC, start, size);
}

static void gone(Addr start)
{
    if (start != 0)
        tell(TRACE_FREE, start, 0);
}

/* The call of free that a thread is in: an operator delete goes on to another one, and to free, by
 * jumps, each of which looks like a call in the place of the one before. */
static struct freeing {
    Addr stack_at_return, block;
} * freeing;

void allocations_init(void)
{
    freeing = VG_(calloc)("memtrace.freeing", VG_N_THREADS, sizeof *freeing);
}

static Bool goes_on_from_free(ThreadId thread, const struct program_call *call)
{
    struct freeing *before = &freeing[thread];
    struct freeing now = {call->stack_at_return, call->argument[0]};
    Bool goes_on = before->stack_at_return == now.stack_at_return && before->block == now.block;

    *before = now;
    return goes_on;
}

static const struct allocation_reader reader = {.appeared = appeared, .gone = gone};

void allocations_entered(ThreadId thread, struct program_call *call)
{
    caller = thread;
    if (call->kind == ALLOCATION_FREE) {
        if (goes_on_from_free(thread, call))
            return;
        origin = VG_(record_ExeContext)(thread, 0);
    }
    allocation_entered(&reader, thread, call);
}

void allocations_returned(ThreadId thread, const struct program_call *call, UWord result)
{
    caller = thread;
    origin = call->origin;
    freeing[thread].stack_at_return = 0;
    allocation_returned(&reader, call, result);
}
