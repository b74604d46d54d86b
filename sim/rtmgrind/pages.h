/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Would the processor take a page fault? Asked at a transaction's first access to a line, before
 * the access: a fault aborts a transaction and the page stays as it was, so that only the retry
 * outside of it brings the page in. The tool must not touch the page to find out.
 */
#ifndef RTMGRIND_PAGES_H
#define RTMGRIND_PAGES_H

#include "valgrind_api.h"

void pages_init(void);

/* The line's page can be loaded from, or stored to, without a fault. */
Bool page_usable(Addr line, Bool store);

/* The address space changed, or may have: nothing known holds any more. */
void pages_forget(void);

#endif
