/*
 * SPDX-License-Identifier: MIT
 *
 * One row for each way in which an instruction loads from memory or stores to it: the instruction,
 * which finds its operand at RDI, how many bytes that is and how it must be aligned. Blocks of
 * assembly may use RAX, RCX, RDX, RSI, RDI, R8, R9 and the first four vector registers.
 */
#ifndef MPLACE_ACCESS_KINDS_H
#define MPLACE_ACCESS_KINDS_H

#include <stdint.h>

/* X(name, bytes accessed, alignment, first four bytes in memory, assembly) */
#define LOAD_KINDS(X)                                                                              \
    X(mov_byte, 1, 1, 0, "movb (%%rdi), %%al")                                                     \
    X(mov_word, 2, 1, 0, "movw (%%rdi), %%ax")                                                     \
    X(mov_dword, 4, 1, 0, "movl (%%rdi), %%eax")                                                   \
    X(mov_qword, 8, 1, 0, "movq (%%rdi), %%rax")                                                   \
    X(movsx, 4, 1, 0, "movslq (%%rdi), %%rax")                                                     \
    X(movzx, 2, 1, 0, "movzwl (%%rdi), %%eax")                                                     \
    X(cmp, 8, 1, 0, "cmpq %%rax, (%%rdi)")                                                         \
    X(cmp_unused, 8, 1, 0, "cmpq %%rax, (%%rdi)\n\txorl %%eax, %%eax")                             \
    X(test, 4, 1, 0, "testl %%eax, (%%rdi)")                                                       \
    X(add_from, 8, 1, 0, "addq (%%rdi), %%rax")                                                    \
    X(imul, 8, 1, 0, "imulq (%%rdi), %%rax")                                                       \
    X(div, 8, 1, 7, "xorl %%edx, %%edx\n\tmovl $9, %%eax\n\tdivq (%%rdi)")                         \
    X(cmov_taken, 8, 1, 0, "cmpl %%eax, %%eax\n\tcmove (%%rdi), %%rcx")                            \
    X(cmov_not_taken, 8, 1, 0, "cmpl %%eax, %%eax\n\tcmovne (%%rdi), %%rcx")                       \
    X(bit_test, 4, 1, 0, "btl $3, (%%rdi)")                                                        \
    X(bit_test_far, 1, 1, 0, "subq $1000, %%rdi\n\tmovl $8000, %%eax\n\tbtq %%rax, (%%rdi)")       \
    X(bsf, 8, 1, 0, "bsfq (%%rdi), %%rax")                                                         \
    X(push_from, 8, 1, 0, "pushq (%%rdi)\n\tpopq %%rax")                                           \
    X(pop, 8, 1, 0, "movq %%rsp, %%r8\n\tmovq %%rdi, %%rsp\n\tpopq %%rax\n\tmovq %%r8, %%rsp")     \
    X(leave, 8, 1, 0,                                                                              \
      "movq %%rsp, %%r8\n\tmovq %%rbp, %%r9\n\tmovq %%rdi, %%rbp\n\tleave\n\t"                     \
      "movq %%r8, %%rsp\n\tmovq %%r9, %%rbp")                                                      \
    X(lodsb, 1, 1, 0, "movq %%rdi, %%rsi\n\tlodsb")                                                \
    X(scasb, 32, 1, 0, "movb $1, %%al\n\tmovl $32, %%ecx\n\trepne scasb")                          \
    X(cmpsb, 32, 1, 0, "movq %%rdi, %%rsi\n\tmovl $32, %%ecx\n\trepe cmpsb")                       \
    X(movsb_from, 40, 1, 0, "movq %%rdi, %%rsi\n\tleaq %1, %%rdi\n\tmovl $40, %%ecx\n\trep movsb") \
    X(movsq_from, 40, 1, 0, "movq %%rdi, %%rsi\n\tleaq %1, %%rdi\n\tmovl $5, %%ecx\n\trep movsq")  \
    X(ldmxcsr, 4, 1, 0x1f80, "ldmxcsr (%%rdi)")                                                    \
    X(movss, 4, 1, 0, "movss (%%rdi), %%xmm0")                                                     \
    X(movhps, 8, 1, 0, "movhps (%%rdi), %%xmm0")                                                   \
    X(movdqu, 16, 1, 0, "movdqu (%%rdi), %%xmm0")                                                  \
    X(movaps, 16, 16, 0, "movaps (%%rdi), %%xmm0")                                                 \
    X(movntdqa, 16, 16, 0, "movntdqa (%%rdi), %%xmm0")                                             \
    X(lddqu, 16, 1, 0, "lddqu (%%rdi), %%xmm0")                                                    \
    X(pmovzx, 8, 1, 0, "pmovzxbw (%%rdi), %%xmm0")                                                 \
    X(pinsrb, 1, 1, 0, "pinsrb $3, (%%rdi), %%xmm0")                                               \
    X(pcmpistri, 16, 1, 0, "pcmpistri $0, (%%rdi), %%xmm0")                                        \
    X(cvtsi2sd, 8, 1, 0, "cvtsi2sdq (%%rdi), %%xmm0")                                              \
    X(ucomisd, 8, 1, 0, "ucomisd (%%rdi), %%xmm0")                                                 \
    X(crc32, 8, 1, 0, "crc32q (%%rdi), %%rax")                                                     \
    X(popcnt, 8, 1, 0, "popcntq (%%rdi), %%rax")

