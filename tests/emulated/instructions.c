/*
 * SPDX-License-Identifier: MIT
 *
 * The four instructions in all their encodings: what they do inside and outside of a transaction,
 * and which prefixes they take. Encodings are spelled out in bytes: an assembler would choose one.
 */
#include "transaction.h"

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf after_signal;

static void leave_handler(int number)
{
    siglongjmp(after_signal, number);
}

/* The signal that the code dies of, or 0. */
static int signal_of(void (*code)(void))
{
    static const int signals[] = {SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGFPE};
    int number;

    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], leave_handler);
    number = sigsetjmp(after_signal, 1);
    if (number == 0)
        code();
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    return number;
}

/* ---- XBEGIN ---- */

/* Each begins by the encoding in its name, aborts with code 9 and returns the status; 0x1234 in
 * EAX at the begin shows that starting leaves EAX alone. */
#define BEGIN_THEN_ABORT(bytes, width)                                                             \
    int status = 0x1234, seen = 0;                                                                 \
    for (int i = 0; i < attempts() && (status & CAUSES) != EXPLICIT; i++) {                        \
        status = 0x1234;                                                                           \
        __asm__ volatile(bytes "\n\t" width " 2f - 1f\n"                                           \
                               "1:\n\t"                                                            \
                               "cmp $0x1234, %%eax\n\t"                                            \
                               "jne 3f\n\t"                                                        \
                               ".byte 0xc6, 0xf8, 0x09\n" /* XABORT 9 */                           \
                               "3:\n\t"                                                            \
                               "mov $1, %1\n"                                                      \
                               "2:\n"                                                              \
                         : "+a"(status), "+r"(seen)                                                \
                         :                                                                         \
                         : "cc", "memory");                                                        \
    }                                                                                              \
    EXPECT_EQUAL(seen, 0);                                                                         \
    EXPECT_EQUAL(status, 9 << 24 | EXPLICIT)

static void xbegin_takes_a_32_bit_displacement(void)
{
    BEGIN_THEN_ABORT(".byte 0xc7, 0xf8", ".long");
}

static void xbegin_with_an_operand_size_prefix_takes_a_16_bit_displacement(void)
{
    BEGIN_THEN_ABORT(".byte 0x66, 0xc7, 0xf8", ".word");
}

static void xbegin_with_rex_w_takes_a_32_bit_displacement(void)
{
    BEGIN_THEN_ABORT(".byte 0x48, 0xc7, 0xf8", ".long");
}

static void rex_w_overrides_the_operand_size_prefix(void)
{
    BEGIN_THEN_ABORT(".byte 0x66, 0x48, 0xc7, 0xf8", ".long");
}

static void xbegin_ignores_a_segment_prefix(void)
{
    BEGIN_THEN_ABORT(".byte 0x2e, 0xc7, 0xf8", ".long");
}

static void a_rex_prefix_before_another_prefix_is_ignored(void)
{
    BEGIN_THEN_ABORT(".byte 0x48, 0x66, 0xc7, 0xf8", ".word");
}

static void the_last_of_several_rex_prefixes_counts(void)
{
    BEGIN_THEN_ABORT(".byte 0x66, 0x48, 0x40, 0xc7, 0xf8", ".word");
}

static void xbegin_ignores_f2_and_f3_and_an_address_size_prefix(void)
{
    {
        BEGIN_THEN_ABORT(".byte 0xf2, 0xc7, 0xf8", ".long");
    }
    {
        BEGIN_THEN_ABORT(".byte 0xf3, 0xc7, 0xf8", ".long");
    }
    {
        BEGIN_THEN_ABORT(".byte 0x67, 0xc7, 0xf8", ".long");
    }
}

static void xbegin_may_be_15_bytes_long(void)
{
    BEGIN_THEN_ABORT(".fill 9, 1, 0x2e\n\t.byte 0xc7, 0xf8", ".long");
}

