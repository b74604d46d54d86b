/*
 * SPDX-License-Identifier: MIT
 *
 * BT, BTS, BTR and BTC of registers: right in all sizes and with all registers, flags included, and
 * no memory is touched: a transaction commits even if the stack pointer points to nowhere.
 */
#include "transaction.h"

enum { ROUNDS = 300, CARRY = 1, ZERO = 1 << 6 };

enum operation { TEST, SET, RESET, COMPLEMENT };

struct bits {
    uint64_t value, number, flags;
};

/* In two low registers, in two high ones, and one of each; the flags before are CARRY's complement
 * of the bit and ZERO as given. */
#define BODY(text, tested, number)                                                                 \
    "movq 0(%0), %%" tested "\n\tmovq 8(%0), %%" number "\n\tpushq 16(%0)\n\tpopfq\n\t" text       \
    "\n\tpushfq\n\tpopq 16(%0)\n\tmovq %%" tested ", 0(%0)\n\tmovq %%" number ", 8(%0)"
#define FUNCTION(name, text, tested, number)                                                       \
    static void name(struct bits *bits)                                                            \
    {                                                                                              \
        __asm__ volatile(BODY(text, tested, number)                                                \
                         :                                                                         \
                         : "S"(bits)                                                               \
                         : "rax", "rcx", "r9", "r14", "cc", "memory");                             \
    }
#define FUNCTIONS(name)                                                                            \
    FUNCTION(name##_64, #name "q %%rcx, %%rax", "rax", "rcx")                                      \
    FUNCTION(name##_64_high, #name "q %%r9, %%r14", "r14", "r9")                                   \
    FUNCTION(name##_32, #name "l %%ecx, %%eax", "rax", "rcx")                                      \
    FUNCTION(name##_32_mixed, #name "l %%ecx, %%r9d", "r9", "rcx")                                 \
    FUNCTION(name##_16, #name "w %%cx, %%ax", "rax", "rcx")                                        \
    FUNCTION(name##_16_mixed, #name "w %%r14w, %%ax", "rax", "r14")
FUNCTIONS(bt)
FUNCTIONS(bts)
FUNCTIONS(btr)
FUNCTIONS(btc)

#define ROWS(name, operation)                                                                      \
    {name##_64, operation, 64}, {name##_64_high, operation, 64}, {name##_32, operation, 32},       \
        {name##_32_mixed, operation, 32}, {name##_16, operation, 16},                              \
        {name##_16_mixed, operation, 16},
static const struct {
    void (*run)(struct bits *bits);
    enum operation operation;
    unsigned size;
} kinds[] = {ROWS(bt, TEST) ROWS(bts, SET) ROWS(btr, RESET) ROWS(btc, COMPLEMENT)};

static uint64_t expected(enum operation operation, unsigned size, uint64_t value, unsigned bit)
{
    uint64_t mask = (uint64_t)1 << bit;

    if (operation == TEST)
        return value;
    if (operation == SET)
        value |= mask;
    else if (operation == RESET)
        value &= ~mask;
    else
        value ^= mask;
    return size == 32 ? (uint32_t)value : value;
}

static void bit_tests_of_registers_are_right_in_all_sizes(uint64_t seed)
{
    for (unsigned i = 0; i < ROUNDS * sizeof(kinds) / sizeof(kinds[0]); i++) {
        unsigned kind = i % (sizeof(kinds) / sizeof(kinds[0]));
        struct bits before = {next_random(&seed), next_random(&seed), 0x202}, after;
        unsigned bit = (unsigned)before.number % kinds[kind].size;
        uint64_t carry = before.value >> bit & 1;

        before.flags |= (carry ? 0 : CARRY) | (next_random(&seed) & ZERO);
        after = before;
        kinds[kind].run(&after);
        EXPECT_EQUAL(after.value,
                     expected(kinds[kind].operation, kinds[kind].size, before.value, bit));
        EXPECT_EQUAL(after.number, before.number);
        EXPECT_EQUAL(after.flags & CARRY, carry);
        EXPECT_EQUAL(after.flags & ZERO, before.flags & ZERO);
    }
}

static void a_register_may_be_tested_by_itself(void)
{
    for (uint64_t value = 0; value < 256; value++) {
        uint64_t result = value;

        __asm__("btcq %0, %0" : "+r"(result) : : "cc");
        EXPECT_EQUAL(result, value ^ (uint64_t)1 << value % 64);
    }
}

static void test_bits_without_a_stack(void *result)
{
    uint64_t value = 0x10;

    __asm__ volatile("movq %%rsp, %%r8\n\t"
                     "movl $0x1000, %%esp\n\t"
                     "btq %1, %0\n\tbtsq %1, %0\n\tbtrl %k1, %k0\n\tbtcw %w1, %w0\n\t"
                     "movq %%r8, %%rsp"
                     : "+r"(value)
                     : "r"((uint64_t)3)
                     : "r8", "cc");
    *(uint64_t *)result = value;
}

static void bit_tests_of_registers_touch_no_memory(void)
{
    uint64_t result = 0;

    EXPECT(commits(test_bits_without_a_stack, &result));
    EXPECT_EQUAL(result, 0x18);
}

int main(int count, char **arguments)
{
    need_transactions();
    bit_tests_of_registers_are_right_in_all_sizes(seed_from(count, arguments, 1));
    a_register_may_be_tested_by_itself();
    bit_tests_of_registers_touch_no_memory();
    return 0;
}