#define AVX2_LOAD_KINDS(X)                                                                         \
    X(movbe_from, 8, 1, 0, "movbeq (%%rdi), %%rax")                                                \
    X(vmovdqu, 32, 1, 0, "vmovdqu (%%rdi), %%ymm0")                                                \
    X(vmovaps, 32, 32, 0, "vmovaps (%%rdi), %%ymm0")                                               \
    X(vbroadcastss, 4, 1, 0, "vbroadcastss (%%rdi), %%ymm0")                                       \
    X(vpshufb, 32, 1, 0, "vpshufb (%%rdi), %%ymm0, %%ymm0")                                        \
    X(vpmaskmovd, 32, 1, 0,                                                                        \
      "vpcmpeqd %%ymm1, %%ymm1, %%ymm1\n\tvpmaskmovd (%%rdi), %%ymm1, %%ymm0")                     \
    X(vmaskmovpd, 32, 1, 0,                                                                        \
      "vpcmpeqd %%ymm1, %%ymm1, %%ymm1\n\tvmaskmovpd (%%rdi), %%ymm1, %%ymm0")                     \
    X(vpgatherdd, 32, 1, 0,                                                                        \
      "vpcmpeqd %%ymm1, %%ymm1, %%ymm1\n\tvmovdqu %1, %%ymm2\n\t"                                  \
      "vpgatherdd %%ymm1, (%%rdi,%%ymm2,4), %%ymm0")                                               \
    X(andn, 8, 1, 0, "andnq (%%rdi), %%rax, %%rcx")

