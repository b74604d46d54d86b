/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Would the processor take a page fault? Asked at a transaction's first access to a line, before
 * the access: a fault aborts a transaction and the page stays as it was, so that only the retry
 * outside of it brings the page in. The tool must not touch the page to find out.
 */
#ifndef RTMGRIND_PAGES_H
#define RTMGRIND_PAGES_H

#include "program_calls/valgrind_api.h"

void pages_init(void);

enum {
    PAGE_BYTES = 4096,
    KNOWN_PAGES = 4096, /* direct-mapped; 16 MiB of pages before the first two collide */
    RIGHT_LOAD = 1,
    RIGHT_STORE = 2,
};

/* Pages that were found usable. Known: the page with the rights that were asked for, and the
 * generation, which pages_forget ends. */
struct known_page {
    Addr page_and_rights;
    ULong generation;
};
extern struct known_page known_pages[KNOWN_PAGES];
extern ULong pages_generation;

Bool page_ask(Addr page, Bool store);

/* The line's page can be loaded from, or stored to, without a fault. */
static inline Bool page_usable(Addr line, Bool store)
{
    Addr page = line & ~(Addr)(PAGE_BYTES - 1);
    const struct known_page *known = &known_pages[page / PAGE_BYTES % KNOWN_PAGES];
    ULong rights = known->page_and_rights ^ page; /* above RIGHT_*: another page */

    if (LIKELY(known->generation == pages_generation && rights < PAGE_BYTES &&
               (rights & (store ? RIGHT_STORE : RIGHT_LOAD))))
        return True;
    return page_ask(page, store);
}

/* The address space changed, or may have: nothing known holds any more. */
void pages_forget(void);

#endif
