/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * memtrace: records what a program accesses, thread by thread, as a Valgrind tool. See README.md.
 */
#include "memtrace/allocations.h"
#include "memtrace/buffers.h"
#include "memtrace/events.h"
#include "memtrace/instrument.h"
#include "memtrace/pipe.h"
#include "memtrace/sites.h"
#include "memtrace/synchronisation.h"
#include "memtrace/system_calls.h"
#include "memtrace/threads.h"

#include "virtual_processors/baton.h"
#include "virtual_processors/processors.h"
#include "virtual_processors/turns.h"

#include <valgrind.h>

struct memtrace_options options = {.seed = 1, .turn = 1000};

static Int kind_of(const HChar *name)
{
    Int kind = allocation_kind_of(name);

    return kind != ALLOCATION_NONE ? kind : synchronisation_kind_of(name);
}

static void entered(ThreadId thread, struct program_call *call)
{
    if (call->kind < ALLOCATION_KINDS)
        allocations_entered(thread, call);
    else
        synchronisation_entered(thread, call);
}

static void returned(ThreadId thread, const struct program_call *call, UWord result)
{
    if (call->kind < ALLOCATION_KINDS)
        allocations_returned(thread, call, result);
    else
        synchronisation_returned(thread, call, result);
}

static void thread_ends(ThreadId thread)
{
    threads_ends(thread);
    baton_thread_exits();
}

static void thread_goes_on(ThreadId thread, ULong blocks_done)
{
    program_calls_thread_goes_on(thread);
    buffers_thread_goes_on(thread);
    events_thread_goes_on(thread);
}

static void thread_begins(ThreadId thread)
{
    program_calls_thread_is_new(thread);
    threads_begins(thread);
}

/* A mark of include/mplace_trace.h. */
static Bool answer(ThreadId thread, UWord *request, UWord *reply)
{
    UWord mark = request[0] - VG_USERREQ_TOOL_BASE('M', 'T');

    if (mark > TRACE_FRAME)
        return False;
    events_append(thread, &(struct trace_event){
                              .kind = TRACE_MARK,
                              .what = (uint8_t)mark,
                              .address = request[1],
                              .value = request[2],
                              .site = sites_of(VG_(get_IP)(thread)),
                          });
    *reply = 0;
    return True;
}

/* A child is not traced. */
static void in_child(ThreadId thread)
{
    pipe_close();
    instrument_stop();
}

static Bool parse_option(const HChar *argument)
{
    if VG_STR_CLO (argument, "--pipe", options.pipe) {
    } else if VG_BOOL_CLO (argument, "--values", options.values) {
    } else if VG_BINT_CLO (argument, "--max-accesses", options.max_accesses, 0, 1LL << 60) {
    } else if (VG_BINT_CLO(argument, "--cpus", processor_settings.cpus, 1, CPUS_MOST)) {
    } else if (VG_BINT_CLO(argument, "--timeslice", processor_settings.timeslice, 1, 1 << 30)) {
    } else if (VG_BINT_CLO(argument, "--turn", options.turn, 1, 1 << 30)) {
    } else if (VG_BINT_CLO(argument, "--seed", options.seed, 0, 1LL << 62)) {
    } else {
        return False;
    }
    return True;
}

static void usage(void)
{
    VG_(printf)
    ("    --pipe=FILE               what mplace-trace-writer reads; without it nothing is told\n"
     "    --values=yes|no           record what is stored, too [no]\n"
     "    --max-accesses=N          stop after N accesses; 0: never [0]\n"
     "    --cpus=N                  virtual processors, up to %d [%d]\n"
     "    --turn=N                  blocks until another processor goes on, on average [%d]\n"
     "    --timeslice=N             blocks until a processor takes its next thread [%d]\n"
     "    --seed=N                  of how threads interleave [%lld]\n",
     CPUS_MOST, processor_settings.cpus, options.turn, processor_settings.timeslice, options.seed);
}

static void debug_usage(void)
{
    VG_(printf)("    (none)\n");
}

static void after_options(void)
{
    static const struct program_calls_reader reader = {
        .kind_of = kind_of,
        .entered = entered,
        .returned = returned,
    };

    turns_seed((ULong)options.seed);
    pipe_open();
    buffers_init();
    threads_init();
    allocations_init();
    system_calls_init();
    program_calls_init(&reader);
    VG_(atfork)(NULL, NULL, in_child);
}

static void at_end(Int exit_code)
{
    if (!pipe_is_open)
        return;
    buffers_flush();
    pipe_send(WIRE_END, 0, NULL, 0);
    pipe_close();
}

static void before_options(void)
{
    VG_(details_name)("memtrace");
    VG_(details_version)(NULL);
    VG_(details_description)("what a program accesses, thread by thread");
    VG_(details_copyright_author)("Copyright (C) 2026 and GNU GPL'd, by the mplace authors.");
    VG_(details_bug_reports_to)("the mplace authors");
    VG_(details_avg_translation_sizeB)(700);
    VG_(basic_tool_funcs)(after_options, instrument, at_end);
    VG_(needs_command_line_options)(parse_option, usage, debug_usage);
    VG_(track_start_client_code)(thread_goes_on);
    VG_(needs_client_requests)(answer);
    VG_(needs_syscall_wrapper)(system_call_before, system_call_after);
    VG_(track_pre_thread_ll_create)(threads_made);
    VG_(track_pre_thread_first_insn)(thread_begins);
    VG_(track_pre_thread_ll_exit)(thread_ends);
    /* A function that is called must begin a block of code, for it to be seen; and a block has few
     * exits. */
    VG_(clo_vex_control).guest_chase = False;
    /* The stack is walked at any call that is watched: the registers must be there. */
    VG_(clo_px_file_backed) = VexRegUpdSpAtMemAccess;
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
