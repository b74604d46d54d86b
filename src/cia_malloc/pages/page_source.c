/*
 * SPDX-License-Identifier: MIT
 *
 * mmap, munmap, mremap, madvise, mprotect, mbind; see page_source.h.
 */
#include "cia_malloc/pages/page_source.h"

#include "base/memory_nodes.h"
#include "base/pages.h"
#include "base/probes.h"
#include "base/short_file.h"
#include "base/system_call.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>

/*
 * Written at each map and unmap only: once in thousands of allocations. Released before addresses
 * go back to the kernel and acquired when it hands some out: the thread that gets them next, from
 * whichever thread, sees what was written about them before, in the page map for instance. A line
 * of its own, apart from words that every malloc or free reads.
 */
_Alignas(LINE_BYTES) atomic_size_t page_source_mapped_bytes;

__attribute__((weak)) long page_source_mmap(void *hint, size_t bytes, int protection)
{
    return system_call_6(SYS_mmap, (long)hint, (long)bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
}

__attribute__((weak)) long page_source_munmap(void *address, size_t bytes)
{
    return system_call_6(SYS_munmap, (long)address, (long)bytes, 0, 0, 0, 0);
}

__attribute__((weak)) long page_source_mremap(void *address, size_t old_bytes, size_t new_bytes)
{
    return system_call_6(SYS_mremap, (long)address, (long)old_bytes, (long)new_bytes,
                         MREMAP_MAYMOVE, 0, 0);
}

__attribute__((weak)) long page_source_madvise(void *address, size_t bytes, int advice)
{
    return system_call_6(SYS_madvise, (long)address, (long)bytes, advice, 0, 0, 0);
}

__attribute__((weak)) long page_source_call(long number, long first, long second, long third,
                                            long fourth, long fifth, long sixth)
{
    return system_call_6(number, first, second, third, fourth, fifth, sixth);
}

/* At the hint if that is free; else, or without one, where the kernel likes. */
static void *map(void *hint, size_t bytes)
{
    void *address = pages_mapped(page_source_mmap(hint, bytes, PROT_READ | PROT_WRITE));

    if (address != NULL)
        atomic_fetch_add_explicit(&page_source_mapped_bytes, bytes, memory_order_acquire);
    return address;
}

/* As page_source_unmap, of what no block was in. */
static bool unmap(void *address, size_t bytes)
{
    atomic_fetch_sub_explicit(&page_source_mapped_bytes, bytes, memory_order_release);
    bool unmapped = page_source_munmap(address, bytes) == 0;

    if (!unmapped) {
        atomic_fetch_add_explicit(&page_source_mapped_bytes, bytes, memory_order_relaxed);
        (void)page_source_purge(address, bytes);
    }
    return unmapped;
}

bool page_source_unmap(void *address, size_t bytes)
{
    bool unmapped = unmap(address, bytes);

    if (unmapped)
        PROBE3(memory_given_back, address, bytes, 1);
    return unmapped;
}

void *page_source_map(size_t bytes, size_t alignment)
{
    /* The kernel goes downwards from the last mapping, so that one aligned chunk is usually
       followed by another, and there is room below where it would put this one: try for these
       before mapping more than needed, which a limit may not allow. */
    enum { TRIES = 6 };
    char *address = map(NULL, bytes);
    uintptr_t below = (uintptr_t)address & ~(uintptr_t)(alignment - 1);

    /* NULL, when the kernel has none, counts as aligned. */
    for (int tries = 0; tries < TRIES && ((uintptr_t)address & (alignment - 1)) != 0; tries++) {
        unmap(address, bytes);
        address = map((void *)below, bytes);
        below -= alignment;
    }
    if (((uintptr_t)address & (alignment - 1)) == 0)
        return address;
    unmap(address, bytes);

    size_t larger;
    if (__builtin_add_overflow(bytes, alignment - PAGE_BYTES, &larger))
        return NULL;
    address = map(NULL, larger);
    if (address == NULL)
        return NULL;
    size_t head = -(uintptr_t)address & (alignment - 1);
    size_t tail = larger - head - bytes;
    if (head != 0)
        unmap(address, head);
    if (tail != 0)
        unmap(address + head + bytes, tail);
    return address + head;
}

bool page_source_has_room(size_t bytes)
{
    void *address = pages_mapped(page_source_mmap(NULL, bytes, PROT_NONE));

    return address != NULL && page_source_munmap(address, bytes) == 0;
}

int page_source_advise(void *address, size_t bytes, int advice)
{
    return (int)-page_source_madvise(address, bytes, advice);
}

bool page_source_purge(void *address, size_t bytes)
{
    bool purged = page_source_advise(address, bytes, MADV_DONTNEED) == 0;

    if (purged)
        PROBE3(memory_given_back, address, bytes, 0);
    return purged;
}

bool page_source_make_plain(void *address, size_t bytes)
{
    static const int advice[] = {MADV_DOFORK, MADV_KEEPONFORK, MADV_DODUMP};

    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++)
        (void)page_source_advise(address, bytes, advice[i]);
    /* The kernel drops no page that is locked. Nor is munlock asked for, which programs that say
       what they may call leave out. */
    return page_source_purge(address, PAGE_BYTES);
}

