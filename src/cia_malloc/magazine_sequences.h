/*
 * SPDX-License-Identifier: MIT
 *
 * The steps on this CPU's magazine by restartable sequences: taking and putting a block here, for
 * the fast paths; what moves whole stacks in magazine_sequences.c. Each finds the magazine on the
 * CPU that it runs on, and does nothing when there is none. (asm goto only where
 * nothing comes out: GCC 12 loses what is assigned on the way to its labels when the statement has
 * outputs too.)
 */
#ifndef MPLACE_CIA_MAGAZINE_SEQUENCES_H
#define MPLACE_CIA_MAGAZINE_SEQUENCES_H

#include "cia_malloc/magazine.h"

/* found: the magazine at the offset in a table's entry for this CPU; on to the label if there is no
   such CPU. cpu: a register that is lost, as its 64 bits and as 32. */
#define MAGAZINE_FIND(table, found, cpu, cpu32, none)                                              \
    "movl %%fs:4(%[area]), " cpu32 "\n\t"                                                          \
    "cmpl %[cpus], " cpu32 "\n\t" /* or a negative number */                                       \
    "jae " none "\n\t"                                                                             \
    "leaq " table "(%%rip), " found "\n\t"                                                         \
    "movq (" found ", " cpu ", 8), " found "\n\t"                                                  \
    "leaq (" found ", %[offset], 8), " found "\n\t"
#define MAGAZINE_INPUTS [area] "r"(area), [cpus] "i"(CPU_HEAPS), [offset] "r"((uint64_t)offset)

/*
 * Takes the newest block of the active level; 0 when there is none. 22 instructions; writes the
 * magazine's line and the thread's rseq area. From one call to the next only the count depends on
 * what was stored: the block is not waited for.
 */
static inline __attribute__((always_inline)) uintptr_t magazine_pop(ptrdiff_t area, uint32_t offset)
{
    uintptr_t block;
    char *found;
    uint64_t top, bits, colour;

    __asm__ volatile(RSEQ_BEGIN("%[top]") MAGAZINE_FIND("magazine_to_take", "%[found]", "%[top]",
                                                        "%k[top]", "7f") /* */
                     "movq (%[found]), %[top]\n\t"
                     "movzwl %w[top], %k[block]\n\t"
                     "cmpw 16(%[found]), %w[top]\n\t" /* floor */
                     "je 7f\n\t"
                     "movq 40(%[found]), %[colour]\n\t" /* store */
                     "movq 24(%[found]), %[bits]\n\t"
                     "addq %[less], %[top]\n\t"
                     "movq 1016(%[colour], %[block], 8), %[block]\n\t" /* the place below */
                     "movq %[block], %[colour]\n\t"
                     "shrq $6, %[colour]\n\t"
                     "btrq %[colour], %[bits]\n\t" /* modulo 64 */
                     "movq %[bits], 24(%[found])\n\t"
                     "movq %[top], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     ".pushsection .text.unlikely, \"ax\"\n\t"
                     "7: xorl %k[block], %k[block]\n\t"
                     "jmp 6b\n\t"
                     ".popsection\n\t"
                     : [top] "=&r"(top), [found] "=&r"(found), [block] "=&r"(block),
                       [bits] "=&r"(bits), [colour] "=&r"(colour)
                     : MAGAZINE_INPUTS, [less] "i"(MAGAZINE_SERVED - 1)
                     : "memory", "cc");
    return block;
}

/*
 * The section that puts a block on top of a level: where its count is, the greatest count, its
 * colours, and its places in the store. There are no outputs, so the registers that it works in are
 * named.
 */