#define STORE_KINDS(X)                                                                             \
    X(mov_byte_to, 1, 1, 0, "movb $0x5a, (%%rdi)")                                                 \
    X(mov_word_to, 2, 1, 0, "movw $0x5a5b, (%%rdi)")                                               \
    X(mov_dword_to, 4, 1, 0, "movl $0x5a5b5c5d, (%%rdi)")                                          \
    X(mov_qword_to, 8, 1, 0, "movq %%rdi, (%%rdi)")                                                \
    X(push, 8, 1, 0,                                                                               \
      "movq %%rsp, %%r8\n\tleaq 8(%%rdi), %%rsp\n\tpushq $0x5a5b\n\tmovq %%r8, %%rsp")             \
    X(call, 8, 1, 0,                                                                               \
      "movq %%rsp, %%r8\n\tleaq 8(%%rdi), %%rsp\n\tcall 1f\n1:\n\tmovq %%r8, %%rsp")               \
    X(enter, 8, 1, 0,                                                                              \
      "movq %%rsp, %%r8\n\tmovq %%rbp, %%r9\n\tleaq 8(%%rdi), %%rsp\n\tmovq %%rsp, %%rbp\n\t"      \
      "enter $0, $0\n\t"                                                                           \
      "movq %%r8, %%rsp\n\tmovq %%r9, %%rbp")                                                      \
    X(pop_to, 8, 1, 0, "pushq $0x5a5b\n\tpopq (%%rdi)")                                            \
    X(pushf, 8, 1, 0,                                                                              \
      "movq %%rsp, %%r8\n\tleaq 8(%%rdi), %%rsp\n\tstc\n\tpushfq\n\tmovq %%r8, %%rsp")             \
    X(stosb, 33, 1, 0, "movb $0x5a, %%al\n\tmovl $33, %%ecx\n\trep stosb")                         \
    X(stosq, 40, 1, 0, "movq %%rdi, %%rax\n\tmovl $5, %%ecx\n\trep stosq")                         \
    X(movsb_to, 33, 1, 0, "leaq %2, %%rsi\n\tmovl $33, %%ecx\n\trep movsb")                        \
    X(movsq_to, 40, 1, 0, "leaq %2, %%rsi\n\tmovl $5, %%ecx\n\trep movsq")                         \
    X(add_to, 8, 1, 0, "addq %%rdi, (%%rdi)")                                                      \
    X(inc, 4, 1, 0, "incl (%%rdi)")                                                                \
    X(not, 8, 1, 0, "notq (%%rdi)")                                                                \
    X(neg, 2, 1, 1, "negw (%%rdi)")                                                                \
    X(shl, 8, 1, 1, "shlq $3, (%%rdi)")                                                            \
    X(rol, 1, 1, 1, "rolb $3, (%%rdi)")                                                            \
    X(shld, 8, 1, 0, "movq $-1, %%rax\n\tshldq $7, %%rax, (%%rdi)")                                \
    X(adc, 8, 1, 0, "stc\n\tadcq $0, (%%rdi)")                                                     \
    X(setcc, 1, 1, 0, "cmpl %%eax, %%eax\n\tsete (%%rdi)")                                         \
    X(bts, 4, 1, 0, "btsl $30, (%%rdi)")                                                           \
    X(btc_far, 1, 1, 0, "subq $1000, %%rdi\n\tmovl $8001, %%eax\n\tbtcq %%rax, (%%rdi)")           \
    X(xchg, 8, 8, 0, "movq %%rdi, %%rax\n\txchgq %%rax, (%%rdi)")                                  \
    X(xadd, 4, 1, 0, "movl $5, %%eax\n\txaddl %%eax, (%%rdi)")                                     \
    X(lock_add, 8, 8, 0, "lock addq %%rdi, (%%rdi)")                                               \
    X(lock_inc_byte, 1, 1, 0, "lock incb (%%rdi)")                                                 \
    X(lock_xadd_word, 2, 2, 0, "movl $5, %%eax\n\tlock xaddw %%ax, (%%rdi)")                       \
    X(lock_bts, 4, 4, 0, "lock btsl $30, (%%rdi)")                                                 \
    X(lock_neg, 4, 4, 1, "lock negl (%%rdi)")                                                      \
    X(cmpxchg, 8, 1, 0, "xorl %%eax, %%eax\n\tcmpxchgq %%rdi, (%%rdi)")                            \
    X(lock_cmpxchg_byte, 1, 1, 0,                                                                  \
      "xorl %%eax, %%eax\n\tmovl $5, %%ecx\n\tlock cmpxchgb %%cl, (%%rdi)")                        \
    X(lock_cmpxchg, 8, 8, 0, "xorl %%eax, %%eax\n\tlock cmpxchgq %%rdi, (%%rdi)")                  \
    X(lock_cmpxchg8b, 8, 8, 0,                                                                     \
      "movq %%rbx, %%r8\n\txorl %%eax, %%eax\n\txorl %%edx, %%edx\n\tmovl $7, %%ebx\n\t"           \
      "movl $8, %%ecx\n\tlock cmpxchg8b (%%rdi)\n\tmovq %%r8, %%rbx")                              \
    X(lock_cmpxchg16b, 16, 16, 0,                                                                  \
      "movq %%rbx, %%r8\n\txorl %%eax, %%eax\n\txorl %%edx, %%edx\n\tmovl $7, %%ebx\n\t"           \
      "movl $8, %%ecx\n\tlock cmpxchg16b (%%rdi)\n\tmovq %%r8, %%rbx")                             \
    X(fnstcw, 2, 1, 0, "fnstcw (%%rdi)")                                                           \
    X(stmxcsr, 4, 1, 0, "stmxcsr (%%rdi)")                                                         \
    X(movdqu_to, 16, 1, 0,                                                                         \
      "movq %%rdi, %%xmm0\n\tpunpcklqdq %%xmm0, %%xmm0\n\tmovdqu %%xmm0, (%%rdi)")                 \
    X(movaps_to, 16, 16, 0,                                                                        \
      "movq %%rdi, %%xmm0\n\tpunpcklqdq %%xmm0, %%xmm0\n\tmovaps %%xmm0, (%%rdi)")                 \
    X(movhps_to, 8, 1, 0,                                                                          \
      "movq %%rdi, %%xmm0\n\tpunpcklqdq %%xmm0, %%xmm0\n\tmovhps %%xmm0, (%%rdi)")                 \
    X(movss_to, 4, 1, 0, "movq %%rdi, %%xmm0\n\tmovss %%xmm0, (%%rdi)")                            \
    X(pextrb, 1, 1, 0, "pcmpeqd %%xmm0, %%xmm0\n\tpextrb $3, %%xmm0, (%%rdi)")                     \
    X(extractps, 4, 1, 0, "pcmpeqd %%xmm0, %%xmm0\n\textractps $1, %%xmm0, (%%rdi)")

