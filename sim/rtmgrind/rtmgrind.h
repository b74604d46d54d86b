/*
 * SPDX-License-Identifier: MIT
 *
 * What a program can ask of the emulator that it runs under. For programs to include; natively
 * nothing happens. Not to be used in a transaction: that aborts.
 *
 * It takes valgrind/valgrind.h, of the package that the emulator needs to be built. Without it the
 * requests are compiled to nothing.
 */
#ifndef RTMGRIND_H
#define RTMGRIND_H

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>

enum { RTMGRIND_REQUEST_SEED = VG_USERREQ_TOOL_BASE('R', 'T') };

/*
 * From here on threads interleave as this seed says: a test tries thousands of interleavings in one
 * process, which costs far less than a process each. To be able to repeat one, ask while the
 * process has one thread, and when all code that matters has run once: a block of code that runs
 * for the first time may count as two.
 */
#define RTMGRIND_SEED(seed)                                                                        \
    VALGRIND_DO_CLIENT_REQUEST_STMT(RTMGRIND_REQUEST_SEED, (seed), 0, 0, 0, 0)

#else
#define RTMGRIND_SEED(seed) ((void)(seed))
#endif

#endif
