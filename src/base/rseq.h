/*
 * SPDX-License-Identifier: MIT
 *
 * Restartable sequences: the area that glibc registers for each thread, and the assembler around a
 * critical section. A section reads which CPU it is on, works on that CPU's data with plain
 * instructions and ends with one store, the commit. A thread that is preempted, moved or
 * interrupted by a signal before the commit finds itself at the beginning again: so on each CPU the
 * sections run as if one after the other, and no instruction is locked.
 *
 * Interface: struct rseq and struct rseq_cs of <linux/rseq.h>; rseq(2). Never registered here: one
 * area a thread is all that the kernel takes, and it is libc's.
 */
#ifndef MPLACE_BASE_RSEQ_H
#define MPLACE_BASE_RSEQ_H

#include <stddef.h>
#include <stdint.h>

/*
 * glibc 2.35 and later publish where the area is, from the thread pointer. Weak: an older libc
 * simply does not have them. A size of 0: the kernel refused, or glibc.pthread.rseq=0.
 */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

enum { RSEQ_CPU_ID = 4 }; /* offset in struct rseq */

static inline int rseq_is_registered(void)
{
    return &__rseq_size != NULL && __rseq_size != 0;
}

/* The CPU of this thread; negative when its own registration failed. Only if registered. */
static inline int32_t rseq_cpu(void)
{
    const char *area = (const char *)__builtin_thread_pointer() + __rseq_offset;

    return *(const volatile int32_t *)(area + RSEQ_CPU_ID);
}

/*
 * The frame of a section, for one asm statement with an operand [area], the register that holds the
 * area's offset.
 *
 *   RSEQ_BEGIN(R)   announces the section: from label 1 to label 2, back to label 0 if interrupted;
 *                   register R is lost
 *   RSEQ_COMMITTED  follows the committing store
 *
 * The kernel checks the four bytes before the address it returns to against those that glibc
 * registered (RSEQ_SIG); they make an undefined instruction, so that nothing runs into it. The
 * announcement stays when the section is left: the kernel looks whether the thread is within.
 * Writes to the thread's own area and flags, and is safe inside a transaction, whose abort takes it
 * back.
 */
#define RSEQ_BEGIN(scratch)                                                                        \
    "0:\n\t"                                                                                       \
    "leaq 3f(%%rip), " scratch "\n\t"                                                              \
    "movq " scratch ", %%fs:8(%[area])\n\t"                                                        \
    "1:\n\t"
#define RSEQ_COMMITTED                                                                             \
    "2:\n\t"                                                                                       \
    ".pushsection __rseq_cs, \"aw\"\n\t"                                                           \
    ".balign 32\n\t"                                                                               \
    "3: .long 0, 0\n\t"                                                                            \
    ".quad 1b, 2b - 1b, 4f\n\t"                                                                    \
    ".popsection\n\t"                                                                              \
    ".pushsection .text.unlikely, \"ax\"\n\t"                                                      \
    ".byte 0x0f, 0xb9, 0x3d\n\t"                                                                   \
    ".long 0x53053053\n\t"                                                                         \
    "4: jmp 0b\n\t"                                                                                \
    ".popsection\n\t"

#endif
