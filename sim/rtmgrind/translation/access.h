/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What translated code calls before it loads or stores, while any transaction is active.
 */
#ifndef RTMGRIND_ACCESS_H
#define RTMGRIND_ACCESS_H

#include "program_calls/valgrind_api.h"

/* The size of the access and the address of its instruction in one word: the second argument costs
 * every access in translated code an instruction even when no transaction is active. */
enum { ACCESS_SIZE_SHIFT = 48 };

static inline ULong access_site(Addr instruction, UInt size)
{
    return (ULong)size << ACCESS_SIZE_SHIFT | instruction;
}

void access_load(Addr address, ULong site);
void access_store(Addr address, ULong site);

#endif
