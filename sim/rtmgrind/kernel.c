/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See kernel.h. The caller of a system call is in no transaction: the end of its block has aborted
 * it. What the kernel reads and writes for it counts as its own accesses.
 */
#include "rtmgrind/kernel.h"

#include "program_calls/core_internals.h"
#include "rtmgrind/common/in_flight.h"
#include "rtmgrind/counts/sections.h"
#include "virtual_processors/affinity.h"
#include "virtual_processors/baton.h"
#include "virtual_processors/processors.h"
#include "rtmgrind/report/report.h"
#include "rtmgrind/transactions/conflict.h"
#include "rtmgrind/transactions/futex.h"
#include "rtmgrind/transactions/pages.h"
#include "rtmgrind/transactions/transaction.h"
#include "rtmgrind/translation/variants.h"

/* Calls that change the address space. On hardware they interrupt all processors that run threads
 * of the process, which aborts their transactions: to forget translations of addresses, or, at a
 * fork, rights to write. A file that becomes shorter takes its pages away from who has it mapped:
 * afterwards there would be no place to put old bytes back to. */
static Bool changes_address_space(UInt number, const UWord *arguments)
{
    switch (number) {
    case __NR_truncate:
    case __NR_ftruncate:
    case __NR_fallocate:
    case __NR_creat:
    case __NR_munmap:
    case __NR_mprotect:
    case __NR_mremap:
    case __NR_madvise:
    case __NR_brk:
    case __NR_shmdt:
    case __NR_fork:
    case __NR_vfork:
    case __NR_execve:
    case __NR_exit_group:
    case __NR_pkey_mprotect:
        return True;
    case __NR_mmap:
        return (arguments[3] & VKI_MAP_FIXED) != 0;
    case __NR_clone: /* a new process; Valgrind makes a vfork one, too */
        return (arguments[0] & VKI_CLONE_THREAD) == 0;
    case __NR_open:
        return (arguments[1] & VKI_O_TRUNC) != 0;
    case __NR_openat:
        return (arguments[2] & VKI_O_TRUNC) != 0;
    default:
        return False;
    }
}

/* Does the thread keep the baton, though the core thinks that the call may last? These do not, and
 * what they change should not change in the middle of another thread's transaction. */
static Bool returns_soon(UInt number, const UWord *arguments)
{
    switch (number) {
    case __NR_futex:
        return futex_never_sleeps(arguments);
    case __NR_madvise:
    case __NR_truncate:
    case __NR_ftruncate:
    case __NR_fallocate:
        return True;
    default:
        return False;
    }
}

/* Of the calls for which it matters, which keep the baton: so one is enough. */
static ULong arrivals_before_call;

static void store_by_kernel(Addr address, SizeT size)
{
    if (transactions_active != 0)
        conflict_plain(address, size, True, 0);
}

/* What the core tells of the memory of the call that is about to be made is kept, but for futex(2):
 * futex.c knows better. */
static Bool keep_ranges;

/* The program may end here, without the core telling. */
static void may_exec(UInt number, const UWord *arguments)
{
    Addr path = number == __NR_execve ? arguments[0] : arguments[1];

    if (VG_(am_is_valid_for_client)(path, 1, VKI_PROT_READ))
        report_before_exec((const HChar *)path);
}

static void before_system_call(ThreadId thread, UInt number, UWord *arguments, UInt count)
{
    if (changes_address_space(number, arguments))
        transactions_abort_all(-1, ABORT_SHOOTDOWN);
    if (number == __NR_execve || number == __NR_execveat)
        may_exec(number, arguments);
    /* May be this process's own memory; where, the core does not tell. */
    if (number == __NR_process_vm_readv || number == __NR_process_vm_writev)
        transactions_abort_all(-1, ABORT_CONFLICT);
    sections_system_call(thread, number, arguments);
    in_flight_end(thread);
    keep_ranges = number != __NR_futex;
    if (number == __NR_futex) {
        futex_called(thread, arguments);
        if (futex_word_written(arguments) != 0) /* the core does not tell of it */
            store_by_kernel(futex_word_written(arguments), sizeof(Int));
    }
    arrivals_before_call = baton_arrivals();
    /* Who yields stays ready: when it goes on is for the schedule to say, not for the host. */
    if (number == __NR_sched_yield)
        processors_end_slice();
    else
        baton_call(returns_soon(number, arguments));
}

static void after_system_call(ThreadId thread, UInt number, UWord *arguments, UInt count,
                              SysRes result)
{
    baton_call_returned();
    futex_returned(thread);
    in_flight_end(thread);
    keep_ranges = False;
    affinity_called(thread, number, arguments, result);
    if (changes_address_space(number, arguments))
        pages_forget();
    if (sr_isError(result))
        return;
    if (number == __NR_futex && futex_wakes(arguments))
        baton_await(arrivals_before_call + sr_Res(result), futex_is_private(arguments));
    if (number == __NR_clone && (arguments[0] & VKI_CLONE_THREAD) != 0)
        baton_await(arrivals_before_call + 1, True);
}

static void kernel_loads(CorePart part, ThreadId thread, const HChar *what, Addr address,
                         SizeT size)
{
    if (transactions_active != 0)
        conflict_plain(address, size, False, 0);
    if (part == Vg_CoreSysCall && keep_ranges)
        in_flight_add(thread, address, size);
}

static void kernel_loads_string(CorePart part, ThreadId thread, const HChar *what, Addr address)
{
    enum { PAGE_BYTES = 4096 };
    Addr end = address;

    if (transactions_active == 0)
        return;
    /* The kernel stops at the first page that is not there; so must this. */
    do {
        if ((end == address || end % PAGE_BYTES == 0) &&
            !VG_(am_is_valid_for_client)(end, 1, VKI_PROT_READ))
            break;
    } while (*(const HChar *)end++ != 0);
    conflict_plain(address, end - address, False, 0);
}

