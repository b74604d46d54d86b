/*
 * SPDX-License-Identifier: MIT
 *
 * One memory controller with the ranks behind it: which request gets which command next.
 *
 * FR-FCFS (S. Rixner et al., "Memory Access Scheduling", ISCA 2000): of the commands that can be
 * issued first, reads and writes of open rows go before activates, activates before precharges, and
 * then the oldest request goes first. A row that a request in the queue still wants stays open.
 * Reads and writes are equal, but a burst in the direction of the one before can be issued earlier
 * than one that turns the bus around; so directions change when nothing is left for the present
 * one. When the oldest request has been in the queue for memory.wait_most clocks, no other gets a
 * command until it is served. Requests of one block keep their order.
 *
 * A rank is refreshed every tREFI: from that clock on it gets no activate, read or write until its
 * banks are precharged and the refresh is issued; the ranks' refreshes are spread over the
 * interval.
 *
 * Commands are issued one a clock. There is no event a clock: dram_run says when the next command
 * is due, and all clocks in between are skipped. Refreshes of an idle controller are caught up with
 * when the next request comes.
 */
#ifndef CHIP_DRAM_H
#define CHIP_DRAM_H

#include "chip/memory/timing.h"

enum dram_row { DRAM_ROW_HIT, DRAM_ROW_MISS, DRAM_ROW_CONFLICT }; /* open, closed, another open */

struct dram_request {
    uint64_t block, row;
    uint64_t arrived;          /* clock */
    uint64_t cycle;            /* the same in cycles, for the owner */
    void *answer;              /* for the owner */
    uint16_t core, controller; /* for the owner */
    uint8_t rank, bank;
    bool write;
    /* The controller's own. */
    uint16_t bursts;                /* that are left */
    uint8_t outcome;                /* enum dram_row */
    uint64_t number, after, queued; /* its number; that of an older one of its block; since when */
};

struct dram {
    struct timing timing;
    uint32_t queue_most, bursts;
    uint64_t wait_most, interval; /* interval: tREFI, 0 without refresh */
    bool closed_page;
    uint64_t *refresh;          /* a rank: when it is due */
    struct dram_request *queue; /* the oldest first */
    uint32_t queued;
    struct dram_request *waiting; /* those that the queue has no place for: a ring */
    size_t waiting_first, waiting_count, waiting_room;
    uint64_t numbers;
    uint64_t clock; /* the first clock without a command */
    uint64_t refreshes;
    /* A request's last data are on the bus until `clock`. */
    void (*done)(void *owner, const struct dram_request *request, uint64_t clock);
    void *owner;
    /* Tests see each command. */
    void (*issued)(void *watcher, const struct dram_command *command);
    void *watcher;
};

/* The caller sets `done` and `owner`. False: out of memory. */
bool dram_init(struct dram *dram, const struct machine *machine);
void dram_destroy(struct dram *dram);

/* A request arrives at request->arrived, no earlier than what has been done so far. */
void dram_arrive(struct dram *dram, const struct dram_request *request);

/*
 * Issues all commands that are due until `clock`, this one included. Returns when the next one is
 * due, unless another request arrives before; UINT64_MAX: there is no request.
 */
uint64_t dram_run(struct dram *dram, uint64_t clock);

#endif