bool page_source_protect(void *address, size_t bytes, int protection)
{
    return bytes == 0 ||
           page_source_call(SYS_mprotect, (long)address, (long)bytes, protection, 0, 0, 0) == 0;
}

/* The beginning of a short file as a string; empty when it cannot be read. */
static void read_file(const char *path, char *text, size_t size)
{
    long length = short_file_read(path, text, size - 1);

    text[length > 0 ? length : 0] = '\0';
}

bool page_source_huge_pages_are_given(void)
{
    enum { UNKNOWN, NO, YES };
    static atomic_int answer; /* relaxed: threads that race find the same */
    int known = atomic_load_explicit(&answer, memory_order_relaxed);

    if (known == UNKNOWN) {
        char text[64];

        /* Without the file there is no telling. Read once: a sandbox may forbid it later. */
        read_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
        known = strstr(text, "[madvise]") != NULL || strstr(text, "[always]") != NULL ? YES : NO;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == YES;
}

size_t page_source_huge_bytes(void)
{
    static const char field[] = "AnonHugePages:";
    char text[2048];

    read_file("/proc/self/smaps_rollup", text, sizeof text);
    const char *at = strstr(text, field);
    return at != NULL ? strtoul(at + sizeof field - 1, NULL, 10) << 10 : 0;
}

void page_source_bind(void *address, size_t bytes, uint8_t node)
{
    enum { MASK_BITS = 256, WORD_BITS = 64 };
    unsigned long mask[MASK_BITS / WORD_BITS] = {0};
    int policy;

    if (memory_node_count() == 1 || node == MEMORY_NODE_UNKNOWN)
        return;
    /* A mapping's policy goes before its thread's: numactl would have no effect. Both calls fail
       where a container forbids them; pages then come from where they are touched first. */
    if (page_source_call(SYS_get_mempolicy, (long)&policy, 0, 0, 0, 0, 0) == 0 &&
        policy == MPOL_DEFAULT) {
        mask[node / WORD_BITS] = 1ul << node % WORD_BITS;
        /* The kernel takes one bit less than it is told. */
        (void)page_source_call(SYS_mbind, (long)address, (long)bytes, MPOL_PREFERRED, (long)mask,
                               MASK_BITS + 1, 0);
    }
}

void page_source_populate(void *address, size_t bytes)
{
    /* Linux 5.14; the headers may be older. */
    enum { POPULATE_WRITE = 23 };

    /* For a single page a fault is cheaper than the call (2.2 us and 2.7 here), for two they are
       even, sixteen cost 1.6 each. EINVAL: this kernel does not know it. */
    if (bytes > PAGE_BYTES && page_source_advise(address, bytes, POPULATE_WRITE) != EINVAL)
        return;
    /* A write that changes nothing, and loses nothing that another thread writes there meanwhile.
     */
    for (size_t at = 0; at < bytes; at += PAGE_BYTES)
        __asm__ volatile("lock orb $0, %0" : "+m"(*((char *)address + at)) : : "cc");
}

void *page_source_grow(void *address, size_t old_bytes, size_t new_bytes)
{
    /* The old addresses go back if the block moves; the count stays: malloc at the limit asks it.
     */
    atomic_fetch_add_explicit(&page_source_mapped_bytes, 0, memory_order_release);
    void *grown = pages_mapped(page_source_mremap(address, old_bytes, new_bytes));

    if (grown != NULL)
        atomic_fetch_add_explicit(&page_source_mapped_bytes, new_bytes - old_bytes,
                                  memory_order_acquire);
    return grown;
}

static size_t metadata_mapping_bytes(size_t bytes)
{
    /* One page more than needed is room for every colour. */
    return round_up_to_pages(bytes) + PAGE_BYTES;
}

void *page_source_map_metadata(size_t bytes)
{
    static atomic_uint turn;
    char *address = map(NULL, metadata_mapping_bytes(bytes));

    if (address == NULL)
        return NULL;
    /* 23 is odd: 64 structures in a row begin in 64 different colours. */
    uint32_t colour = atomic_fetch_add_explicit(&turn, 23, memory_order_relaxed) % LINES_PER_PAGE;
    return address + (size_t)colour * LINE_BYTES;
}

void page_source_unmap_metadata(void *address, size_t bytes)
{
    unmap((void *)((uintptr_t)address & ~(uintptr_t)(PAGE_BYTES - 1)),
          metadata_mapping_bytes(bytes));
}
