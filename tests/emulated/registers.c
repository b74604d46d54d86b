/*
 * SPDX-License-Identifier: MIT
 *
 * An abort restores every register to what it was at XBEGIN: general, flags, x87, SSE and AVX. Each
 * claim loads a state, begins, spoils all of it, aborts, and looks at what the fallback sees.
 */
#include "transaction.h"

static bool has_avx(void)
{
    return __builtin_cpu_supports("avx") > 0;
}

/* In the order rax rcx rdx rbx rsp rbp rsi rdi r8 to r14. */
struct general {
    uint64_t value[15];
};

#define GENERAL_AT_15(instruction)                                                                 \
    instruction(rcx, 8) instruction(rdx, 16) instruction(rbx, 24) instruction(rbp, 40)             \
        instruction(rsi, 48) instruction(rdi, 56) instruction(r8, 64) instruction(r9, 72)          \
            instruction(r10, 80) instruction(r11, 88) instruction(r12, 96) instruction(r13, 104)   \
                instruction(r14, 112)
#define LOAD(name, offset)  "mov $0x0101010101010101 * " #offset " / 8, %%" #name "\n\t"
#define SPOIL(name, offset) "not %%" #name "\n\t"
#define SAVE(name, offset)  "mov %%" #name ", " #offset "(%%r15)\n\t"

static void an_abort_restores_the_general_registers_and_the_stack_pointer(void)
{
    struct general seen;
    register struct general *at __asm__("r15") = &seen;

    for (int i = 0; i < attempts(); i++) {
        memset(&seen, 0, sizeof(seen));
        __asm__ volatile(
            "push %%rbp\n\t"
            "mov %%rsp, 32(%%r15)\n\t" GENERAL_AT_15(
                LOAD) "mov $-1, %%rax\n\t"
                      "xbegin 1f\n\t"
                      "push %%rcx\n\t"
                      "push %%rdx\n\t" GENERAL_AT_15(
                          SPOIL) "xor %%r15d, %%r15d\n\t"
                                 "xabort $0x2a\n"
                                 "1:\n\t"
                                 "mov %%rax, 0(%%r15)\n\t"
                                 "sub %%rsp, 32(%%r15)\n\t" /* 0 if it is what it was */
            GENERAL_AT_15(SAVE) "pop %%rbp"
            : "+r"(at)
            :
            : "rax", "rcx", "rdx", "rbx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
              "r14", "cc", "memory");
        if (seen.value[0] == (0x2a << 24 | EXPLICIT))
            break;
    }
    EXPECT_EQUAL(seen.value[0], 0x2a << 24 | EXPLICIT);
    for (uint64_t i = 1; i < 15; i++)
        EXPECT_EQUAL(seen.value[i], i == 4 ? 0 : 0x0101010101010101 * i);
}

/* Inside, neither POPF nor STD: no transaction survives them. So the direction changes only one
 * way.
 */
static void an_abort_restores_the_flags_and_the_direction(void)
{
    const uint64_t all = 0xcd5, in_ah = 0xd5, overflow = 0x800; /* OF DF SF ZF AF PF CF */

    for (uint64_t wanted = 0; wanted <= all; wanted = ((wanted | ~all) + 1) & all) {
        uint64_t seen = 0, ah = (~wanted & in_ah) << 8;
        uint64_t before_overflow =
            (wanted & overflow) != 0 ? 0 : 0x7f; /* INC sets OF or clears it */

        for (int i = 0; i < attempts() && (seen & all) != wanted; i++) {
            __asm__ volatile("mov $-1, %%eax\n\t"
                             "push %1\n\t"
                             "popfq\n\t"
                             "xbegin 1f\n\t"
                             "incb %b3\n\t"
                             "mov %2, %%rax\n\t"
                             "sahf\n\t"
                             "cld\n\t"
                             "xabort $0\n"
                             "1:\n\t"
                             "pushfq\n\t"
                             "pop %0\n\t"
                             "cld"
                             : "=&r"(seen)
                             : "r"(wanted | 0x202), "r"(ah), "c"(before_overflow)
                             : "rax", "cc", "memory");
        }
        EXPECT_EQUAL(seen & all, wanted);
        if (wanted == all)
            break;
    }
}

/* Where FXSAVE puts what; the fields about the last instruction are not compared. */
struct __attribute__((aligned(16))) fxsave {
    uint16_t control, status;
    uint8_t tags, reserved;
    uint16_t opcode;
    uint64_t instruction, data;
    uint32_t mxcsr, mxcsr_mask;
    uint8_t x87[8][16];
    uint8_t xmm[16][16];
    uint8_t rest[96];
};

static void spoil_x87(void *unused)
{
    uint16_t control = 0x027f;

    (void)unused;
    __asm__ volatile("fincstp\n\tfldl2e\n\tfldpi\n\tfxch %%st(3)\n\tffree %%st(5)\n\tfaddp\n\t"
                     "fldcw %0"
                     :
                     : "m"(control)
                     : "memory");
    ABORT(1);
}

static void an_abort_restores_the_x87_stack_tags_and_control_word(void)
{
    struct fxsave before, after;
    uint16_t control = 0x0f7f; /* round towards zero, all exceptions masked */
    int status = 0;

    memset(&before, 0, sizeof(before));
    for (int i = 0; i < 10 && (status & CAUSES) != EXPLICIT; i++) {
        __asm__ volatile("fninit\n\tfldcw %1\n\tfld1\n\tfldln2\n\tfldz\n\tfxsave %0"
                         : "=m"(before)
                         : "m"(control)
                         : "memory");
        status = attempt(spoil_x87, NULL);
        __asm__ volatile("fxsave %0" : "=m"(after) : : "memory");
        __asm__ volatile("fninit");
    }
    /* A processor may abort at the first instruction for x87, and the emulator does. */
    EXPECT(status != STARTED);
    EXPECT_EQUAL(after.control, before.control);
    EXPECT_EQUAL(after.status, before.status);
    EXPECT_EQUAL(after.tags, before.tags);
    for (int i = 0; i < 8; i++)
        EXPECT(memcmp(after.x87[i], before.x87[i], 10) == 0);
}

