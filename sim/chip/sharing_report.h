/*
 * SPDX-License-Identifier: MIT
 *
 * Which lines moved between cores in a run, as JSON for `mplace doctor --sharing`.
 */
#ifndef CHIP_SHARING_REPORT_H
#define CHIP_SHARING_REPORT_H

#include "chip/cores/core.h"

#include <stdio.h>

/* The object of a run that is over, with the lines that cost most. `traces` has one a program. */
void sharing_report(struct cores *cores, struct trace *const *traces, FILE *out);

#endif
