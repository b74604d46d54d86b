/*
 * SPDX-License-Identifier: MIT
 *
 * What a run gave: the counts of the region of interest (of the whole run if the trace marks none),
 * for all cores and for each, and the energy that they stand for.
 */
#ifndef CHIP_REPORT_H
#define CHIP_REPORT_H

#include "chip/cores/core.h"

#include <stdio.h>

/* The JSON object of a run that is over; `indent` blanks before each line but the first. */
void report_json(const struct cores *cores, FILE *out, int indent);

/* The same for a person, without the cores. */
void report_text(const struct cores *cores, FILE *out);

/* Cycles and energy (in pJ) of the run, for a line of a sweep. */
void report_line(const struct cores *cores, FILE *out);

#endif
