/*
 * SPDX-License-Identifier: MIT
 *
 * What a transaction's begin remembers of the processor, so that the call of
 * _ITM_beginTransaction can return again. registers.S knows the offsets.
 */
#ifndef TM_RUNTIME_REGISTERS_H
#define TM_RUNTIME_REGISTERS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

struct tm_registers {
    uint64_t rsp; /* of the caller, behind the return: frames below are the transaction's own */
    uint64_t rip; /* the return address; also the name of the source transaction */
    uint64_t rbx, rbp, r12, r13, r14, r15;
    uint32_t mxcsr;
    uint16_t x87_control, unused;
};

static_assert(offsetof(struct tm_registers, rbx) == 16, "registers.S");
static_assert(offsetof(struct tm_registers, r15) == 56, "registers.S");
static_assert(offsetof(struct tm_registers, mxcsr) == 64, "registers.S");
static_assert(offsetof(struct tm_registers, x87_control) == 68, "registers.S");

/* Returns actions from the begin that filled in the registers. */
__attribute__((noreturn)) void tm_registers_restore(uint32_t actions,
                                                    const struct tm_registers *registers);

#endif
