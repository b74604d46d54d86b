/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See affinity.h. The host's kernel has made the call; its answer is replaced by what it would be
 * on the processors of the emulation. It may even have refused a processor that the host has not.
 */
#include "virtual_processors/affinity.h"

#include "program_calls/core_internals.h"
#include "virtual_processors/processors.h"

static void store(Addr where, const void *value, SizeT size)
{
    if (processor_settings.stores != NULL)
        processor_settings.stores(where, size);
    VG_(memcpy)((void *)where, value, size);
}

static void store_number(Addr where, UInt value)
{
    if (where != 0)
        store(where, &value, sizeof value);
}

static void set_result(ThreadId thread, Long result)
{
    VG_(set_shadow_regs_area)
    (thread, 0, offsetof(Guest, guest_RAX), sizeof result, (UChar *)&result);
}

/* The thread of ours that a call means by this number; 0 if it is none. */
static Int thread_meant(UWord number)
{
    Int thread = (Int)number == 0 ? VG_(gettid)() : (Int)number;

    return sr_isError(
               VG_(do_syscall)(__NR_tgkill, (UWord)VG_(getpid)(), (UWord)thread, 0, 0, 0, 0, 0, 0))
               ? 0
               : thread;
}

static void set_affinity(ThreadId thread, const UWord *arguments, SysRes result)
{
    ULong cpus = 0;
    SizeT size = arguments[1];
    Int meant = thread_meant(arguments[0]);

    /* The host refuses a mask without any processor of its own. For all else it is right. */
    if (meant == 0 || (sr_isError(result) && sr_Err(result) != VKI_EINVAL))
        return;
    VG_(memcpy)(&cpus, (const void *)arguments[2], size < sizeof cpus ? size : sizeof cpus);
    cpus &= processors_all();
    if (cpus == 0) {
        set_result(thread, -VKI_EINVAL);
        return;
    }
    processors_lock();
    processors_set_affinity(meant, cpus);
    processors_unlock();
    set_result(thread, 0);
}

static void get_affinity(const UWord *arguments, SysRes result)
{
    Int meant = thread_meant(arguments[0]);
    ULong cpus;

    if (meant == 0)
        return;
    processors_lock();
    cpus = processors_affinity(meant);
    processors_unlock();
    /* The result is how many bytes were stored: whole words. The host may have more processors. */
    VG_(memset)((void *)arguments[2], 0, sr_Res(result));
    store(arguments[2], &cpus, sizeof cpus);
}

/* A new thread may use what its creator may, from before it first runs. */
static void inherit(Int child)
{
    processors_lock();
    processors_set_affinity(child, processors_affinity(VG_(gettid)()));
    processors_unlock();
}

/* The file that was opened becomes one that lists the processors of the emulation. */
static void list_processors(Int descriptor, UWord flags)
{
    enum { CLOSE_ON_EXEC = 02000000 }; /* O_CLOEXEC */
    HChar list[16];
    Int length = processor_settings.cpus == 1
                     ? VG_(sprintf)(list, "0\n")
                     : VG_(sprintf)(list, "0-%d\n", processor_settings.cpus - 1);
    SysRes made = VG_(do_syscall)(__NR_memfd_create, (UWord) "processors", 0, 0, 0, 0, 0, 0, 0);

    if (sr_isError(made))
        return;
    VG_(write)((Int)sr_Res(made), list, length);
    VG_(lseek)((Int)sr_Res(made), 0, VKI_SEEK_SET);
    (void)VG_(do_syscall)(__NR_dup3, sr_Res(made), (UWord)descriptor, flags & CLOSE_ON_EXEC, 0, 0,
                          0, 0, 0);
    VG_(close)((Int)sr_Res(made));
}

static void opened(Addr name, UWord flags, Int descriptor)
{
    static const HChar *const lists[] = {
        "/sys/devices/system/cpu/online",
        "/sys/devices/system/cpu/possible",
        "/sys/devices/system/cpu/present",
    };

    for (UInt i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (VG_(strcmp)((const HChar *)name, lists[i]) == 0)
            list_processors(descriptor, flags);
    }
}

void affinity_called(ThreadId thread, UInt number, const UWord *arguments, SysRes result)
{
    if (number == __NR_sched_setaffinity)
        set_affinity(thread, arguments, result);
    if (sr_isError(result))
        return;
    switch (number) {
    case __NR_getcpu:
        store_number(arguments[0], (UInt)processors_mine());
        store_number(arguments[1], 0); /* one node */
        break;
    case __NR_sched_getaffinity:
        get_affinity(arguments, result);
        break;
    case __NR_clone:
        if ((arguments[0] & VKI_CLONE_THREAD) != 0)
            inherit((Int)sr_Res(result));
        break;
    case __NR_open:
        opened(arguments[0], arguments[1], (Int)sr_Res(result));
        break;
    case __NR_openat:
        opened(arguments[1], arguments[2], (Int)sr_Res(result));
        break;
    default:
        break;
    }
}
