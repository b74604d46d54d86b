/*
 * SPDX-License-Identifier: MIT
 *
 * Code that the program writes while it runs: inside a transaction, rolled back by one, and with
 * transactions in it.
 */
#include "transaction.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

static uint8_t *code;

/* mov $value, %eax; ret */
static void write_function(uint32_t value)
{
    code[0] = 0xb8;
    memcpy(code + 1, &value, sizeof(value));
    code[5] = 0xc3;
}

static uint32_t call(void)
{
    uint32_t result;

    __asm__ volatile("call *%1" : "=a"(result) : "r"(code) : "memory", "cc");
    return result;
}

static void rewrite_and_abort(void *unused)
{
    (void)unused;
    write_function(222);
    ABORT(1);
}

static void an_abort_puts_the_old_code_back_and_the_old_code_runs(void)
{
    for (int i = 0; i < 50; i++) {
        write_function(111);
        EXPECT_EQUAL(call(), 111);
        EXPECT(attempt(rewrite_and_abort, NULL) != STARTED);
        EXPECT_EQUAL(call(), 111);
    }
}

static void rewrite(void *value)
{
    write_function(*(uint32_t *)value);
}

/* A processor may abort whenever code is written that it has run; the emulator commits. */
static void a_commit_keeps_the_new_code_and_the_new_code_runs(void)
{
    for (uint32_t value = 1; value < 50; value++) {
        if (!commits(rewrite, &value)) {
            EXPECT(!is_emulated());
            return;
        }
        EXPECT_EQUAL(call(), value);
    }
}

static void rewrite_and_call(void *result)
{
    uint32_t before = call();

    write_function(333);
    *(uint32_t *)result = before + call();
}

/* Whether it commits is the processor's choice; if it does, the new code ran, else nothing did. */
static void code_written_inside_runs_inside_or_the_transaction_aborts(void)
{
    for (int i = 0; i < 20; i++) {
        uint32_t result = 0;

        write_function(111);
        EXPECT_EQUAL(call(), 111);
        if (attempt(rewrite_and_call, &result) == STARTED) {
            EXPECT_EQUAL(result, 444);
            EXPECT_EQUAL(call(), 333);
        } else {
            EXPECT_EQUAL(result, 0);
            EXPECT_EQUAL(call(), 111);
        }
    }
}

static void *call_all_the_time(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
        EXPECT_EQUAL(call(), 111);
    return NULL;
}

static void code_that_is_not_committed_never_runs_in_another_thread(void)
{
    int stop = 0;
    pthread_t thread;

    write_function(111);
    thread = start_thread(call_all_the_time, &stop);
    for (int i = 0; i < 500; i++)
        EXPECT(attempt(rewrite_and_abort, NULL) != STARTED);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    end_thread(thread);
}

/* A generated function that is one transaction: status and the word in %rdi, which it increments.
 * It is generated again and again at the same address with another abort code. */
static void transactions_in_generated_code_work_and_follow_its_changes(void)
{
    static const uint8_t function[] = {
        0xb8, 0xff, 0xff, 0xff, 0xff,       /* mov $-1, %eax */
        0xc7, 0xf8, 0x06, 0x00, 0x00, 0x00, /* xbegin over the next two */
        0xff, 0x07,                         /* incl (%rdi) */
        0xc6, 0xf8, 0x00,                   /* xabort code */
        0x90,                               /* nop, or the abort becomes xend and this */
        0xc3,                               /* ret */
    };
    static uint32_t word;

    for (uint32_t n = 0; n < 100; n++) {
        int status;

        memcpy(code, function, sizeof(function));
        if (n % 2 == 0)
            code[15] = (uint8_t)n;
        else
            memcpy(code + 13, "\x0f\x01\xd5", 3); /* xend */
        for (int i = 0; i < attempts(); i++) {
            word = n;
            __asm__ volatile("call *%2" : "=a"(status) : "D"(&word), "r"(code) : "memory", "cc");
            if (n % 2 == 0 ? (status & EXPLICIT) != 0 : status == STARTED)
                break;
        }
        EXPECT_EQUAL(status, n % 2 == 0 ? (int)(n << 24 | EXPLICIT) : STARTED);
        EXPECT_EQUAL(word, n % 2 == 0 ? n : n + 1);
    }
}

int main(void)
{
    need_transactions();
    code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(code != MAP_FAILED);
    an_abort_puts_the_old_code_back_and_the_old_code_runs();
    a_commit_keeps_the_new_code_and_the_new_code_runs();
    code_written_inside_runs_inside_or_the_transaction_aborts();
    code_that_is_not_committed_never_runs_in_another_thread();
    transactions_in_generated_code_work_and_follow_its_changes();
    return 0;
}
