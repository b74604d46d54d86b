/*
 * SPDX-License-Identifier: MIT
 *
 * Which memory node each CPU is nearest to, as the kernel lists it under /sys/devices/system/node
 * or as MPLACE_NUMA says.
 */
#ifndef MPLACE_BASE_MEMORY_NODES_H
#define MPLACE_BASE_MEMORY_NODES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MEMORY_NODE_CPUS = 1024,   /* CPU numbers from 0 on that have an entry */
    MEMORY_NODE_UNKNOWN = 255, /* no node's number: nodes from this number on are not told apart */
};

struct memory_nodes {
    /* Nodes that have a CPU among these; at least 1. Memory alone makes no node here: all CPUs are
       as far from it. */
    uint32_t count;
    /* With a count of 1 all are 0. Else the kernel's number, MEMORY_NODE_UNKNOWN for a CPU that is
       in no node, as one that is offline. */
    uint8_t of_cpu[MEMORY_NODE_CPUS];
};

/*
 * Nodes that have a CPU, and the node of one. The first call of either reads the files, each later
 * one costs two loads; a CPU that was offline then is looked up again. No memory is allocated,
 * errno is preserved, and no call can be cancelled: safe before any constructor, in several threads
 * at once, and inside the first malloc of a process.
 */
uint32_t memory_node_count(void);
uint8_t memory_node_of_cpu(uint32_t cpu);

/* How many CPUs the machine may have, of the first MEMORY_NODE_CPUS; where the kernel does not list
 * them, how many this process may use; at least 1. Each call reads a file, by the rules above
 * (libc's get_nprocs_conf allocates before glibc 2.36). */
uint32_t possible_cpus(void);

/*
 * What is behind them, for the tests. The folder is laid out as /sys/devices/system/node; the
 * setting is the lists of CPUs of node 0, 1 and so on, with a slash between: "0-3,8/4-7". read
 * finds one node where there is no such folder; parse returns false, *nodes untouched, when the
 * text is no such thing.
 */
void memory_nodes_read(const char *folder, struct memory_nodes *nodes);
bool memory_nodes_parse(const char *text, struct memory_nodes *nodes);

#endif