static void the_fallback_address_may_lie_before_xbegin(void)
{
    int status = STARTED, ended = 0;

    for (int i = 0; i < attempts() && (status & CAUSES) != EXPLICIT; i++) {
        status = STARTED;
        __asm__ volatile("jmp 2f\n"
                         "1:\n\t"
                         "mov $1, %1\n\t"
                         "jmp 3f\n"
                         "2:\n\t"
                         "xbegin 1b\n\t"
                         "xabort $7\n\t"
                         "xend\n"
                         "3:\n"
                         : "+a"(status), "+r"(ended)
                         :
                         : "memory");
    }
    EXPECT_EQUAL(ended, 1);
    EXPECT_EQUAL(status, 7 << 24 | EXPLICIT);
}

static void a_store_right_behind_xbegin_is_undone(void)
{
    static int word;
    int status = STARTED;

    for (int i = 0; i < attempts() && (status & CAUSES) != EXPLICIT; i++) {
        status = STARTED;
        __asm__ volatile("xbegin 1f\n\t"
                         "incl %1\n\t"
                         "xabort $5\n"
                         "1:"
                         : "+a"(status), "+m"(word)
                         :
                         : "cc", "memory");
    }
    EXPECT_EQUAL(status, 5 << 24 | EXPLICIT);
    EXPECT_EQUAL(word, 0);
}

/* ---- XABORT ---- */

#define ABORT_EACH(n)                                                                              \
    static void abort_##n(void *unused)                                                            \
    {                                                                                              \
        (void)unused;                                                                              \
        ABORT(n);                                                                                  \
    }
ABORT_EACH(0)
ABORT_EACH(1)
ABORT_EACH(127)
ABORT_EACH(128)
ABORT_EACH(255)

static void xabort_gives_its_code_in_the_top_byte_and_the_explicit_bit(void)
{
    EXPECT_EQUAL(attempt_for(EXPLICIT, abort_0, NULL) & ~RETRY, EXPLICIT);
    EXPECT_EQUAL(attempt_for(EXPLICIT, abort_1, NULL) & ~RETRY, 1 << 24 | EXPLICIT);
    EXPECT_EQUAL(attempt_for(EXPLICIT, abort_127, NULL) & ~RETRY, 127 << 24 | EXPLICIT);
    EXPECT_EQUAL(attempt_for(EXPLICIT, abort_128, NULL) & ~RETRY, (int)(128u << 24 | EXPLICIT));
    EXPECT_EQUAL(attempt_for(EXPLICIT, abort_255, NULL) & ~RETRY, (int)(255u << 24 | EXPLICIT));
}

static void abort_by_66(void *unused)
{
    (void)unused;
    __asm__ volatile(".byte 0x66, 0xc6, 0xf8, 0x21" : : : "memory");
}

static void abort_by_rex(void *unused)
{
    (void)unused;
    __asm__ volatile(".byte 0x48, 0xc6, 0xf8, 0x22" : : : "memory");
}

static void xabort_ignores_operand_size_and_rex(void)
{
    EXPECT_EQUAL(attempt_for(EXPLICIT, abort_by_66, NULL), 0x21 << 24 | EXPLICIT);
    EXPECT_EQUAL(attempt_for(EXPLICIT, abort_by_rex, NULL), 0x22 << 24 | EXPLICIT);
}

static void xabort_outside_of_a_transaction_does_nothing(void)
{
    uint64_t before, after;

    __asm__ volatile("mov $0x1122334455667788, %%rax\n\t"
                     "cmp %%rax, %%rax\n\t"
                     "mov %%rax, %0\n\t"
                     "xabort $0xff\n\t"
                     "jne 1f\n\t"
                     "mov %%rax, %1\n"
                     "1:\n"
                     : "=&r"(before), "=&r"(after)
                     :
                     : "rax", "cc");
    EXPECT_EQUAL(after, before);
}

/* ---- XTEST ---- */

