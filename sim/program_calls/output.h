/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A file that a tool writes, which knows whether all of it could be written: Valgrind's own
 * (VgFile) does not tell of a full disk.
 */
#ifndef PROGRAM_CALLS_OUTPUT_H
#define PROGRAM_CALLS_OUTPUT_H

#include "program_calls/valgrind_api.h"

struct output {
    const HChar *option; /* that named the file, */
    HChar *name;         /* expanded */
    Int file;
    UWord error; /* 0: all that left the buffer is written */
    SizeT length;
    HChar text[4096];
};

/* Empties the file that `name`, the value of `option`, says, or makes it. False: one line told why
 * it cannot be. */
Bool output_open(struct output *output, const HChar *option, const HChar *name);

void output_format(struct output *output, const HChar *format, ...) PRINTF_CHECK(2, 3);

/* Ends it. False: not all of it could be written, and one line told so. */
Bool output_close(struct output *output);

#endif
