/*
 * SPDX-License-Identifier: MIT
 *
 * Stacks that are no ordinary ones, for profile_test.py: with every allocation sampled this must
 * end as without a profile.
 *
 *     registered    tables are registered, as compilers of generated code do: libgcc sorts them at
 *                   the next walk, and calls malloc while it holds its lock
 *     coroutine     on a stack of its own, the return address of whose first function is that of a
 *                   function which is never returned to, at the very end of the mapping
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

extern void __register_frame(void *table);

static void *volatile kept;

static void allocate(void)
{
    for (int i = 0; i < 100; i++) {
        free(kept);
        kept = malloc(1000);
    }
}

/* ---- registered ---- */

static unsigned char *put(unsigned char *at, uint64_t value, size_t bytes)
{
    memcpy(at, &value, bytes);
    return at + bytes;
}

/* One entry of .eh_frame, of 16 bytes of code that are never called, and what such entries share.
 */
static void register_a_function(void)
{
    static unsigned char code[16];
    static const unsigned char shared[20] = {0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1};
    unsigned char *table = calloc(1, 128), *at = put(table, sizeof shared, 4);

    memcpy(at, shared, sizeof shared);
    at = put(at + sizeof shared, 28, 4);
    at = put(at, (uint64_t)(at - table), 4);
    at = put(at, (uintptr_t)code, 8);
    (void)put(at, sizeof code, 8);
    __register_frame(table);
}

static _Unwind_Reason_Code go_on(struct _Unwind_Context *context, void *unused)
{
    (void)context;
    (void)unused;
    return _URC_NO_REASON;
}

static void walk_with_registered_tables(void)
{
    for (int i = 0; i < 10; i++) {
        allocate();
        register_a_function();
        (void)_Unwind_Backtrace(go_on, NULL);
    }
}

/* ---- coroutine ---- */

static void *main_stack, *own_stack;

/* Saves what a function must keep, and the stack pointer in *save; goes on at the other one. */
void switch_to(void **save, void *to);
__asm__(".text\n"
        "switch_to:\n"
        "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");

static __attribute__((noinline)) void never_returned_to(void)
{
    char room[256];

    memset(room, 1, sizeof room);
    kept = room;
    abort();
}

static void body(void)
{
    allocate();
    switch_to(&own_stack, main_stack);
}

static void run_on_a_stack_of_its_own(void)
{
    enum { BYTES = 256 << 10, PAGE = 4096, REGISTERS = 6 };
    char *stack =
        mmap(NULL, BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    mprotect(stack + BYTES, PAGE, PROT_NONE);
    uintptr_t *top = (uintptr_t *)(void *)(stack + BYTES);
    /* Behind its first instruction, where it has its frame. */
    *--top = (uintptr_t)never_returned_to + 32;
    *--top = (uintptr_t)body;
    top -= REGISTERS;
    switch_to(&main_stack, top);
}

int main(int argc, char **argv)
{
    alarm(20);
    if (argc == 2 && strcmp(argv[1], "registered") == 0)
        walk_with_registered_tables();
    else if (argc == 2 && strcmp(argv[1], "coroutine") == 0)
        run_on_a_stack_of_its_own();
    else
        return 2;
    return 0;
}
