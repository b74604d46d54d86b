/*
 * SPDX-License-Identifier: MIT
 *
 * vfork, so that its child stays away from restartable sequences. The child runs on the parent's
 * memory, thread-local memory included, but the kernel neither keeps the rseq area up to date for
 * it nor begins its sequences again: with a CPU number of the past it would work on a magazine
 * beside a thread that is really there. So in the child the thread's area is off, and malloc and
 * free take locks. posix_spawn, system and popen do not come here, and allocate nothing in theirs.
 */
#include "cia_malloc/cpu_cache/magazine.h"

#include <sys/types.h>

__attribute__((visibility("default"), naked)) pid_t vfork(void);
__attribute__((visibility("default"), alias("vfork"))) pid_t __vfork(void);

/*
 * The return address must not lie on the stack meanwhile: the child's calls overwrite it. It stays
 * in a register, of which the parent and the child each have their own, as do where the thread's
 * area is kept and what it was. With a shadow stack the child must not return, or the parent could
 * not: it jumps (RDSSP leaves the register alone where there is none).
 */
pid_t vfork(void)
{
    __asm__("endbr64\n\t"
            "popq %rdi\n\t"
            "movq magazine_thread_area@gottpoff(%rip), %rdx\n\t"
            "movq %fs:(%rdx), %rsi\n\t"
            /* MAGAZINE_AREA_VFORKED, before a signal can come in the child; and nothing announced,
               so that the fast paths look there. */
            "movq $2, %fs:(%rdx)\n\t"
            "movq magazine_areas(%rip), %rax\n\t"
            "movq $0, %fs:8(%rax)\n\t"
            "movl $58, %eax\n\t" /* SYS_vfork */
            "syscall\n\t"
            "pushq %rdi\n\t"
            "testq %rax, %rax\n\t"
            "jnz 1f\n\t"
            "xorl %ecx, %ecx\n\t"
            "rdsspq %rcx\n\t"
            "testq %rcx, %rcx\n\t"
            "jnz 2f\n\t"
            "ret\n\t"
            "2:\n\t"
            "popq %rdi\n\t"
            "jmp *%rdi\n\t"
            "1:\n\t"
            "movq %rsi, %fs:(%rdx)\n\t"
            "js 3f\n\t"
            "ret\n\t"
            "3:\n\t"
            "negl %eax\n\t"
            "pushq %rax\n\t"
            "call __errno_location@PLT\n\t"
            "popq %rdx\n\t"
            "movl %edx, (%rax)\n\t"
            "movq $-1, %rax\n\t"
            "ret\n\t");
}
