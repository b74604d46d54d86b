/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation: code that records what it accesses.
 */
#ifndef MEMTRACE_INSTRUMENT_H
#define MEMTRACE_INSTRUMENT_H

#include "memtrace/memtrace.h"

IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                 const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                 IRType host_word);

/* No more is recorded, and code that is translated from here on does nothing for it. */
void instrument_stop(void);

/* If that was said, code that was translated before is translated anew when it runs. No translated
 * code of the running thread may be about to go on. */
void instrument_forget(void);

#endif
