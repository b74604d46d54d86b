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

/* Bits of a pagemap entry: Documentation/admin-guide/mm/pagemap.rst of Linux. */
#define PAGEMAP_PRESENT   (1ULL << 63)
#define PAGEMAP_FILE      (1ULL << 61) /* a page of a file, or anonymous but shared */
#define PAGEMAP_EXCLUSIVE (1ULL << 56) /* mapped once: nothing to copy before a store */

struct known_page known_pages[KNOWN_PAGES];
ULong pages_generation = 1;
static Int pagemap = -1;

static void open_pagemap(void)
{
    SysRes opened = VG_(open)("/proc/self/pagemap", VKI_O_RDONLY, 0);
    if (sr_isError(opened)) {
        VG_(umsg)("/proc/self/pagemap cannot be opened: first touches of pages do not abort\n");
        return;
    }
    pagemap = VG_(safe_fd)((Int)sr_Res(opened));
}

/* The file belongs to the address space that it was opened from. */
static void reopen_in_child(ThreadId thread)
{
    VG_(close)(pagemap);
    pagemap = -1;
    open_pagemap();
}

void pages_init(void)
{
    if (!options.first_touch)
        return;
    open_pagemap();
    if (pagemap >= 0)
        VG_(atfork)(NULL, NULL, reopen_in_child);
}

void pages_forget(void)
{
    pages_generation++;
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

Bool page_ask(Addr page, Bool store)
{
    UInt rights = VKI_PROT_READ | (store ? VKI_PROT_WRITE : 0);

    if (!VG_(am_is_valid_for_client)(page, 1, rights))
        return False;
    if (pagemap >= 0 && !kernel_has(page, store))
        return False;
    known_pages[page / PAGE_BYTES % KNOWN_PAGES] = (struct known_page){
        .page_and_rights = page | RIGHT_LOAD | (store ? RIGHT_STORE : 0),
        .generation = pages_generation,
    };
    return True;
}
