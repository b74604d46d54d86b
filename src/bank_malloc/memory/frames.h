/*
 * SPDX-License-Identifier: MIT
 *
 * Which physical page frame a page of this process lies in, and so which controller and bank. As a
 * rule the kernel says, in /proc/self/pagemap. Where it hides frame numbers (to a process without
 * CAP_SYS_ADMIN), a huge page of 2 MiB still gives the low 21 bits: banks are then right relative
 * to each other within such a page. Simulated frames are a fixed function of the place in the pool.
 */
#ifndef MPLACE_BANK_FRAMES_H
#define MPLACE_BANK_FRAMES_H

#include "bank_malloc/dram_map.h"

enum {
    FRAME_SHIFT = 12,
    FRAME_BYTES = 1 << FRAME_SHIFT,
    HUGE_PAGE_SHIFT = 21,
    HUGE_PAGE_BYTES = 1 << HUGE_PAGE_SHIFT,
    FRAMES_NO_COLOUR = UINT16_MAX
};

enum frame_knowledge {
    FRAMES_UNKNOWN,   /* no banks: memory is one colour */
    FRAMES_RELATIVE,  /* the low 21 bits */
    FRAMES_KNOWN,     /* by pagemap */
    FRAMES_SIMULATED, /* by frames_simulated */
};

struct frames {
    enum frame_knowledge knowledge;
    struct dram_map map;                 /* restricted to bits from FRAME_SHIFT on */
    uint32_t controllers, banks;         /* how many there are */
    uint64_t steer[DRAM_FUNCTIONS_MOST]; /* simulated: an address bit that changes this controller
                                            bit and no other; 0: there is none */
    uint64_t steering;                   /* all of these bits */
};

/* Without a map: FRAMES_UNKNOWN. */
void frames_start_unknown(struct frames *frames);

/*
 * The map is restricted already. With simulated false it finds out what the kernel says; *relative
 * cannot be known before there are huge pages, which the caller must have by frames_are_huge.
 */
void frames_start(struct frames *frames, const struct dram_map *map, bool simulated);

/*
 * Writes the colour of each chunk of the mapping, which is populated; FRAMES_NO_COLOUR where its
 * pages are of more than one colour, or the kernel does not say. Memory begins at chunk number
 * `index` of the pool, for simulated frames. False: the kernel could not be asked this time, for
 * lack of a file descriptor or of memory, and one line has said so once. Caller holds arena.lock,
 * or starts the pool.
 */
bool frames_colours(const struct frames *frames, const char *from, uint64_t index, uint32_t chunks,
                    unsigned chunk_shift, uint16_t *colours);

/* The physical address of a byte of the pool so far from its beginning, when frames are simulated:
   64 KiB each on the controllers in turn, as the TILEPro64's interleaved placement. */
uint64_t frames_simulated(const struct frames *frames, uint64_t offset);

/* Tells a trace where these pages of the pool are, when frames are simulated; else nothing. */
void frames_announce(const struct frames *frames, const char *from, uint64_t offset, size_t bytes);

enum frames_answer { FRAMES_NO, FRAMES_YES, FRAMES_NOT_ASKED /* as where frames_colours fails */ };

/* Whether the kernel backs all of these bytes by huge pages. */
enum frames_answer frames_are_huge(const char *from, size_t bytes);

#endif
