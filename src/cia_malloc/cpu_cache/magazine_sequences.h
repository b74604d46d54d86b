/*
 * SPDX-License-Identifier: MIT
 *
 * The steps on this CPU's magazine by restartable sequences: taking and putting a block, for the
 * fast paths. Those that move whole stacks are in magazine_access.h. Each finds the magazine on the
 * CPU that it runs on, and does nothing when there is none. (asm goto only where nothing comes out:
 * GCC 12 loses what is assigned on the way to its labels when the statement has outputs too.)
 */
#ifndef MPLACE_CIA_MAGAZINE_SEQUENCES_H
#define MPLACE_CIA_MAGAZINE_SEQUENCES_H

#include "cia_malloc/cpu_cache/magazine.h"

/* found: the magazine at the offset in a table's entry for this CPU; on to the label if there is no
   such CPU. cpu: a register that is lost, as its 64 bits and as 32. */
#define MAGAZINE_FIND(table, found, cpu, cpu32, none)                                              \
    "movl %%fs:%c[cpu_id](%[area]), " cpu32 "\n\t"                                                 \
    "cmpl %[cpus], " cpu32 "\n\t" /* or a negative number */                                       \
    "jae " none "\n\t"                                                                             \
    "leaq " table "(%%rip), " found "\n\t"                                                         \
    "movq (" found ", " cpu ", 8), " found "\n\t"                                                  \
    "leaq (" found ", %[offset], 8), " found "\n\t"
#define MAGAZINE_INPUTS [area] "r"(area), [offset] "r"((uint64_t)offset), MAGAZINE_LAYOUT

/* Where things are in struct magazine, struct magazine_store and struct rseq, and how many CPUs. */
#define MAGAZINE_LAYOUT                                                                            \
    [at_bounds] "i"(offsetof(struct magazine, bounds)),                                            \
        [at_floor] "i"(offsetof(struct magazine, floor)),                                          \
        [at_ceiling] "i"(offsetof(struct magazine, ceiling)),                                      \
        [at_full] "i"(offsetof(struct magazine, full)),                                            \
        [at_store] "i"(offsetof(struct magazine, store)),                                          \
        [at_multiplier] "i"(offsetof(struct magazine, multiplier)),                                \
        [at_no_blocks] "i"(offsetof(struct magazine, no_blocks)),                                  \
        [count_mask] "i"(MAGAZINE_COUNT_MASK), [count_full] "i"(MAGAZINE_COUNT_FULL),              \
        [at_full_counts] "i"(offsetof(struct magazine_store, full_counts)),                        \
        [at_full_floor] "i"(offsetof(struct magazine_store, full_floor)),                          \
        [at_stack] "i"(offsetof(struct magazine_store, stack)), [cpu_id] "i"(RSEQ_CPU_ID),         \
        [cpus] "i"(CPU_HEAPS)

/*
 * Takes the newest block of the loaded magazine; 0 when there is none. 20 instructions; writes the
 * magazine's line, a colour's word, and the thread's rseq area. From one call to the next only the
 * number of blocks depends on what was stored: the block is not waited for.
 */
static inline __attribute__((always_inline)) uintptr_t magazine_pop(ptrdiff_t area, uint32_t offset)
{
    uintptr_t block;
    char *found;
    uint64_t top, store, colour;

    __asm__ volatile(
        RSEQ_BEGIN("%[top]")
            MAGAZINE_FIND("magazine_to_take", "%[found]", "%[top]", "%k[top]", "7f") /* */
        "movq (%[found]), %[top]\n\t"
        "movzwl %w[top], %k[block]\n\t"
        "cmpw %c[at_floor](%[found]), %w[top]\n\t" /* floor */
        "je 7f\n\t"
        "movq %c[at_store](%[found]), %[store]\n\t"
        "addq %[less], %[top]\n\t"
        "movq %c[at_stack]-8(%[store], %[block], 8), %[block]\n\t" /* the place below */
        "movl %k[block], %k[colour]\n\t"
        "shrl $6, %k[colour]\n\t"
        "andl $63, %k[colour]\n\t"
        "subl %[one_less], (%[store], %[colour], 4)\n\t"
        "movq %[top], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
        ".pushsection .text.unlikely, \"ax\"\n\t"
        "7: xorl %k[block], %k[block]\n\t"
        "jmp 6b\n\t"
        ".popsection\n\t"
        : [top] "=&r"(top), [found] "=&r"(found), [block] "=&r"(block), [store] "=&r"(store),
          [colour] "=&r"(colour)
        : MAGAZINE_INPUTS, [less] "i"(MAGAZINE_SERVED - 1), [one_less] "i"(MAGAZINE_ONE_LESS)
        : "memory", "cc");
    return block;
}

/*
 * Puts a block on top of the loaded magazine. Its page says that a block begins in its line, and
 * that its run begins at start. False: no block begins there; or the loaded magazine has as many of
 * its colour as it may, or the stack as many as that may, or it is the last of its colour that was
 * put here, and waits already; or the CPU has no magazine for it, or is of another node. 30
 * instructions; writes as magazine_pop, and a place. (There are no outputs, so the registers that
 * it works in are named.)
 */
static inline __attribute__((always_inline)) bool magazine_push(ptrdiff_t area, uint32_t offset,
                                                                uint32_t start, void *block)
{
    __asm__ goto(RSEQ_BEGIN("%%r8")
                     MAGAZINE_FIND("magazine_to_put", "%%r9", "%%r8", "%%r8d", "%l[refused]") /* */
                 "movq (%%r9), %%r8\n\t"
                 "cmpw %c[at_ceiling](%%r9), %%r8w\n\t"
                 "jae %l[refused]\n\t"
                 "movl %k[block], %%ecx\n\t" /* size_class_divides */
                 "subl %[start], %%ecx\n\t"
                 "imull %c[at_multiplier](%%r9), %%ecx\n\t"
                 "cmpl %c[at_multiplier](%%r9), %%ecx\n\t"
                 "jae %l[refused]\n\t"
                 "movq %c[at_store](%%r9), %%r11\n\t"
                 "movl (%%r11, %[colour], 4), %%ecx\n\t"
                 "testb %[count_full], %%cl\n\t"
                 "jnz %l[refused]\n\t"
                 "xorl %k[block], %%ecx\n\t" /* magazine_names */
                 "cmpl %[count_mask], %%ecx\n\t"
                 "jbe %l[refused]\n\t"
                 "andl %[count_mask], %%ecx\n\t"
                 "leal 1(%[block], %%rcx), %%ecx\n\t"
                 "movl %%ecx, (%%r11, %[colour], 4)\n\t"
                 "movzwl %%r8w, %%ecx\n\t"
                 "incq %%r8\n\t"
                 "movq %[block], %c[at_stack](%%r11, %%rcx, 8)\n\t"
                 "movq %%r8, (%%r9)\n\t" RSEQ_COMMITTED
                 :
                 : MAGAZINE_INPUTS, [block] "r"(block),
                   [colour] "r"((uint64_t)magazine_colour(block)), [start] "g"(start)
                 : "memory", "cc", "rcx", "r8", "r9", "r11"
                 : refused);
    return true;
refused:
    return false;
}

#endif