/* OF, SF, ZF, AF, PF and CF become 1, without POPF, which no transaction survives. */
#define SET_STATUS_FLAGS "movb $0x7f, %%al\n\tincb %%al\n\tmovb $0xd5, %%ah\n\tsahf\n\t"

/* The status flags (OF, SF, ZF, AF, PF, CF) after XTEST, all of them having been set before. */
static inline __attribute__((always_inline)) uint64_t flags_of_xtest(void)
{
    uint64_t flags;

    __asm__ volatile(SET_STATUS_FLAGS "xtest\n\t"
                                      "pushfq\n\t"
                                      "pop %0"
                     : "=r"(flags)
                     :
                     : "rax", "cc", "memory");
    return flags & 0x8d5;
}

static void note_flags(void *flags)
{
    *(uint64_t *)flags = flags_of_xtest();
}

static void xtest_says_by_zf_whether_a_transaction_runs_and_clears_the_other_flags(void)
{
    uint64_t flags = ~0ul;

    EXPECT_EQUAL(flags_of_xtest(), 0x40);
    EXPECT(commits(note_flags, &flags));
    EXPECT_EQUAL(flags, 0);
    EXPECT_EQUAL(flags_of_xtest(), 0x40);
}

static void xtest_leaves_all_registers_alone(void)
{
    uint64_t sum;

    __asm__ volatile("mov $1, %%eax\n\tmov $2, %%ebx\n\tmov $4, %%ecx\n\tmov $8, %%edx\n\t"
                     "xtest\n\t"
                     "lea (%%rax,%%rbx), %0\n\tadd %%rcx, %0\n\tadd %%rdx, %0"
                     : "=&r"(sum)
                     :
                     : "rax", "rbx", "rcx", "rdx", "cc");
    EXPECT_EQUAL(sum, 15);
}

/* ---- XEND ---- */

static void xend_outside(void)
{
    __asm__ volatile("xend" : : : "memory");
}

static void xend_outside_of_a_transaction_is_a_general_protection_fault(void)
{
    EXPECT_EQUAL(signal_of(xend_outside), SIGSEGV);
    EXPECT(!in_transaction());
}

static void one_xend_too_many(void)
{
    for (int i = 0; i < 10000; i++) {
        if (begin() == STARTED) {
            end();
            end();
        }
    }
}

static void a_second_xend_after_the_commit_faults_too(void)
{
    EXPECT_EQUAL(signal_of(one_xend_too_many), SIGSEGV);
}

static void xend_leaves_the_flags_alone(void)
{
    uint64_t flags = 0;

    for (int i = 0; i < attempts() && flags == 0; i++) {
        if (begin() == STARTED) {
            __asm__ volatile(SET_STATUS_FLAGS "xend\n\t"
                                              "pushfq\n\t"
                                              "pop %0"
                             : "=r"(flags)
                             :
                             : "rax", "cc", "memory");
        }
    }
    EXPECT_EQUAL(flags & 0x8d5, 0x8d5);
}

/* ---- prefixes that make no instruction ---- */

#define CODE(name, bytes)                                                                          \
    static void name(void)                                                                         \
    {                                                                                              \
        __asm__ volatile(".byte " bytes : : : "memory");                                           \
    }
CODE(lock_xbegin, "0xf0, 0xc7, 0xf8, 0, 0, 0, 0")
CODE(lock_xabort, "0xf0, 0xc6, 0xf8, 0")
CODE(lock_xend, "0xf0, 0x0f, 0x01, 0xd5")
CODE(lock_xtest, "0xf0, 0x0f, 0x01, 0xd6")
CODE(data16_xend, "0x66, 0x0f, 0x01, 0xd5")
CODE(data16_xtest, "0x66, 0x0f, 0x01, 0xd6")
CODE(rep_xend, "0xf3, 0x0f, 0x01, 0xd5")
CODE(rep_xtest, "0xf3, 0x0f, 0x01, 0xd6")
CODE(repne_xend, "0xf2, 0x0f, 0x01, 0xd5")
CODE(repne_xtest, "0xf2, 0x0f, 0x01, 0xd6")

