/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See calls.h.
 */
#include "rtmgrind/counts/calls.h"

#include "program_calls/lock_calls.h"
#include "rtmgrind/counts/heap_blocks.h"
#include "rtmgrind/counts/holds.h"
#include "rtmgrind/counts/sections.h"

static struct program_call when_begun[CPUS_MOST];

static Int kind_of(const HChar *name)
{
    Int kind = allocation_kind_of(name);

    return kind != ALLOCATION_NONE || !options.sections ? kind : lock_call_kind_of(name);
}

static void entered(ThreadId thread, struct program_call *call)
{
    if (call->kind < ALLOCATION_KINDS)
        heap_blocks_entered(thread, call);
    else
        sections_entered(thread, call);
}

static void returned(ThreadId thread, const struct program_call *call, UWord result)
{
    if (call->kind < ALLOCATION_KINDS)
        heap_blocks_returned(call, result);
    else
        sections_returned(thread, call, result);
}

static void thread_goes_on(ThreadId thread, ULong blocks_done)
{
    program_calls_thread_goes_on(thread);
    if (options.sections)
        holds_thread_goes_on(thread);
}

static void thread_stops(ThreadId thread, ULong blocks_done)
{
    holds_thread_stops(thread);
}

static void thread_is_new(ThreadId thread)
{
    program_calls_thread_is_new(thread);
    if (options.sections)
        sections_thread_is_new(thread);
}

void calls_init(void)
{
    static const struct program_calls_reader reader = {
        .kind_of = kind_of,
        .entered = entered,
        .returned = returned,
    };

    if (!options.heap)
        return;
    heap_blocks_init();
    program_calls_init(&reader);
    VG_(track_start_client_code)(thread_goes_on);
    VG_(track_pre_thread_first_insn)(thread_is_new);
    if (options.sections) {
        sections_init();
        VG_(track_stop_client_code)(thread_stops);
    }
}

void calls_see_entry(IRSB *out, Addr address)
{
    if (options.heap)
        program_calls_see_entry(out, address);
}

void calls_see_end(IRSB *out)
{
    if (options.heap)
        program_calls_see_end(out);
}

void calls_begun(Int cpu, ThreadId thread)
{
    if (options.heap)
        when_begun[cpu] = program_calls_open(thread);
}

void calls_aborted(Int cpu, ThreadId thread)
{
    if (options.heap)
        program_calls_reopen(thread, &when_begun[cpu]);
}
