/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See variants.h: the wrappers around the core's translation and its table.
 */
#include "rtmgrind/translation/variants.h"

#include "program_calls/core_internals.h"

enum variant variant_now;

static void take_mark_off(ThreadId thread)
{
    Addr next = VG_(get_IP)(thread), unmarked = unmarked_address(next);

    if (next != unmarked)
        VG_(set_shadow_regs_area)
    (thread, 0, offsetof(Guest, guest_RIP), sizeof unmarked, (const UChar *)&unmarked);
}

Bool __wrap_vgPlain_translate(ThreadId thread, Addr address, Bool debugging, Int debug_level,
                              ULong blocks_done, Bool by_address)
{
    if (!by_address)
        variant_now = VARIANT_GUARDED;
    else if (address != unmarked_address(address))
        variant_now = VARIANT_HOOKED;
    else
        variant_now = VARIANT_PLAIN;
    /* Where there is no code, the core makes up a fault of the thread as it stands. */
    take_mark_off(thread);
    return __real_vgPlain_translate(thread, unmarked_address(address), debugging, debug_level,
                                    blocks_done, by_address);
}

void __wrap_vgPlain_add_to_transtab(const VexGuestExtents *extents, Addr entry, Addr code,
                                    UInt code_length, Bool checks_itself, Int profile_offset,
                                    UInt instructions)
{
    /* The extents stay where the code is, so that both go when it changes. */
    if (variant_now == VARIANT_HOOKED)
        entry = hooked_address(entry);
    __real_vgPlain_add_to_transtab(extents, entry, code, code_length, checks_itself, profile_offset,
                                   instructions);
}
