/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The public headers of Valgrind that the tools use, in an order that works.
 */
#ifndef PROGRAM_CALLS_VALGRIND_API_H
#define PROGRAM_CALLS_VALGRIND_API_H

#include <stddef.h> /* before Valgrind's own offsetof */

#include "pub_tool_basics.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_guest.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_libcsetjmp.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"

typedef VexGuestAMD64State Guest;

/* Where a register lies in the guest state, as IR wants it. */
#define GUEST_OFFSET(field) ((Int)offsetof(Guest, guest_##field))

/* The registers proper: what precedes RAX are the event counter and the like, which are not the
 * program's and must survive a roll-back. */
enum {
    REGISTERS_BEGIN = offsetof(Guest, guest_RAX),
    REGISTERS_SIZE = sizeof(Guest) - REGISTERS_BEGIN,
};

#endif
