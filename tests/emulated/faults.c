/*
 * SPDX-License-Identifier: MIT
 *
 * An exception inside a transaction aborts it with no cause set and is then forgotten: no signal,
 * no page brought in. What faults again outside is the program's own affair there.
 */
#include "transaction.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { PAGE = 4096, PAGES = 32 };

static sigjmp_buf after_signal;
static volatile int signals;

static void leave_handler(int number)
{
    signals++;
    siglongjmp(after_signal, number);
}

static void catch_signals(void)
{
    static const int caught[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};

    for (unsigned i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
        signal(caught[i], leave_handler);
}

static volatile uint8_t *new_pages(size_t count, int protection)
{
    void *pages = mmap(NULL, count * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT(pages != MAP_FAILED);
    return pages;
}

/* The body aborts with no cause, raises no signal in there, and its stores are undone. */
static volatile int word;

static void expect_silent_abort(void (*body)(void *), void *argument)
{
    volatile int status = STARTED;
    int number = sigsetjmp(after_signal, 1);

    EXPECT_EQUAL(number, 0);
    word = 0;
    signals = 0;
    for (int i = 0; i < attempts() && status == STARTED; i++)
        status = attempt(body, argument);
    EXPECT_EQUAL(status & CAUSES, 0);
    EXPECT_EQUAL(word, 0);
    EXPECT_EQUAL(signals, 0);
    EXPECT(!in_transaction());
}

static void load_byte(void *at)
{
    word = 1;
    (void)*(volatile uint8_t *)at;
}

static void store_byte(void *at)
{
    word = 1;
    *(volatile uint8_t *)at = 5;
}

static void a_load_or_store_where_nothing_is_mapped_aborts_without_a_signal(void)
{
    volatile uint8_t *pages = new_pages(1, PROT_NONE);

    expect_silent_abort(load_byte, NULL);
    expect_silent_abort(store_byte, NULL);
    expect_silent_abort(load_byte, (void *)pages);
    expect_silent_abort(store_byte, (void *)0x8000000000000000); /* not canonical: #GP */
}

static void a_store_to_a_read_only_page_aborts_and_a_load_from_it_commits(void)
{
    volatile uint8_t *page = new_pages(1, PROT_READ | PROT_WRITE);

    page[3] = 1;
    EXPECT_EQUAL(mprotect((void *)page, PAGE, PROT_READ), 0);
    EXPECT(commits(load_byte, (void *)page));
    expect_silent_abort(store_byte, (void *)page);
    EXPECT_EQUAL(page[0], 0);
    EXPECT_EQUAL(mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE), 0);
    page[4] = 1;
    EXPECT(commits(store_byte, (void *)page));
    EXPECT_EQUAL(page[0], 5);
}

static void the_same_fault_outside_is_a_signal(void)
{
    volatile uint8_t *page = new_pages(1, PROT_NONE);
    int number;

    signals = 0;
    number = sigsetjmp(after_signal, 1);
    if (number == 0)
        store_byte((void *)page);
    EXPECT_EQUAL(number, SIGSEGV);
    EXPECT_EQUAL(signals, 1);
}

static void divide(void *unused)
{
    volatile int zero = 0;

    (void)unused;
    word = 1;
    word = 7 / zero;
}

static void undefined_instruction(void *unused)
{
    (void)unused;
    word = 1;
    __asm__ volatile("ud2");
}

static void call_nowhere(void *unused)
{
    (void)unused;
    word = 1;
    ((void (*)(void))0x10)();
}

static void misaligned_vector(void *at)
{
    word = 1;
    __asm__ volatile("movaps %%xmm0, (%0)" : : "r"((uint8_t *)at + 1) : "memory");
}

static void division_by_zero_aborts_without_a_signal(void)
{
    expect_silent_abort(divide, NULL);
}

static void an_undefined_instruction_aborts_without_a_signal(void)
{
    expect_silent_abort(undefined_instruction, NULL);
}

static void a_jump_to_where_no_code_is_aborts_without_a_signal(void)
{
    expect_silent_abort(call_nowhere, NULL);
}

static void a_misaligned_vector_store_aborts_without_a_signal(void)
{
    static uint8_t area[64] __attribute__((aligned(64)));

    expect_silent_abort(misaligned_vector, area);
}

/* A pointer with something in its upper bits: not canonical, though the lower bits are code. */
static void called_by_mistake(void)
{
    word = 2;
}

static void call_above(void *bits)
{
    word = 1;
    ((void (*)(void))((uintptr_t)called_by_mistake | (uintptr_t)bits))();
}

static void a_jump_to_a_non_canonical_address_faults(void)
{
    for (volatile unsigned bit = 47; bit < 64; bit++) {
        int number = sigsetjmp(after_signal, 1);

        if (number == 0)
            call_above((void *)((uintptr_t)1 << bit));
        EXPECT_EQUAL(number, SIGSEGV);
        EXPECT_EQUAL(word, 1);
        expect_silent_abort(call_above, (void *)((uintptr_t)1 << bit));
    }
}

/* ---- what only looks like an access ---- */

#define TOUCHES_NOTHING(name, text)                                                                \
    static void name(void *at)                                                                     \
    {                                                                                              \
        __asm__ volatile(text                                                                      \
                         : "+D"(at)                                                                \
                         :                                                                         \
                         : "rax", "rcx", "rsi", "xmm0", "xmm1", "xmm2", "cc", "memory");           \
    }
TOUCHES_NOTHING(prefetch, "prefetcht0 (%%rdi)\n\tprefetchw (%%rdi)\n\tprefetchnta (%%rdi)")
TOUCHES_NOTHING(long_nop, "nopl (%%rdi)\n\tlea (%%rdi), %%rax")
TOUCHES_NOTHING(no_strings, "xorl %%ecx, %%ecx\n\tmovq %%rdi, %%rsi\n\trep movsb\n\t"
                            "rep stosb\n\trepne scasb")
TOUCHES_NOTHING(masked_load, "vpxor %%ymm1, %%ymm1, %%ymm1\n\t"
                             "vpmaskmovd (%%rdi), %%ymm1, %%ymm0")
TOUCHES_NOTHING(masked_store, "vpxor %%ymm1, %%ymm1, %%ymm1\n\t"
                              "vpmaskmovd %%ymm0, %%ymm1, (%%rdi)")
TOUCHES_NOTHING(masked_gather, "vpxor %%ymm1, %%ymm1, %%ymm1\n\tvpxor %%ymm2, %%ymm2, %%ymm2\n\t"
                               "vpgatherdd %%ymm1, (%%rdi,%%ymm2,4), %%ymm0")

static void a_prefetch_a_string_of_no_length_and_what_is_masked_access_nothing(void)
{
    void *nowhere = (void *)new_pages(1, PROT_NONE);

    EXPECT(commits(prefetch, nowhere));
    EXPECT(commits(long_nop, nowhere));
    EXPECT(commits(no_strings, nowhere));
    if (!__builtin_cpu_supports("avx2"))
        return;
    EXPECT(commits(masked_load, nowhere));
    EXPECT(commits(masked_store, nowhere));
    EXPECT(commits(masked_gather, nowhere));
}

static void breakpoint(void *unused)
{
    (void)unused;
    word = 1;
    __asm__ volatile("int3");
}

static void a_breakpoint_aborts_with_the_debug_bit_and_without_a_signal(void)
{
    int number = sigsetjmp(after_signal, 1);

    EXPECT_EQUAL(number, 0);
    signals = 0;
    word = 0;
    EXPECT_EQUAL(attempt_for(DEBUG, breakpoint, NULL) & CAUSES, DEBUG);
    EXPECT_EQUAL(word, 0);
    EXPECT_EQUAL(signals, 0);
}

static void expect_silent_aborts(void)
{
    expect_silent_abort(divide, NULL);
    expect_silent_abort(undefined_instruction, NULL);
    expect_silent_abort(store_byte, NULL);
    expect_silent_abort(call_nowhere, NULL);
}

/* Outside such a fault would end the program. In a transaction it is not a signal at all. */
static void an_exception_whose_signal_is_blocked_or_ignored_aborts_as_any_other(void)
{
    sigset_t all, before;
    int number;

    sigfillset(&all);
    EXPECT_EQUAL(pthread_sigmask(SIG_BLOCK, &all, &before), 0);
    expect_silent_aborts();
    EXPECT_EQUAL(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);

    number = sigsetjmp(after_signal, 1); /* the handlers are still there */
    if (number == 0)
        divide(NULL);
    EXPECT_EQUAL(number, SIGFPE);

    signal(SIGFPE, SIG_IGN);
    signal(SIGILL, SIG_IGN);
    signal(SIGSEGV, SIG_IGN);
    expect_silent_aborts();
    catch_signals();
}

/* ---- first touch ---- */

static bool is_there(volatile uint8_t *page)
{
    uint64_t entry;
    FILE *pagemap = fopen("/proc/self/pagemap", "r");
    bool there;

    EXPECT(pagemap != NULL);
    EXPECT_EQUAL(fseek(pagemap, (long)((uintptr_t)page / PAGE * sizeof(entry)), SEEK_SET), 0);
    EXPECT_EQUAL(fread(&entry, sizeof(entry), 1, pagemap), 1);
    there = (entry >> 62) != 0; /* present, or swapped out */
    fclose(pagemap);
    return there;
}

static void a_first_touch_aborts_every_time_until_the_page_is_brought_in_outside(void)
{
    volatile uint8_t *pages = new_pages(PAGES, PROT_READ | PROT_WRITE);

    EXPECT_EQUAL(madvise((void *)pages, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE), 0);
    for (int i = 0; i < PAGES; i++) {
        volatile uint8_t *page = pages + (size_t)i * PAGE;

        for (int n = 0; n < 3; n++)
            expect_silent_abort(store_byte, (void *)page);
        EXPECT(!is_there(page));
        page[1] = 1;
        EXPECT(is_there(page));
        EXPECT(commits(store_byte, (void *)page));
        EXPECT_EQUAL(page[0], 5);
    }
}

static long page_faults(void)
{
    struct rusage usage;

    EXPECT_EQUAL(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

/* Not on every kernel: some give a load a page of its own at once. */
static bool a_store_faults_after_a_load(void)
{
    enum { ENOUGH = 100 };
    volatile uint8_t *pages = new_pages(ENOUGH, PROT_READ | PROT_WRITE);

    for (size_t i = 0; i < ENOUGH; i++)
        (void)pages[i * PAGE];
    long before = page_faults();
    for (size_t i = 0; i < ENOUGH; i++)
        pages[i * PAGE] = 1;
    return page_faults() - before >= ENOUGH;
}

static void a_load_brings_a_page_in_for_loads_only(void)
{
    volatile uint8_t *page = new_pages(1, PROT_READ | PROT_WRITE);

    if (!a_store_faults_after_a_load())
        return;
    expect_silent_abort(load_byte, (void *)page);
    (void)page[0]; /* the page of zeroes, shared and not writable */
    EXPECT(commits(load_byte, (void *)page));
    expect_silent_abort(store_byte, (void *)page);
    page[1] = 1;
    EXPECT(commits(store_byte, (void *)page));
}

static void a_page_that_was_given_back_faults_again(void)
{
    volatile uint8_t *page = new_pages(1, PROT_READ | PROT_WRITE);

    page[0] = 1;
    EXPECT(commits(store_byte, (void *)page));
    EXPECT_EQUAL(madvise((void *)page, PAGE, MADV_DONTNEED), 0);
    expect_silent_abort(store_byte, (void *)page);
    EXPECT_EQUAL(page[0], 0);
}

int main(void)
{
    need_transactions();
    catch_signals();
    a_load_or_store_where_nothing_is_mapped_aborts_without_a_signal();
    a_store_to_a_read_only_page_aborts_and_a_load_from_it_commits();
    the_same_fault_outside_is_a_signal();
    division_by_zero_aborts_without_a_signal();
    an_undefined_instruction_aborts_without_a_signal();
    a_jump_to_where_no_code_is_aborts_without_a_signal();
    a_jump_to_a_non_canonical_address_faults();
    a_misaligned_vector_store_aborts_without_a_signal();
    a_prefetch_a_string_of_no_length_and_what_is_masked_access_nothing();
    a_breakpoint_aborts_with_the_debug_bit_and_without_a_signal();
    an_exception_whose_signal_is_blocked_or_ignored_aborts_as_any_other();
    a_first_touch_aborts_every_time_until_the_page_is_brought_in_outside();
    a_load_brings_a_page_in_for_loads_only();
    a_page_that_was_given_back_faults_again();
    return 0;
}
