/*
 * SPDX-License-Identifier: MIT
 *
 * Asks the processor, the C library and the kernel what a shell script cannot: cache geometry as
 * the libraries see it, whether a hardware transaction commits, rseq, hardware counters, the
 * hypervisor. Prints key=value lines for "mplace cpu"; "--rtm" prints the state of RTM alone.
 */
#include "base/cache_geometry.h"
#include "base/current_cpu.h"
#include "program_options.h"
#include "ttstle_lock/rtm/rtm_probe.h"

#include <cpuid.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LEAF_FEATURES = 1,
    FEATURES_ECX_HYPERVISOR = 1u << 31,
    LEAF_HYPERVISOR = 0x40000000,
};

/* "usable", "emulated", "absent" or "always-abort": what the elision library itself finds. */
static const char *rtm_state(void)
{
    const char *requested = getenv("MPLACE_HTM");

    unsetenv("TTSTLE_HTM"); /* the question is what the processor can, not what the user wants */
    switch (rtm_probe()) {
    case RTM_COMMITS:
        /* An emulator shows itself as a processor; who started it says so. */
        return requested != NULL && strcmp(requested, "emulated") == 0 ? "emulated" : "usable";
    case RTM_ALWAYS_ABORTS:
        return "always-abort";
    case RTM_ABSENT:
    case RTM_SWITCHED_OFF:
        break;
    }
    return "absent";
}

static void print_cache(const char *key, const struct cache_level *level, enum cache_source source)
{
    static const char *const sources[] = {"cpuid", "setting", "default"};

    printf("%s=%ux%ux%u\n%s_source=%s\n", key, level->sets, level->ways, level->line, key,
           sources[source]);
}

/* Counts cycles of this process in user mode, which needs the least rights of all counters. */
static const char *probe_counters(void)
{
    struct perf_event_attr attribute = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attribute,
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    long file = syscall(SYS_perf_event_open, &attribute, 0, -1, -1, 0);

    if (file >= 0) {
        close((int)file);
        return "usable";
    }
    switch (errno) {
    case EACCES:
    case EPERM:
        return "forbidden";
    case ENOSYS:
        return "no-system-call";
    default:
        return "absent";
    }
}

static const char *probe_rseq(void)
{
    if (&__rseq_size == NULL)
        return "not-in-libc";
    if (__rseq_size == 0)
        return "refused";
    const char *area = (const char *)__builtin_thread_pointer() + __rseq_offset;
    return *(const volatile int32_t *)(area + RSEQ_CPU_ID) >= 0 ? "registered" : "refused";
}

/* The name of the hypervisor with this signature (CPUID leaf 0x40000000); the signature itself
 * where it is not known. */
static const char *hypervisor_name(const char *signature)
{
    static const char *const names[][2] = {
        {"KVMKVMKVM", "KVM"},       {"Linux KVM Hv", "KVM"},        {"Microsoft Hv", "Hyper-V"},
        {"VMwareVMware", "VMware"}, {"VBoxVBoxVBox", "VirtualBox"}, {"XenVMMXenVMM", "Xen"},
        {"TCGTCGTCGTCG", "QEMU"},   {"bhyve bhyve ", "bhyve"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(signature, names[i][0]) == 0)
            return names[i][1];
    return signature;
}

static void print_hypervisor(void)
{
    unsigned eax, ebx, ecx, edx;
    char name[13] = "unknown";

    if (!__get_cpuid(LEAF_FEATURES, &eax, &ebx, &ecx, &edx) || !(ecx & FEATURES_ECX_HYPERVISOR)) {
        puts("hypervisor=none");
        return;
    }
    __cpuid(LEAF_HYPERVISOR, eax, ebx, ecx, edx);
    if (ebx != 0) {
        memcpy(name, &ebx, 4);
        memcpy(name + 4, &ecx, 4);
        memcpy(name + 8, &edx, 4);
        name[12] = '\0';
    }
    printf("hypervisor=%s\n", hypervisor_name(name));
}

int main(int argc, char **argv)
{
    struct cache_geometry geometry;

    int rtm_alone = 0;
    const struct option flags[] = {{.name = "rtm", .flag = &rtm_alone, .val = 1}, {0}};

    if (program_options(argc, argv, flags, "mplace-probe [--rtm]") != argc) {
        fputs("mplace-probe: there are no arguments but --rtm\n", stderr);
        return 2;
    }
    if (rtm_alone) {
        puts(rtm_state());
        return EXIT_SUCCESS;
    }
    cache_geometry_read(&geometry);
    print_cache("l1d", &geometry.l1d, geometry.l1d_source);
    print_cache("l2", &geometry.l2, geometry.l2_source);
    printf("rtm=%s\n", rtm_state());
    printf("counters=%s\nrseq=%s\n", probe_counters(), probe_rseq());
    print_hypervisor();
    return EXIT_SUCCESS;
}