#define MAGAZINE_PUSH(count, most, colours_of_level, places)                                       \
    __asm__ goto(RSEQ_BEGIN("%%r8") MAGAZINE_FIND("magazine_to_put", "%%r9", "%%r8", "%%r8d",      \
                                                  "%l[refused]") /* */                             \
                 "movq " count "(%%r9), %%r8\n\t"                                                  \
                 "movq " colours_of_level "(%%r9), %%r11\n\t"                                      \
                 "cmpw " most "(%%r9), %%r8w\n\t"                                                  \
                 "jae %l[refused]\n\t"                                                             \
                 "btsq %[colour], %%r11\n\t" /* modulo 64 */                                       \
                 "jc %l[refused]\n\t"                                                              \
                 "movzwl %%r8w, %%r10d\n\t"                                                        \
                 "incq %%r8\n\t"                                                                   \
                 "movq %%r11, " colours_of_level "(%%r9)\n\t"                                      \
                 "movq 40(%%r9), %%r11\n\t" /* store */                                            \
                 "movq %[block], " places "(%%r11, %%r10, 8)\n\t"                                  \
                 "movq %%r8, " count "(%%r9)\n\t" RSEQ_COMMITTED                                   \
                 :                                                                                 \
                 : MAGAZINE_INPUTS, [block] "r"(block),                                            \
                   [colour] "r"((uint64_t)(uintptr_t)block >> LINE_SHIFT)                          \
                 : "memory", "cc", "r8", "r9", "r10", "r11"                                        \
                 : refused)

/*
 * Puts a block on top of the active level. False: that has one of its colour, or the stack as many
 * as it may have, or the CPU has no magazine for it, or is of another node. 20 instructions; writes
 * as magazine_pop, and a place.
 */
static inline __attribute__((always_inline)) bool magazine_push(ptrdiff_t area, uint32_t offset,
                                                                void *block)
{
    MAGAZINE_PUSH("0", "18", "24", "1024");
    return true;
refused:
    return false;
}

/* The same with the second level. */
static inline bool magazine_push_second(ptrdiff_t area, uint32_t offset, void *block)
{
    MAGAZINE_PUSH("8", "48", "32", "512");
    return true;
refused:
    return false;
}

/* For free: makes the active level the second, if that is empty, and so the active one empty. False
   also if the active one has more than MAGAZINE_PLACES. */
bool magazine_set_aside(ptrdiff_t area, uint32_t offset);

/* For free: puts the second level on top of the active one. False: it is empty, or the active one
   would have more than MAGAZINE_LEVEL_MOST, or there is no room for another level above it. */
bool magazine_join(ptrdiff_t area, uint32_t offset);

/* For free: closes a box over the active level. False: it has less than so many blocks, or there is
   no room for another level above it. */
bool magazine_close_box(ptrdiff_t area, uint32_t offset, uint32_t least);

/*
 * Those below find the magazine as malloc does or as free does: for free it is none that blocks go
 * into if the page that says the offset is of another node.
 */
enum magazine_side { MAGAZINE_TAKE, MAGAZINE_PUT };

/* Fill the active level, if that is empty: from the second level, or by opening the last box.
   False: nothing was done. */
bool magazine_take_second(ptrdiff_t area, uint32_t offset, enum magazine_side side);
bool magazine_open_box(ptrdiff_t area, uint32_t offset, enum magazine_side side);

/* Takes the blocks of the active (0) or the second (1) level, the newest if there are more than
   MAGAZINE_LEVEL_MOST, into places; returns how many. */
uint32_t magazine_unload(ptrdiff_t area, uint32_t offset, enum magazine_side side, unsigned level,
                         char *places[MAGAZINE_LEVEL_MOST]);

/* For malloc: fills the active level, if that is empty, with so many blocks, of those colours, one
   each. False, and nothing is put, if it is not, or there is no magazine. The offset is that of
   the blocks' pages, as for free: on a CPU of another node there is none. */
bool magazine_load(ptrdiff_t area, uint32_t offset, char *const places[MAGAZINE_PLACES],
                   uint32_t count, uint64_t colours_of_them);

/* For malloc: a step up, if that is not above ceiling_most. */
void magazine_raise_ceiling(ptrdiff_t area, uint32_t offset);

#endif
