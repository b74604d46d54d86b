/*
 * SPDX-License-Identifier: MIT
 *
 * The time of a pair of reads on this machine: flushed out of the caches, then read.
 */
#ifndef MPLACE_DRAM_PROBE_TIMING_H
#define MPLACE_DRAM_PROBE_TIMING_H

#include "dram_probe/physical.h"
#include "dram_probe/probe.h"

/* Keeps the thread on its present CPU, for the clock's sake. The sample must outlive the probe. */
struct dram_probe timing_probe(const struct physical_sample *sample);

#endif
