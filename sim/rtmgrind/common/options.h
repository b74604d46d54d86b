/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The tool's command line: one table, a row an option, read once before the program starts.
 */
#ifndef RTMGRIND_OPTIONS_H
#define RTMGRIND_OPTIONS_H

#include "program_calls/valgrind_api.h"

#include "cache_model/cache_model.h"
#include "virtual_processors/processors.h"

enum {
    LINE_BYTES = 64,
    TOP_MOST = 8192, /* as many as sites.c keeps */
};

struct options {
    Bool rtm;                        /* --rtm=no: the processor has no RTM */
    struct cache_model_geometry l1d; /* bounds what a transaction may write */
    struct cache_model_geometry l2;  /* bounds what it may read, unless read_lines is set */
    Int read_lines;                  /* 0: the l2 model decides */
    enum cache_model_replacement replacement;
    Bool first_touch;   /* a page that is not there yet aborts */
    Int interrupt_rate; /* mean blocks of code between interrupts; 0: none */
    Long seed;
    Int switch_inside, switch_outside; /* mean blocks between switches of processor */
    Int top;                           /* entries of each list of the report */
    Bool heap;                         /* know heap blocks, for the report */
    Bool sections;                     /* follow critical sections, for the report as JSON */
    const HChar *output;               /* --rtm-out: file for the report as JSON, or NULL */
};

extern struct options options;

void options_init(void);
Bool options_parse(const HChar *argument);
void options_usage(void);
void options_debug_usage(void);

/* All options are read: derives what depends on several of them. */
void options_complete(void);

/* Will somebody read a report? */
static inline Bool options_want_report(void)
{
    return VG_(clo_verbosity) > 0 || options.output != NULL;
}

#endif