static void kernel_stored(CorePart part, ThreadId thread, Addr address, SizeT size)
{
    store_by_kernel(address, size);
}

static void kernel_stores(CorePart part, ThreadId thread, const HChar *what, Addr address,
                          SizeT size)
{
    store_by_kernel(address, size);
    if (part == Vg_CoreSysCall && keep_ranges)
        in_flight_add(thread, address, size);
}

/* If the thread is in a transaction: aborts it, so that the fault never happened. */
static Bool swallow(ThreadId thread, enum abort_cause cause)
{
    struct abort_event event = {.cause = cause};

    if (transaction_running == NULL || transaction_running->thread != thread)
        return False;
    event.instruction = VG_(get_IP)(thread);
    transaction_abort(transaction_running, &event);
    return True;
}

/* A signal that ends the process, or another thread's exec, can end a thread anywhere. Memory that
 * it shares with other processes outlives it. */
static void thread_ends(ThreadId thread)
{
    swallow(thread, ABORT_SIGNAL);
    baton_thread_exits();
    futex_returned(thread);
    in_flight_end(thread);
}

/* From a fault of the host in translated code until the core is through with it. */
static Bool swallowed_fault;

/* The core's handler of such a fault asks first whether the program blocks the signal, resets it to
 * its default then, and so ends the process. Nothing else asks while translated code runs. A fault
 * in a transaction is no signal, and so is not blocked. */
Bool __wrap_vgPlain_sigismember(const vki_sigset_t *set, Int number)
{
    if (VG_(in_generated_code) && (transaction_running != NULL || swallowed_fault)) {
        swallowed_fault = False;
        return False;
    }
    return __real_vgPlain_sigismember(set, number);
}

/* Called for the host's faults in translated code, among others. When it returns False the core
 * leaves the code and goes on with the guest's registers: those at the fallback. */
Bool __wrap_vgPlain_gdbserver_report_signal(vki_siginfo_t *info, ThreadId thread)
{
    Bool fault = info->si_signo == VKI_SIGSEGV || info->si_signo == VKI_SIGBUS ||
                 info->si_signo == VKI_SIGFPE || info->si_signo == VKI_SIGILL;

    /* A positive code: from the kernel, not sent by anybody. */
    if (fault && info->si_code > 0 && thread == VG_(get_running_tid)() &&
        swallow(thread, ABORT_FAULT)) {
        swallowed_fault = True;
        return False;
    }
    return __real_vgPlain_gdbserver_report_signal(info, thread);
}

void __wrap_vgPlain_synth_fault(ThreadId thread)
{
    if (!swallow(thread, ABORT_FAULT))
        __real_vgPlain_synth_fault(thread);
}

void __wrap_vgPlain_synth_fault_mapping(ThreadId thread, Addr address)
{
    if (!swallow(thread, ABORT_PAGE_FAULT))
        __real_vgPlain_synth_fault_mapping(thread, address);
}

void __wrap_vgPlain_synth_fault_perms(ThreadId thread, Addr address)
{
    if (!swallow(thread, ABORT_PAGE_FAULT))
        __real_vgPlain_synth_fault_perms(thread, address);
}

void __wrap_vgPlain_synth_sigill(ThreadId thread, Addr address)
{
    if (!swallow(thread, ABORT_FAULT))
        __real_vgPlain_synth_sigill(thread, address);
}

void __wrap_vgPlain_synth_sigtrap(ThreadId thread)
{
    if (!swallow(thread, ABORT_BREAKPOINT))
        __real_vgPlain_synth_sigtrap(thread);
}

void __wrap_vgPlain_synth_sigbus(ThreadId thread)
{
    if (!swallow(thread, ABORT_FAULT))
        __real_vgPlain_synth_sigbus(thread);
}

void __wrap_vgPlain_synth_sigfpe(ThreadId thread, UInt code)
{
    if (!swallow(thread, ABORT_FAULT))
        __real_vgPlain_synth_sigfpe(thread, code);
}

/* A handler is about to run on the thread's stack. The core took the top of the frame from the
 * stack pointer inside of the transaction; the abort puts another one back, and the frame belongs
 * below that. On an alternate stack its top stays. */
void __wrap_vgPlain_sigframe_create(SIGFRAME_PARAMETERS)
{
    enum { RED_ZONE_BYTES = 128 };
    Addr next = unmarked_address(VG_(get_IP)(thread));

    /* The handler finds in its frame where the thread goes on. */
    VG_(set_shadow_regs_area)(thread, 0, offsetof(Guest, guest_RIP), sizeof next, (UChar *)&next);

    if (swallow(thread, ABORT_SIGNAL) && !on_alternate_stack)
        top = VG_(get_SP)(thread) - RED_ZONE_BYTES;
    __real_vgPlain_sigframe_create(thread, on_alternate_stack, top, info, context, handler, flags,
                                   mask, restorer);
}

static void in_child(ThreadId thread)
{
    futex_forget();
    in_flight_forget();
}

void kernel_init(void)
{
    VG_(atfork)(NULL, NULL, in_child);
    VG_(needs_syscall_wrapper)(before_system_call, after_system_call);
    VG_(track_pre_mem_read)(kernel_loads);
    VG_(track_pre_mem_read_asciiz)(kernel_loads_string);
    VG_(track_pre_mem_write)(kernel_stores);
    VG_(track_post_mem_write)(kernel_stored);
    VG_(track_pre_thread_ll_exit)(thread_ends);
}