static void mxcsr_is_restored(void)
{
    uint32_t usual = 0x1f80, wanted = 0x7f80, other = 0x3f80, seen = 0;

    for (int i = 0; i < attempts() && seen == 0; i++) {
        int status = -1;

        __asm__ volatile("ldmxcsr %2\n\t"
                         "xbegin 1f\n\t"
                         "ldmxcsr %3\n\t"
                         "xabort $3\n"
                         "1:\n\t"
                         "stmxcsr %1\n\t"
                         "ldmxcsr %4"
                         : "+a"(status), "=m"(seen)
                         : "m"(wanted), "m"(other), "m"(usual)
                         : "memory");
        if ((status & CAUSES) != EXPLICIT)
            seen = 0;
    }
    EXPECT_EQUAL(seen & 0xffc0, wanted & 0xffc0);
}

#define EACH_VECTOR(instruction)                                                                   \
    instruction(0) instruction(1) instruction(2) instruction(3) instruction(4) instruction(5)      \
        instruction(6) instruction(7) instruction(8) instruction(9) instruction(10)                \
            instruction(11) instruction(12) instruction(13) instruction(14) instruction(15)
#define ALL_XMM                                                                                    \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",       \
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

#define XMM_LOAD(n)  "movdqu 16 * " #n "(%1), %%xmm" #n "\n\t"
#define XMM_SPOIL(n) "pxor %%xmm" #n ", %%xmm" #n "\n\t"
#define XMM_SAVE(n)  "movdqu %%xmm" #n ", 16 * " #n "(%2)\n\t"
#define YMM_LOAD(n)  "vmovdqu 32 * " #n "(%1), %%ymm" #n "\n\t"
#define YMM_SPOIL(n) "vpxor %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n\t" /* clears the upper half */
#define YMM_SAVE(n)  "vmovdqu %%ymm" #n ", 32 * " #n "(%2)\n\t"

static void an_abort_restores_all_sse_registers(void)
{
    uint8_t wanted[256], seen[256];
    int status = 0;

    for (int i = 0; i < 256; i++)
        wanted[i] = (uint8_t)(i * 7 + 1);
    for (int i = 0; i < attempts() && (status & CAUSES) != EXPLICIT; i++) {
        status = -1;
        __asm__ volatile(EACH_VECTOR(XMM_LOAD) "xbegin 1f\n\t" EACH_VECTOR(
                             XMM_SPOIL) "xabort $4\n"
                                        "1:\n\t" EACH_VECTOR(XMM_SAVE)
                         : "+a"(status)
                         : "r"(wanted), "r"(seen)
                         : ALL_XMM, "memory");
    }
    EXPECT_EQUAL(status & CAUSES, EXPLICIT);
    EXPECT(memcmp(seen, wanted, sizeof(seen)) == 0);
}

static __attribute__((target("avx"))) void an_abort_restores_all_avx_registers(void)
{
    uint8_t wanted[512], seen[512];
    int status = 0;

    if (!has_avx())
        return;
    for (int i = 0; i < 512; i++)
        wanted[i] = (uint8_t)(i * 11 + 1);
    for (int i = 0; i < attempts() && (status & CAUSES) != EXPLICIT; i++) {
        status = -1;
        __asm__ volatile(EACH_VECTOR(YMM_LOAD) "xbegin 1f\n\t" EACH_VECTOR(
                             YMM_SPOIL) "xabort $4\n"
                                        "1:\n\t" EACH_VECTOR(YMM_SAVE) "vzeroupper"
                         : "+a"(status)
                         : "r"(wanted), "r"(seen)
                         : ALL_XMM, "memory");
    }
    EXPECT_EQUAL(status & CAUSES, EXPLICIT);
    EXPECT(memcmp(seen, wanted, sizeof(seen)) == 0);
}

static void a_commit_keeps_what_the_transaction_left_in_the_registers(void)
{
    uint64_t low = 0, vector = 0;

    for (int i = 0; i < attempts() && low == 0; i++) {
        __asm__ volatile("xor %0, %0\n\t"
                         "pxor %%xmm5, %%xmm5\n\t"
                         "mov $-1, %%eax\n\t"
                         "xbegin 1f\n\t"
                         "mov $77, %0\n\t"
                         "movq %0, %%xmm5\n\t"
                         "xend\n"
                         "1:\n\t"
                         "movq %%xmm5, %1"
                         : "=&r"(low), "=&r"(vector)
                         :
                         : "rax", "xmm5", "memory");
    }
    EXPECT_EQUAL(low, 77);
    EXPECT_EQUAL(vector, 77);
}

int main(void)
{
    need_transactions();
    an_abort_restores_the_general_registers_and_the_stack_pointer();
    an_abort_restores_the_flags_and_the_direction();
    an_abort_restores_the_x87_stack_tags_and_control_word();
    mxcsr_is_restored();
    an_abort_restores_all_sse_registers();
    an_abort_restores_all_avx_registers();
    a_commit_keeps_what_the_transaction_left_in_the_registers();
    return 0;
}
