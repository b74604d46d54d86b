/*
 * SPDX-License-Identifier: MIT
 *
 * _ITM_beginTransaction returns twice, so it is no C: it saves what the psABI calls callee-saved,
 * the control words of SSE and x87 among it, calls tm_begin with it, and returns its result. The
 * layout is struct tm_registers.
 */
    .text
    .globl _ITM_beginTransaction
    .type _ITM_beginTransaction, @function
    .p2align 6
_ITM_beginTransaction:
    .cfi_startproc
    leaq 8(%rsp), %rax
    subq $72, %rsp
    .cfi_adjust_cfa_offset 72
    movq %rax, (%rsp)
    movq 72(%rsp), %rax
    movq %rax, 8(%rsp)
    movq %rbx, 16(%rsp)
    movq %rbp, 24(%rsp)
    movq %r12, 32(%rsp)
    movq %r13, 40(%rsp)
    movq %r14, 48(%rsp)
    movq %r15, 56(%rsp)
    stmxcsr 64(%rsp)
    fnstcw 68(%rsp)
    movq %rsp, %rsi
    call tm_begin
    addq $72, %rsp
    .cfi_adjust_cfa_offset -72
    ret
    .cfi_endproc
    .size _ITM_beginTransaction, . - _ITM_beginTransaction

    .globl tm_registers_restore
    .hidden tm_registers_restore
    .type tm_registers_restore, @function
    .p2align 4
tm_registers_restore:
    .cfi_startproc
    movl %edi, %eax
    movq 16(%rsi), %rbx
    movq 24(%rsi), %rbp
    movq 32(%rsi), %r12
    movq 40(%rsi), %r13
    movq 48(%rsi), %r14
    movq 56(%rsi), %r15
    ldmxcsr 64(%rsi)
    fldcw 68(%rsi)
    movq 8(%rsi), %rdx
    movq (%rsi), %rsp
    jmp *%rdx
    .cfi_endproc
    .size tm_registers_restore, . - tm_registers_restore

    .section .note.GNU-stack, "", @progbits
