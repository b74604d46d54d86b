/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the program sees of its processor in CPUID: RTM and the modelled caches.
 */
#ifndef RTMGRIND_IDENTITY_H
#define RTMGRIND_IDENTITY_H

#include "program_calls/core_internals.h"

/* Puts our helper in front of VEX's where the call is that of CPUID. */
void identity_replace(IRDirty *call);

#endif
