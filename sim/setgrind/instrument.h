/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Puts a call before each load and store of the program's code, and watches where functions begin
 * and end.
 */
#ifndef SETGRIND_INSTRUMENT_H
#define SETGRIND_INSTRUMENT_H

#include "program_calls/valgrind_api.h"

IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                 const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                 IRType host_word);

#endif
