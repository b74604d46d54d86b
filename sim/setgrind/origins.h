/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where in the program something happens, blocks are allocated or a mutex is taken: a few frames of
 * the call stack, and what is counted for the blocks from there.
 *
 * The frame that names an origin is the innermost one that a reader would look for: below it may be
 * the standard library's containers. Frames above it tell the callers of a wrapper apart; more than
 * a few would scatter what belongs together, and a recursion's frames count as one. Calls of one
 * line are of one origin: a reader cannot tell them apart.
 */
#ifndef SETGRIND_ORIGINS_H
#define SETGRIND_ORIGINS_H

#include "tallies.h"

#include "pub_tool_execontext.h"

enum { ORIGIN_FRAMES_MOST = 24, ORIGIN_TEXT_MOST = 2000 };

struct origin {
    Addr frame[ORIGIN_FRAMES_MOST]; /* the innermost first, without the watched function itself */
    UInt frames, named;             /* how many, and which is the name */
    DiEpoch epoch;
    UInt number; /* from 1 */
    /* "function (file:line)"; callers: a list, which is empty where there are none. Without debug
     * information "function (object+offset)". */
    HChar *name, *callers;
    struct tally tally;
};

/* The watched call's stack to its origin. It stays where it is. */
struct origin *origins_of(ExeContext *stack);

void origins_each(void (*report)(struct origin *origin, void *argument), void *argument);

#endif
