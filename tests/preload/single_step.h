/*
 * SPDX-License-Identifier: MIT
 *
 * Runs a function at every instruction of the calling thread, by the processor's trap flag: what
 * another thread, process or signal handler may do at any moment is done at each moment, in turn.
 * No race has to be hit. The function runs in a SIGTRAP handler, and once it returns false the
 * steps are over until the next single_step_on.
 */
#ifndef MPLACE_SINGLE_STEP_H
#define MPLACE_SINGLE_STEP_H

#ifndef _GNU_SOURCE
#error "define _GNU_SOURCE first: the flags in a signal's context have a name only then"
#endif

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>
#include <x86intrin.h>

enum { TRAP_FLAG = 0x100 };

static bool (*single_step_function)(void);

/* The kernel clears the flag for a handler and sets it again on return. */
static void single_step_trap(int signal, siginfo_t *information, void *context)
{
    (void)signal;
    (void)information;
    if (!single_step_function())
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static inline void single_step_with(bool (*function)(void))
{
    struct sigaction action = {.sa_sigaction = single_step_trap, .sa_flags = SA_SIGINFO};

    single_step_function = function;
    (void)sigaction(SIGTRAP, &action, NULL);
}

/* The compiler may not move the caller's stores across either of these. */
static inline __attribute__((always_inline)) void single_step_on(void)
{
    __asm__ volatile("" ::: "memory");
    __writeeflags(__readeflags() | TRAP_FLAG);
}

static inline __attribute__((always_inline)) void single_step_off(void)
{
    __writeeflags(__readeflags() & ~(unsigned long long)TRAP_FLAG);
    __asm__ volatile("" ::: "memory");
}

#endif
