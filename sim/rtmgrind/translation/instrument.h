/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Puts a call before every access to memory, made while any transaction is active.
 */
#ifndef RTMGRIND_INSTRUMENT_H
#define RTMGRIND_INSTRUMENT_H

#include "program_calls/valgrind_api.h"

IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                 const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                 IRType host_word);

#endif
