/*
 * SPDX-License-Identifier: MIT
 *
 * dlopen and dlmopen, without RTLD_DEEPBIND, for the preload libraries that compile this file. A
 * library that is opened with it, as PHP opens its extensions, finds the C library's functions
 * before ours. It frees by libc's free what strdup, or the program, has from our malloc: the
 * process ends there. And libc's trylock gives it a mutex that the calling thread holds elided.
 * And libitm's transactions know nothing of libtm_runtime's. What is lost is what the flag was
 * given for: names that the library shares with the program are the program's.
 *
 * The dynamic linker takes run paths and the namespace from the object that it returns to: so these
 * jump there, and leave no frame of ours. Several of our libraries in a row each take the flag out
 * and jump to the next.
 */
#include "base/real_symbol.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

static_assert(RTLD_DEEPBIND == 8 && LM_ID_BASE == 0, "the assembler relies on it");

/* The C library's, or the next interposer's; NULL until it was looked up. Every thread stores the
   same: relaxed. */
_Atomic(void *) deepbind_next_dlopen, deepbind_next_dlmopen;

void *deepbind_find_dlopen(void);
void *deepbind_find_dlmopen(void);
__attribute__((visibility("default"), naked)) void *dlopen(const char *file, int mode);
__attribute__((visibility("default"), naked)) void *dlmopen(Lmid_t namespace_id, const char *file,
                                                            int mode);

static void *find(_Atomic(void *) *next, const char *name)
{
    void *found = real_symbol(name, NULL);

    atomic_store_explicit(next, found, memory_order_relaxed);
    return found;
}

/* NULL only where a program calls what nobody defines. */
__attribute__((used)) void *deepbind_find_dlopen(void)
{
    return find(&deepbind_next_dlopen, "dlopen");
}

__attribute__((used)) void *deepbind_find_dlmopen(void)
{
    return find(&deepbind_next_dlmopen, "dlmopen");
}

/* Goes on in the next definition, with the arguments as they are; returns NULL if there is none. */
#define GO_ON_IN(name)                                                                             \
    "movq deepbind_next_" name "(%rip), %rax\n\t"                                                  \
    "testq %rax, %rax\n\t"                                                                         \
    "jnz 2f\n\t"                                                                                   \
    "pushq %rdi\n\t"                                                                               \
    "pushq %rsi\n\t"                                                                               \
    "pushq %rdx\n\t"                                                                               \
    ".cfi_adjust_cfa_offset 24\n\t"                                                                \
    "call deepbind_find_" name "\n\t"                                                              \
    "popq %rdx\n\t"                                                                                \
    "popq %rsi\n\t"                                                                                \
    "popq %rdi\n\t"                                                                                \
    ".cfi_adjust_cfa_offset -24\n\t"                                                               \
    "testq %rax, %rax\n\t"                                                                         \
    "jnz 2f\n\t"                                                                                   \
    "ret\n\t"                                                                                      \
    "2:\n\t"                                                                                       \
    "jmp *%rax"

void *dlopen(__attribute__((unused)) const char *file, __attribute__((unused)) int mode)
{
    __asm__("endbr64\n\t"
            "andl $~8, %esi\n\t" GO_ON_IN("dlopen"));
}

/* A new namespace has a C library of its own, and nothing of ours: there the flag stays. */
void *dlmopen(__attribute__((unused)) Lmid_t namespace_id, __attribute__((unused)) const char *file,
              __attribute__((unused)) int mode)
{
    __asm__("endbr64\n\t"
            "testq %rdi, %rdi\n\t"
            "jnz 1f\n\t"
            "andl $~8, %edx\n\t"
            "1:\n\t" GO_ON_IN("dlmopen"));
}
