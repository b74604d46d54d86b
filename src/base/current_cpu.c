/*
 * SPDX-License-Identifier: MIT
 *
 * The slower ways to learn the CPU; see current_cpu.h.
 */
#include "base/current_cpu.h"

#include "mplace_trace.h"

#include <cpuid.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <x86intrin.h>

/*
 * RDPID before RDTSCP: with prctl(PR_SET_TSC), and so in a strict seccomp sandbox, the latter is
 * SIGSEGV. Valgrind knows the latter alone, and that only on a processor that has it, but its CPUID
 * names it in any case: there it is the system call. (rtmgrind and memtrace know both.)
 */
enum method { METHOD_UNKNOWN, METHOD_RDPID, METHOD_RDTSCP, METHOD_GETCPU };

enum {
    CPUID_FEATURES = 7,
    ECX_RDPID = 1 << 22,
    CPUID_EXTENDED_FEATURES = 0x80000001,
    EDX_RDTSCP = 1 << 27,
    TSC_AUX_CPU_BITS = 0xfff,
    RUNNING_ON_VALGRIND = 0x1001, /* a request, in Valgrind's valgrind.h */
};

static bool runs_on_valgrind(void)
{
    const uint64_t request[6] = {RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0};

    return mplace_trace_request(request) != 0;
}

static enum method find_method(void)
{
    unsigned eax, ebx, ecx, edx;

    if (__get_cpuid_count(CPUID_FEATURES, 0, &eax, &ebx, &ecx, &edx) && (ecx & ECX_RDPID))
        return METHOD_RDPID;
    if (!runs_on_valgrind() && __get_cpuid(CPUID_EXTENDED_FEATURES, &eax, &ebx, &ecx, &edx) &&
        (edx & EDX_RDTSCP))
        return METHOD_RDTSCP;
    return METHOD_GETCPU;
}

/* Linux keeps node << 12 | cpu in TSC_AUX (arch/x86/include/asm/segment.h). */
static inline unsigned read_aux(enum method method)
{
    uint64_t number;
    unsigned aux;

    if (method == METHOD_RDPID) {
        __asm__ volatile("rdpid %0" : "=r"(number));
        return (unsigned)number;
    }
    (void)__rdtscp(&aux);
    return aux;
}

unsigned current_cpu_without_rseq(void)
{
    /* Every thread finds the same answer: a race writes the same value twice. */
    static _Atomic enum method method;
    enum method known = atomic_load_explicit(&method, memory_order_relaxed);

    if (known == METHOD_UNKNOWN) {
        known = find_method();
        atomic_store_explicit(&method, known, memory_order_relaxed);
    }
    if (known != METHOD_GETCPU)
        return read_aux(known) & TSC_AUX_CPU_BITS;
    int cpu = sched_getcpu();
    return cpu < 0 ? 0 : (unsigned)cpu;
}
