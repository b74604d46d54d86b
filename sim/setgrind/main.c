/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * setgrind: whether the places of a program's heap blocks cost it cache misses, as a Valgrind tool.
 * The program keeps its own allocator. See README.md. Only Valgrind's public interface for tools is
 * used here.
 */
#include "blocks.h"
#include "caches.h"
#include "instrument.h"
#include "report.h"
#include "sections.h"

struct setgrind_options options = {
    .l1d = {64, 8, LINE_BYTES},
    .callers = 2,
};

static void block_appeared(Addr start, SizeT size, ExeContext *stack)
{
    blocks_appeared(start, size, origins_of(stack));
}

static const struct allocation_reader allocations = {.appeared = block_appeared,
                                                     .gone = blocks_gone};

static Int kind_of(const HChar *name)
{
    Int kind = allocation_kind_of(name);

    return kind != ALLOCATION_NONE ? kind : lock_call_kind_of(name);
}

static void entered(ThreadId thread, struct program_call *call)
{
    if (call->kind < ALLOCATION_KINDS)
        allocation_entered(&allocations, thread, call);
    else
        sections_entered(thread, call);
}

static void returned(ThreadId thread, const struct program_call *call, UWord result)
{
    if (call->kind < ALLOCATION_KINDS)
        allocation_returned(&allocations, call, result);
    else
        sections_returned(thread, call, result);
}

static void thread_goes_on(ThreadId thread, ULong blocks_done)
{
    static Bool begun;

    if (!begun)
        report_begin();
    begun = True;
    program_calls_thread_goes_on(thread);
    caches_thread_goes_on(thread);
}

static void thread_is_new(ThreadId thread)
{
    program_calls_thread_is_new(thread);
    sections_thread_is_new(thread);
    caches_thread_is_new(thread);
}

static void reset_origin(struct origin *origin, void *argument)
{
    tallies_reset(&origin->tally);
}

/* A child tells of itself alone, if its file is another one: without a process id in the name it
 * would write over its parent's. */
static void in_child(ThreadId thread)
{
    if (options.output != NULL && VG_(strstr)(options.output, "%p") == NULL)
        options.output = NULL;
    origins_each(reset_origin, NULL);
    tallies_reset_sizes();
    sections_reset();
    caches_reset_totals();
}

/* The process may become another program, without the core telling; if it fails, the report is
 * written anew at the end. */
static void before_system_call(ThreadId thread, UInt number, UWord *arguments, UInt count)
{
    Addr path = number == __NR_execve ? arguments[0] : arguments[1];

    if ((number == __NR_execve || number == __NR_execveat) &&
        VG_(am_is_valid_for_client)(path, 1, VKI_PROT_READ))
        report_write_before_exec((const HChar *)path);
}

static void after_system_call(ThreadId thread, UInt number, UWord *arguments, UInt count,
                              SysRes result)
{
    if (number == __NR_execve || number == __NR_execveat)
        report_exec_failed();
}

static Bool parse_option(const HChar *argument)
{
    const HChar *text;

    if VG_STR_CLO (argument, "--l1d", text) {
        if (!cache_model_parse(text, &options.l1d))
            VG_(fmsg_bad_option)(argument, "'%s' is not SETSxWAYS, for instance 64x12\n", text);
        if (options.l1d.line != LINE_BYTES || options.l1d.sets > SETS_MOST)
            VG_(fmsg_bad_option)
        (argument, "lines have %d bytes, and there are %d sets at most\n", (Int)LINE_BYTES,
         (Int)SETS_MOST);
    } else if VG_STR_CLO (argument, "--setgrind-out", options.output) {
    } else if VG_BINT_CLO (argument, "--callers", options.callers, 0, 10) {
    } else {
        return False;
    }
    return True;
}

static void usage(void)
{
    VG_(printf)
    ("    --l1d=SETSxWAYS           the first-level data cache, or haswell, icelake [64x8]\n"
     "    --setgrind-out=FILE       write what was found to FILE; %%p is the process id\n"
     "    --callers=N               tell blocks apart by so many callers of who allocates [2]\n");
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

    report_init();
    program_calls_init(&reader);
    caches_init();
    sections_init();
    VG_(atfork)(NULL, NULL, in_child);
}

static void at_end(Int exit_code)
{
    report_write();
}

static void before_options(void)
{
    VG_(details_name)("setgrind");
    VG_(details_version)(NULL);
    VG_(details_description)("whether heap blocks lie on too few cache sets");
    VG_(details_copyright_author)("Copyright (C) 2026 and GNU GPL'd, by the mplace authors.");
    VG_(details_bug_reports_to)("the mplace authors");
    VG_(details_avg_translation_sizeB)(500);
    VG_(basic_tool_funcs)(after_options, instrument, at_end);
    VG_(needs_command_line_options)(parse_option, usage, debug_usage);
    VG_(needs_syscall_wrapper)(before_system_call, after_system_call);
    VG_(track_start_client_code)(thread_goes_on);
    VG_(track_pre_thread_first_insn)(thread_is_new);
    /* A function that is called must begin a block of code, for it to be seen. */
    VG_(clo_vex_control).guest_chase = False;
    /* The stack is walked at any call that is watched: the registers must be there. */
    VG_(clo_px_file_backed) = VexRegUpdSpAtMemAccess;
    VG_(clo_backtrace_size) = ORIGIN_FRAMES_MOST / 2;
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
