/*
 * SPDX-License-Identifier: MIT
 *
 * Power cuts of a traced program, each as the file that it leaves, which a command checks.
 */
#ifndef POWERCUT_IMAGES_H
#define POWERCUT_IMAGES_H

#include "trace/trace.h"

struct images_plan {
    const char *before; /* what the file held before the program ran; NULL: zeros */
    const char *out;    /* the first image with a finding becomes this file */
    const char *folder; /* for images */
    char **check;       /* a command, to which the image's name is added; NULL at the end */
    uint64_t images, seed;
};

/*
 * Cuts the power plan->images times and prints each finding. Returns the number of findings, or -1:
 * there is a line in problem.
 */
int images_run(struct trace *trace, const struct images_plan *plan, char *problem, size_t length);

#endif
