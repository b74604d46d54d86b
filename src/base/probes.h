/*
 * SPDX-License-Identifier: MIT
 *
 * Static tracepoints (USDT) of provider "mplace", for bpftrace, perf, SystemTap and gdb. A probe is
 * one nop in the code and a note in the file that says where it is and where its arguments are;
 * whoever traces puts a breakpoint over the nop. docs/tracing.md lists all of them.
 *
 * Rules. Arguments are values that the code has at hand: nothing is computed for a probe. None is
 * inside a restartable sequence or between the begin and the end of a transaction of ours: a
 * breakpoint there would make it start again or abort for ever. (A malloc inside a transaction may
 * pass one; then what is traced aborts it, and the section runs again with its lock taken.)
 *
 * Without <sys/sdt.h> at build time they are nothing at all; CMake says so.
 */
#ifndef MPLACE_BASE_PROBES_H
#define MPLACE_BASE_PROBES_H

#ifdef MPLACE_PROBES
#include <sys/sdt.h>
#define PROBE1(name, a)       STAP_PROBE1(mplace, name, a)
#define PROBE2(name, a, b)    STAP_PROBE2(mplace, name, a, b)
#define PROBE3(name, a, b, c) STAP_PROBE3(mplace, name, a, b, c)
#else
/* The arguments are not evaluated, and still count as used. */
#define PROBE1(name, a)       ((void)sizeof(a))
#define PROBE2(name, a, b)    ((void)sizeof(a), (void)sizeof(b))
#define PROBE3(name, a, b, c) ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c))
#endif

#endif