static void a_lock_prefix_makes_each_of_the_four_undefined(void)
{
    EXPECT_EQUAL(signal_of(lock_xbegin), SIGILL);
    EXPECT_EQUAL(signal_of(lock_xabort), SIGILL);
    EXPECT_EQUAL(signal_of(lock_xend), SIGILL);
    EXPECT_EQUAL(signal_of(lock_xtest), SIGILL);
}

static void xend_and_xtest_take_neither_66_nor_f2_nor_f3(void)
{
    EXPECT_EQUAL(signal_of(data16_xend), SIGILL);
    EXPECT_EQUAL(signal_of(data16_xtest), SIGILL);
    EXPECT_EQUAL(signal_of(rep_xend), SIGILL);
    EXPECT_EQUAL(signal_of(rep_xtest), SIGILL);
    EXPECT_EQUAL(signal_of(repne_xend), SIGILL);
    EXPECT_EQUAL(signal_of(repne_xtest), SIGILL);
}

CODE(xbegin_of_16_bytes, "0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, "
                         "0xc7, 0xf8, 0, 0, 0, 0")
CODE(xabort_of_16_bytes, "0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, "
                         "0x2e, 0xc6, 0xf8, 0")

static void sixteen_bytes_are_a_general_protection_fault(void)
{
    EXPECT_EQUAL(signal_of(xbegin_of_16_bytes), SIGSEGV);
    EXPECT_EQUAL(signal_of(xabort_of_16_bytes), SIGSEGV);
}

static void rex_and_segment_prefixes(void *flag)
{
    bool active;

    __asm__ volatile(".byte 0x48, 0x0f, 0x01, 0xd6\n\t" /* REX.W XTEST */
                     "setnz %0"
                     : "=q"(active)
                     :
                     : "cc", "memory");
    *(bool *)flag = active;
    __asm__ volatile(".byte 0x2e, 0x0f, 0x01, 0xd6\n\t" /* CS XTEST */
                     "setnz %0"
                     : "=q"(active)
                     :
                     : "cc", "memory");
    *(bool *)flag &= active;
}

static void xtest_ignores_rex_and_segment_prefixes(void)
{
    bool active = false;

    EXPECT(commits(rex_and_segment_prefixes, &active));
    EXPECT(active);
}

int main(void)
{
    need_transactions();
    xbegin_takes_a_32_bit_displacement();
    xbegin_with_an_operand_size_prefix_takes_a_16_bit_displacement();
    xbegin_with_rex_w_takes_a_32_bit_displacement();
    rex_w_overrides_the_operand_size_prefix();
    xbegin_ignores_a_segment_prefix();
    a_rex_prefix_before_another_prefix_is_ignored();
    the_last_of_several_rex_prefixes_counts();
    xbegin_ignores_f2_and_f3_and_an_address_size_prefix();
    xbegin_may_be_15_bytes_long();
    the_fallback_address_may_lie_before_xbegin();
    a_store_right_behind_xbegin_is_undone();
    xabort_gives_its_code_in_the_top_byte_and_the_explicit_bit();
    xabort_ignores_operand_size_and_rex();
    xabort_outside_of_a_transaction_does_nothing();
    xtest_says_by_zf_whether_a_transaction_runs_and_clears_the_other_flags();
    xtest_leaves_all_registers_alone();
    xtest_ignores_rex_and_segment_prefixes();
    xend_outside_of_a_transaction_is_a_general_protection_fault();
    a_second_xend_after_the_commit_faults_too();
    xend_leaves_the_flags_alone();
    a_lock_prefix_makes_each_of_the_four_undefined();
    xend_and_xtest_take_neither_66_nor_f2_nor_f3();
    sixteen_bytes_are_a_general_protection_fault();
    return 0;
}
