/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See variants.h: the wrappers around the core's translation and its table.
 */
#include "variants.h"

#include "core_internals.h"

enum variant variant_now;

Bool __wrap_vgPlain_translate(ThreadId thread, Addr address, Bool debugging, Int debug_level,
                              ULong blocks_done, Bool by_address)
{
    if (!by_address)
        variant_now = VARIANT_GUARDED;
    else if (address != unmarked_address(address))
        variant_now = VARIANT_HOOKED;
    else
        variant_now = VARIANT_PLAIN;
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
