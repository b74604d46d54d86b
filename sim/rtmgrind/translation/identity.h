/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the program sees of its processor: CPUID with RTM and the modelled caches, and the virtual
 * processor's number in RDPID.
 */
#ifndef RTMGRIND_IDENTITY_H
#define RTMGRIND_IDENTITY_H

#include "program_calls/core_internals.h"

/* RDPID, which VEX 3.19 does not know: if it is one, appends its IR and tells what it is. */
Bool identity_decode(IRSB *block, const UChar *code, Addr address, struct decoded *decoded);

/* Puts our helper in front of VEX's where the call is that of CPUID. */
void identity_replace(IRDirty *call);

#endif
