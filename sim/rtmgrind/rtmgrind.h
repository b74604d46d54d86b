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
 * From here on threads interleave as they would with --seed=SEED: a test tries thousands of
 * interleavings in one process, which costs far less than a process each. Asked while the process
 * has one thread, the seed alone decides what comes, so that one of them can be repeated.
 */
#define RTMGRIND_SEED(seed)                                                                        \
    VALGRIND_DO_CLIENT_REQUEST_STMT(RTMGRIND_REQUEST_SEED, (seed), 0, 0, 0, 0)

#else
#define RTMGRIND_SEED(seed) ((void)(seed))
#endif

#endif
