/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See pages.h. Two authorities: Valgrind's map of the address space (mapped, with which rights) and
 * the kernel's (/proc/self/pagemap: present or not). What was found usable is remembered until the
 * next system call that can change it. The kernel may take a page away in between, by swapping for
 * instance: then this says usable, and the access simply works.
 */
#include "pages.h"

#include "core_internals.h"
#include "options.h"

enum {
    PAGE_BYTES = 4096,
    KNOWN_PAGES = 4096, /* direct-mapped; 16 MiB of pages before the first two collide */
    RIGHT_LOAD = 1,
    RIGHT_STORE = 2,
};

/* Bits of a pagemap entry: Documentation/admin-guide/mm/pagemap.rst of Linux. */
#define PAGEMAP_PRESENT   (1ULL << 63)
#define PAGEMAP_FILE      (1ULL << 61) /* a page of a file, or anonymous but shared */
#define PAGEMAP_EXCLUSIVE (1ULL << 56) /* mapped once: nothing to copy before a store */

static struct {
    Addr page; /* with the rights in its low bits */
    ULong generation;
} known[KNOWN_PAGES];

static ULong generation = 1;
static Int pagemap = -1;

void pages_init(void)
{
    if (!options.first_touch)
        return;
    SysRes opened = VG_(open)("/proc/self/pagemap", VKI_O_RDONLY, 0);
    if (sr_isError(opened)) {
        VG_(umsg)("/proc/self/pagemap cannot be opened: first touches of pages do not abort\n");
        return;
    }
    pagemap = VG_(safe_fd)((Int)sr_Res(opened));
}

void pages_forget(void)
{
    generation++;
}

/* What the kernel would have to do at an access now. */
static Bool kernel_has(Addr page, Bool store)
{
    ULong entry;
    SysRes got = VG_(do_syscall)(__NR_pread64, (UWord)pagemap, (UWord)&entry, sizeof entry,
                                 page / PAGE_BYTES * sizeof entry, 0, 0, 0, 0);

    if (sr_isError(got) || sr_Res(got) != sizeof entry)
        return True;
    if (!(entry & PAGEMAP_PRESENT))
        return False;
    /* A store to an anonymous page that is mapped elsewhere too, by a forked child or as the
     * kernel's page of zeros, copies it first. Of a file's page this cannot be told from here, for
     * a private and a shared mapping look alike: taken to be writable. */
    return !store || (entry & (PAGEMAP_EXCLUSIVE | PAGEMAP_FILE)) != 0;
}

static Bool ask(Addr page, Bool store)
{
    UInt rights = VKI_PROT_READ | (store ? VKI_PROT_WRITE : 0);

    if (!VG_(am_is_valid_for_client)(page, 1, rights))
        return False;
    return pagemap < 0 || kernel_has(page, store);
}

Bool page_usable(Addr line, Bool store)
{
    Addr page = line & ~(Addr)(PAGE_BYTES - 1);
    UInt slot = page / PAGE_BYTES % KNOWN_PAGES;
    UInt right = store ? RIGHT_STORE : RIGHT_LOAD;

    if (LIKELY(known[slot].generation == generation &&
               (known[slot].page & ~(Addr)(PAGE_BYTES - 1)) == page && (known[slot].page & right)))
        return True;
    if (!ask(page, store))
        return False;
    known[slot].page = page | RIGHT_LOAD | (store ? RIGHT_STORE : 0);
    known[slot].generation = generation;
    return True;
}
