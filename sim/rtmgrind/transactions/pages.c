/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See pages.h. Two authorities: Valgrind's map of the address space (mapped, with which rights) and
 * the kernel's (/proc/self/pagemap: present or not). What was found usable is remembered until the
 * next system call that can change it. The kernel may take a page away in between, by swapping for
 * instance: then this says usable, and the access simply works.
 */
#include "rtmgrind/transactions/pages.h"

#include "program_calls/core_internals.h"
#include "rtmgrind/common/options.h"

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

/* The number at the text, to the first character that is no digit. */
static Addr parse_hex(const HChar **text)
{
    Addr value = 0;

    for (;; (*text)++) {
        HChar c = **text;
        if (c >= '0' && c <= '9')
            value = value * 16 + (Addr)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value * 16 + (Addr)(c - 'a' + 10);
        else
            return value;
    }
}

/* Is the page in a shared mapping? /proc/self/maps has lines such as
 * "7f0000000000-7f0000001000 rw-s 00000000 00:01 1234 /dev/shm/x". Rare: once a page of a file that
 * a transaction writes to. */
static Bool is_shared(Addr page)
{
    enum { SPACE_AND_RIGHTS = 4, CHUNK = 4096, LINE_MOST = 128 };
    static HChar buffer[CHUNK];
    HChar line[LINE_MOST];
    UInt length = 0;
    Int got;
    SysRes opened = VG_(open)("/proc/self/maps", VKI_O_RDONLY, 0);

    if (sr_isError(opened))
        return True;
    while ((got = VG_(read)((Int)sr_Res(opened), buffer, CHUNK)) > 0) {
        for (Int i = 0; i < got; i++) {
            if (buffer[i] != '\n') {
                if (length < LINE_MOST - 1) /* what matters is at the beginning */
                    line[length++] = buffer[i];
                continue;
            }
            line[length] = '\0';
            length = 0;
            const HChar *text = line;
            Addr start = parse_hex(&text);
            text += *text == '-';
            Addr end = parse_hex(&text);
            if (page < start || page >= end)
                continue;
            VG_(close)((Int)sr_Res(opened));
            return VG_(strlen)(text) > SPACE_AND_RIGHTS && text[SPACE_AND_RIGHTS] == 's';
        }
    }
    VG_(close)((Int)sr_Res(opened));
    return True;
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
    if (!store)
        return True;
    /* A store to a page that is mapped elsewhere too copies it first: one that a forked child has
     * as well, the kernel's page of zeros, a file's page in a private mapping. */
    if (entry & PAGEMAP_FILE)
        return is_shared(page);
    return (entry & PAGEMAP_EXCLUSIVE) != 0;
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
