/*
 * SPDX-License-Identifier: MIT
 *
 * TTSTLE_SKIP: call sites whose acquisitions are never elided, as ranges of addresses.
 */
#ifndef MPLACE_SKIP_H
#define MPLACE_SKIP_H

#include <stdbool.h>

/* Transactions are usable and no call site is to be skipped. Written by the library's constructor,
 * after htm_usable and skip_read_setting. */
extern bool elides_everywhere __attribute__((visibility("hidden")));

/*
 * Reads TTSTLE_SKIP and looks its functions up in the objects that are loaded now. For constructors
 * only: asks the dynamic linker for its list, and reads files. True: there is something to skip.
 */
bool skip_read_setting(void);

/* Whether a lock function that returns there may elide. Inside a transaction it does not return for
 * a call site that may not: the outermost section runs again physically. */
bool skip_lets_elide(const void *caller);

#endif