#define AVX2_STORE_KINDS(X)                                                                        \
    X(movbe_to, 8, 1, 0, "movbeq %%rdi, (%%rdi)")                                                  \
    X(vmovdqu_to, 32, 1, 0, "vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n\tvmovdqu %%ymm0, (%%rdi)")          \
    X(vextracti128, 16, 1, 0,                                                                      \
      "vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n\tvextracti128 $1, %%ymm0, (%%rdi)")                       \
    X(vpmaskmovd_to, 32, 1, 0,                                                                     \
      "vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n\tvpmaskmovd %%ymm0, %%ymm0, (%%rdi)")                     \
    X(vmaskmovpd_to, 32, 1, 0,                                                                     \
      "vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n\tvmaskmovpd %%ymm0, %%ymm0, (%%rdi)")

/* With x87 or MMX registers, a non-temporal hint or STD: no transaction survives them. */
#define UNFRIENDLY_LOAD_KINDS(X)                                                                   \
    X(fld_single, 4, 1, 0, "flds (%%rdi)\n\tfstp %%st(0)")                                         \
    X(fld_double, 8, 1, 0, "fldl (%%rdi)\n\tfstp %%st(0)")                                         \
    X(fld_extended, 10, 1, 0, "fldt (%%rdi)\n\tfstp %%st(0)")                                      \
    X(fild_quad, 8, 1, 0, "fildll (%%rdi)\n\tfstp %%st(0)")                                        \
    X(fiadd_word, 2, 1, 0, "fldz\n\tfiadds (%%rdi)\n\tfstp %%st(0)")                               \
    X(fldcw, 2, 1, 0x37f, "fldcw (%%rdi)")                                                         \
    X(fldenv, 28, 1, 0x37f, "fldenv (%%rdi)\n\tfninit")                                            \
    X(frstor, 108, 1, 0x37f, "frstor (%%rdi)\n\tfninit")                                           \
    X(movq_mmx, 8, 1, 0, "movq (%%rdi), %%mm0\n\temms")

#define UNFRIENDLY_STORE_KINDS(X)                                                                  \
    X(movsb_backwards, 33, 1, 0,                                                                   \
      "leaq 32+%2, %%rsi\n\taddq $32, %%rdi\n\tmovl $33, %%ecx\n\tstd\n\trep movsb\n\tcld")        \
    X(fst_single, 4, 1, 0, "fldpi\n\tfstps (%%rdi)")                                               \
    X(fst_double, 8, 1, 0, "fldpi\n\tfstpl (%%rdi)")                                               \
    X(fst_extended, 10, 1, 0, "fldpi\n\tfstpt (%%rdi)")                                            \
    X(fist_quad, 8, 1, 0, "fldpi\n\tfistpll (%%rdi)")                                              \
    X(fisttp_word, 2, 1, 0, "fldpi\n\tfisttps (%%rdi)")                                            \
    X(fnstenv, 28, 1, 0, "fninit\n\tfnstenv (%%rdi)\n\tfninit")                                    \
    X(fnsave, 108, 1, 0, "fnsave (%%rdi)")                                                         \
    X(fxsave, 416, 16, 0, "fxsave (%%rdi)")                                                        \
    X(movnti, 8, 1, 0, "movntiq %%rdi, (%%rdi)")                                                   \
    X(movntq, 8, 8, 0, "movq %%rdi, %%mm0\n\tmovntq %%mm0, (%%rdi)\n\temms")                       \
    X(movq_mmx_to, 8, 1, 0, "movq %%rdi, %%mm0\n\tmovq %%mm0, (%%rdi)\n\temms")                    \
    X(movntdq, 16, 16, 0,                                                                          \
      "movq %%rdi, %%xmm0\n\tpunpcklqdq %%xmm0, %%xmm0\n\tmovntdq %%xmm0, "                        \
      "(%%rdi)")                                                                                   \
    X(maskmovdqu, 16, 1, 0,                                                                        \
      "pcmpeqd %%xmm1, %%xmm1\n\tmovq %%rdi, %%xmm0\n\tpunpcklqdq %%xmm0, %%xmm0\n\t"              \
      "maskmovdqu %%xmm1, %%xmm0")

#define AVX2_UNFRIENDLY_STORE_KINDS(X)                                                             \
    X(vmovntps, 32, 32, 0, "vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n\tvmovntps %%ymm0, (%%rdi)")

struct access_kind {
    const char *name;
    void (*make)(uint8_t *at);
    uint32_t size, alignment, content;
};

#endif
