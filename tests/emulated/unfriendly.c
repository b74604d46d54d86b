/*
 * SPDX-License-Identifier: MIT
 *
 * What a transaction cannot do: system calls, CPUID, PAUSE, requests to the emulator. It aborts
 * with no cause set, and what was asked for did not happen. And what it can: read the clock, fence,
 * read the state of x87.
 */
#include "transaction.h"

#include <sys/syscall.h>

static volatile int word;
static int pipe_ends[2];

static void expect_silent_abort(void (*body)(void *), void *argument)
{
    int status = STARTED;

    word = 0;
    for (int i = 0; i < attempts() && status == STARTED; i++)
        status = attempt(body, argument);
    EXPECT_EQUAL(status & CAUSES, 0);
    EXPECT_EQUAL(word, 0);
    EXPECT(!in_transaction());
}

static void write_to_pipe(void *unused)
{
    long result = SYS_write;

    (void)unused;
    word = 1;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(pipe_ends[1]), "S"("x"), "d"(1)
                     : "rcx", "r11", "memory");
}

static void a_system_call_aborts_and_is_not_made(void)
{
    char byte;

    EXPECT_EQUAL(pipe(pipe_ends), 0);
    expect_silent_abort(write_to_pipe, NULL);
    EXPECT_EQUAL(write(pipe_ends[1], "y", 1), 1);
    EXPECT_EQUAL(read(pipe_ends[0], &byte, 1), 1);
    EXPECT_EQUAL(byte, 'y');
}

static void nested_system_call(void *unused)
{
    if (begin() == STARTED) {
        write_to_pipe(unused);
        end();
    }
}

static void in_a_nested_transaction_it_says_nested_and_nothing_else(void)
{
    int status = STARTED;

    for (int i = 0; i < attempts() && (status == STARTED || !(status & NESTED)); i++)
        status = attempt(nested_system_call, NULL);
    EXPECT_EQUAL(status & CAUSES, NESTED);
}

static void cpuid(void *unused)
{
    unsigned eax = 0, ebx, ecx = 0, edx;

    (void)unused;
    word = 1;
    __asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
}

static void pause_once(void *unused)
{
    (void)unused;
    word = 1;
    __asm__ volatile("pause");
}

static void cpuid_aborts(void)
{
    expect_silent_abort(cpuid, NULL);
}

static void pause_aborts(void)
{
    expect_silent_abort(pause_once, NULL);
}

/* What the manual says may abort, and the emulator promises to. None of it may take effect: word
 * stays, and so does the line that is flushed or stored to. */
static uint8_t area[4096] __attribute__((aligned(64)));

#define UNFRIENDLY(name, text)                                                                     \
    static void name(void *unused)                                                                 \
    {                                                                                              \
        (void)unused;                                                                              \
        word = 1;                                                                                  \
        __asm__ volatile(text : "+m"(area) : "D"(area), "a"(7), "d"(0) : "cc", "memory");          \
    }
UNFRIENDLY(x87, "fldpi\n\tfstp %%st(0)")
UNFRIENDLY(fwait, "fwait")
UNFRIENDLY(mmx, "movd %%eax, %%mm0")
UNFRIENDLY(mmx_to_sse, "movq2dq %%mm0, %%xmm0")
UNFRIENDLY(from_mmx, "cvtpi2ps %%mm0, %%xmm0")
UNFRIENDLY(ssse3_on_mmx, "pshufb %%mm0, %%mm0")
UNFRIENDLY(emms, "emms")
UNFRIENDLY(popf, "pushfq\n\tpopfq")
UNFRIENDLY(std, "std\n\tcld")
UNFRIENDLY(movnti, "movnti %%eax, (%%rdi)")
UNFRIENDLY(movntdq, "movntdq %%xmm0, (%%rdi)")
UNFRIENDLY(maskmovdqu, "maskmovdqu %%xmm0, %%xmm0")
UNFRIENDLY(vzeroupper, "vzeroupper")
UNFRIENDLY(vmovntdq, "vmovntdq %%xmm0, (%%rdi)")
UNFRIENDLY(fxsave, "fxsave (%%rdi)")
UNFRIENDLY(xsave, "xsave (%%rdi)")
UNFRIENDLY(xsave64, "xsave64 (%%rdi)")
UNFRIENDLY(xsaveopt, "xsaveopt (%%rdi)")
UNFRIENDLY(xsavec, "xsavec (%%rdi)")
UNFRIENDLY(xrstor, "xrstor (%%rdi)")
UNFRIENDLY(fxrstor, "fxrstor (%%rdi)")
UNFRIENDLY(clflush, "clflush (%%rdi)")
UNFRIENDLY(clflushopt, ".byte 0x66, 0x0f, 0xae, 0x3f")
UNFRIENDLY(clwb, ".byte 0x66, 0x0f, 0xae, 0x37")
UNFRIENDLY(wrfsbase, "wrfsbase %%rax")
UNFRIENDLY(wrgsbase, "wrgsbase %%rax")
UNFRIENDLY(software_interrupt, "int $0x80")
UNFRIENDLY(in_from_port, "inb $0x80, %%al")
UNFRIENDLY(out_to_port, "outb %%al, %%dx")
UNFRIENDLY(insb, "insb")
UNFRIENDLY(outsb, "outsb")
UNFRIENDLY(halt, "hlt")

