/*
 * SPDX-License-Identifier: MIT
 *
 * The memory: its controllers, and where a block lies. Two models, memory.model:
 *
 *   simple  an access takes memory.latency, and a controller begins one every memory.occupancy
 *           cycles; which controller, the number of the block says
 *   dram    ranks, banks and rows (dram.h); controller, rank, bank and row come from the physical
 *           address, which the frame of the page gives (frames.h)
 *
 * Times are in cycles of the cores, at the edges of the memory's clock where dram is concerned.
 */
#ifndef CHIP_MEMORY_H
#define CHIP_MEMORY_H

#include "chip/engine/queue.h"
#include "chip/machine/machine.h"
#include "chip/memory/dram.h"
#include "chip/memory/frames.h"

struct memory;

/* An access of dram is over. */
struct memory_done {
    struct message *answer; /* NULL: nobody waits for this write */
    unsigned controller, core;
    enum dram_row row;
    bool write;
    uint64_t begun, time; /* cycles: its arrival, and when its data are there or written */
};

struct memory {
    uint32_t latency, occupancy;
    uint64_t free[16]; /* simple, a controller: when it can begin the next access */

    const struct machine *machine;
    struct queue *queue;
    struct dram *controllers; /* NULL: simple */
    uint64_t *wake;           /* a controller: the time of its event; UINT64_MAX: none */
    struct address_map map;
    struct frames frames;
    unsigned page_shift;         /* from the number of a block to that of its page */
    uint64_t clocks, per_cycles; /* so many memory clocks in so many cycles */
    /* The time of an answer is known: during memory_read or memory_persist, or later. */
    void (*answered)(void *owner, struct message *answer, uint64_t time);
    void (*done)(void *owner, const struct memory_done *done);
    void *owner;
};

/* The machine and the queue stay; the caller sets `answered`, `done` and `owner`. False: out of
 * memory. */
bool memory_init(struct memory *memory, const struct machine *machine, struct queue *queue);
void memory_destroy(struct memory *memory);

static inline bool memory_is_dram(const struct memory *memory)
{
    return memory->controllers != NULL;
}

/* dram: the controller of a block. */
unsigned memory_controller(struct memory *memory, uint64_t block);

/* dram: the block's page lies in this frame, see frames_set. */
void memory_place(struct memory *memory, uint64_t block, uint64_t frame);

/* dram: a message about the block leaves for memory, and arrives. */
void memory_leaves(struct memory *memory, uint64_t block);
void memory_arrives(struct memory *memory, uint64_t block);

/* A read or a write of one block comes to the controller at the present time. */
void memory_read(struct memory *memory, unsigned controller, uint64_t block, unsigned core,
                 struct message *answer);
void memory_write(struct memory *memory, unsigned controller, uint64_t block, unsigned core);

/* A write as memory_write, of which `answer` tells when the block is written. */
void memory_persist(struct memory *memory, unsigned controller, uint64_t block, unsigned core,
                    struct message *answer);

/* dram: the event of a controller, MESSAGE_COMMAND, has come. */
void memory_wake(struct memory *memory, unsigned controller);

#endif
