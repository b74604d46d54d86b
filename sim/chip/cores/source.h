/*
 * SPDX-License-Identifier: MIT
 *
 * Where the events of a thread come from: a stream of a trace, or what a test makes up.
 */
#ifndef CHIP_SOURCE_H
#define CHIP_SOURCE_H

#include "trace/trace.h"

struct source {
    enum trace_status (*next)(void *self, struct trace_event *event);
    const char *(*problem)(void *self); /* after TRACE_DAMAGED */
    void *self;
    uint32_t program; /* threads of one program share memory and locks */
    uint32_t thread;  /* its number in the program */
};

#endif