/* Each was seen to abort every transaction of an Emerald Rapids Xeon. */
static void what_saves_flushes_interrupts_or_has_old_registers_aborts(void)
{
    static void (*const bodies[])(void *) = {
        x87,      fwait,        mmx,          mmx_to_sse,
        from_mmx, ssse3_on_mmx, emms,         popf,
        std,      movnti,       movntdq,      maskmovdqu,
        vmovntdq, vzeroupper,   fxsave,       xsave,
        xsave64,  xsaveopt,     xsavec,       xrstor,
        fxrstor,  clflush,      clflushopt,   clwb,
        wrfsbase, wrgsbase,     in_from_port, out_to_port,
        insb,     outsb,        halt,         software_interrupt,
    };

    if (!is_emulated())
        return;
    for (unsigned i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        expect_silent_abort(bodies[i], NULL);
        for (unsigned n = 0; n < sizeof(area); n++)
            EXPECT_EQUAL(area[n], 0);
    }
}

/* The request "how deep am I emulated", in bytes: the headers may not be installed. On a processor
 * it is a few rotations by 64 in all and changes nothing. */
static uint64_t emulator_request(void)
{
    volatile uint64_t arguments[6] = {0x1001, 0, 0, 0, 0, 0};
    uint64_t result = 0;

    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(arguments)
                     : "cc", "memory", "rdi");
    return result;
}

static void request(void *result)
{
    word = 1;
    *(uint64_t *)result = emulator_request();
}

static void a_request_to_the_emulator_aborts(void)
{
    uint64_t result = 99;

    if (!is_emulated())
        return;
    EXPECT_EQUAL(emulator_request(), 1);
    expect_silent_abort(request, &result);
    EXPECT_EQUAL(result, 99);
}

static void read_clocks(void *argument)
{
    uint32_t low, high, processor;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(processor));
    *(uint32_t *)argument = processor;
}

static void fence(void *unused)
{
    (void)unused;
    __asm__ volatile("mfence\n\tlfence\n\tsfence" : : : "memory");
}

static void read_old_state(void *argument)
{
    __asm__ volatile("fnstcw %0\n\tfnstsw %%ax" : "=m"(*(uint16_t *)argument) : : "ax");
    __asm__ volatile("cvtpi2ps %0, %%xmm0" : : "m"(area) : "xmm0");
    __asm__ volatile("cld\n\tpushfq\n\tpop %%rax\n\tlahf\n\tsahf" : : : "rax", "cc", "memory");
}

static void the_clock_fences_and_the_state_of_x87_are_no_obstacle(void)
{
    uint32_t processor = ~0u;
    uint16_t control = 0;

    EXPECT(commits(read_clocks, &processor));
    EXPECT(processor != ~0u);
    EXPECT(commits(fence, NULL));
    EXPECT(commits(read_old_state, &control));
    EXPECT_EQUAL(control, 0x37f);
}

int main(void)
{
    need_transactions();
    a_system_call_aborts_and_is_not_made();
    in_a_nested_transaction_it_says_nested_and_nothing_else();
    cpuid_aborts();
    pause_aborts();
    what_saves_flushes_interrupts_or_has_old_registers_aborts();
    a_request_to_the_emulator_aborts();
    the_clock_fences_and_the_state_of_x87_are_no_obstacle();
    return 0;
}
