/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See system_calls.h.
 */
#include "memtrace/system_calls.h"

#include "memtrace/buffers.h"
#include "memtrace/events.h"
#include "memtrace/instrument.h"
#include "memtrace/pipe.h"
#include "memtrace/sites.h"

#include "program_calls/program_calls.h"
#include "virtual_processors/affinity.h"
#include "virtual_processors/baton.h"
#include "virtual_processors/futex_call.h"
#include "virtual_processors/processors.h"

/* msync without it promises nothing: MS_ASYNC, MS_INVALIDATE. Valgrind's headers have no name for
 * it. */
enum { MS_SYNC_FLAG = 4 };

/* Posts that were before, of the futex at which each thread waits. */
static ULong *posts_before;

void system_calls_init(void)
{
    posts_before = VG_(calloc)("memtrace.waits", VG_N_THREADS, sizeof *posts_before);
}

/* An execve is under way; if it comes back, it has failed. */
static Bool becomes_another;

static UInt site_of(ThreadId thread)
{
    return sites_of(VG_(get_IP)(thread));
}

static enum trace_call what_of(const struct object *object)
{
    return object->is_once ? TRACE_ONCE : TRACE_FUTEX;
}

static void before_futex(ThreadId thread, const UWord *arguments)
{
    struct object *object = objects_at(arguments[0]);

    switch (futex_operation(arguments)) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        posts_before[thread] = object->posts;
        break;
    case FUTEX_WAKE:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_WAKE_OP:
    case FUTEX_WAKE_BITSET: /* who waits may go on before this call returns */
        object->latest = events_post(thread, what_of(object), object->address, site_of(thread));
        object->posts++;
        break;
    default:
        break;
    }
}

static void after_futex(ThreadId thread, const UWord *arguments)
{
    struct object *object = objects_at(arguments[0]);

    switch (futex_operation(arguments)) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        if (object->posts > posts_before[thread])
            events_wait(thread, what_of(object), object->address, site_of(thread), object->latest);
        break;
    default:
        break;
    }
}

/* Those of a watched call are told as what that call is. */
static Bool is_raw_futex(ThreadId thread, UInt number)
{
    return number == __NR_futex && program_calls_open(thread).kind == PROGRAM_CALL_NONE;
}

static void record_before(ThreadId thread, UInt number, const UWord *arguments)
{
    if (is_raw_futex(thread, number))
        before_futex(thread, arguments);
    /* The process may become another program, without the core telling. Before, all other threads
     * end, which is nothing that they did. */
    if (number == __NR_execve || number == __NR_execveat) {
        buffers_flush();
        pipe_send(WIRE_END, 0, NULL, 0);
        pipe_is_open = False;
        becomes_another = True;
    }
}

static void record_after(ThreadId thread, UInt number, const UWord *arguments)
{
    if (is_raw_futex(thread, number))
        after_futex(thread, arguments);
    if (number == __NR_msync && (arguments[2] & MS_SYNC_FLAG) != 0)
        events_append(thread, &(struct trace_event){
                                  .kind = TRACE_FLUSH,
                                  .what = TRACE_MSYNC,
                                  .address = arguments[0],
                                  .value = arguments[1],
                                  .site = site_of(thread),
                              });
}

/* Of the calls for which it matters, which keep the baton: so one is enough. */
static ULong arrivals_before_call;

void system_call_before(ThreadId thread, UInt number, UWord *arguments, UInt count)
{
    instrument_forget();
    if (pipe_is_open)
        record_before(thread, number, arguments);
    arrivals_before_call = baton_arrivals();
    /* Who yields stays ready: when it goes on is for the turns to say, not for the host. */
    if (number == __NR_sched_yield)
        processors_end_slice();
    else
        baton_call(number == __NR_futex && futex_never_sleeps(arguments));
}

void system_call_after(ThreadId thread, UInt number, UWord *arguments, UInt count, SysRes result)
{
    baton_call_returned();
    affinity_called(thread, number, arguments, result);
    if (becomes_another) {
        becomes_another = False;
        pipe_is_open = True;
    }
    if (sr_isError(result))
        return;
    if (pipe_is_open)
        record_after(thread, number, arguments);
    if (number == __NR_futex && futex_wakes(arguments))
        baton_await(arrivals_before_call + sr_Res(result), futex_is_private(arguments));
    if (number == __NR_clone && (arguments[0] & VKI_CLONE_THREAD) != 0)
        baton_await(arrivals_before_call + 1, True);
}
