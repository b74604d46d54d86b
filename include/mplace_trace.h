/*
 * SPDX-License-Identifier: MIT
 *
 * What a program can say to the trace that "mplace trace" makes of it. For programs to include;
 * nothing has to be linked. Without a trace each of these stores six words on the stack and
 * executes five instructions that change nothing. C and C++, x86-64.
 */
#ifndef MPLACE_TRACE_H
#define MPLACE_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* The numbers of the marks, as in the trace. */
enum mplace_trace_mark {
    MPLACE_TRACE_REGION_BEGIN,
    MPLACE_TRACE_REGION_END,
    MPLACE_TRACE_TX_BEGIN,
    MPLACE_TRACE_TX_COMMIT,
    MPLACE_TRACE_TX_ABORT,
    MPLACE_TRACE_PERSISTENT,
    MPLACE_TRACE_FRAME
};

/*
 * Valgrind's way of a program to speak to it and to a tool: four rotations that together change
 * nothing, and an exchange of a register with itself, with the address of the request in RAX and
 * the answer in RDX. 0 where there is no Valgrind.
 */
static inline uint64_t mplace_trace_request(const uint64_t request[6])
{
    uint64_t answer = 0;

    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(request)
                     : "cc", "memory");
    return answer;
}

static inline void mplace_trace_tell(enum mplace_trace_mark mark, uint64_t address, uint64_t value)
{
    uint64_t request[6] = {
        (uint64_t)'M' << 24 | (uint64_t)'T' << 16 | (uint64_t)mark, address, value, 0, 0, 0};

    (void)mplace_trace_request(request);
}

/* The region of interest. What lies outside of it is replayed only to warm caches up. */
static inline void mplace_trace_begin(void)
{
    mplace_trace_tell(MPLACE_TRACE_REGION_BEGIN, 0, 0);
}
static inline void mplace_trace_end(void)
{
    mplace_trace_tell(MPLACE_TRACE_REGION_END, 0, 0);
}

/* A transaction of this thread. */
static inline void mplace_trace_tx_begin(void)
{
    mplace_trace_tell(MPLACE_TRACE_TX_BEGIN, 0, 0);
}
static inline void mplace_trace_tx_commit(void)
{
    mplace_trace_tell(MPLACE_TRACE_TX_COMMIT, 0, 0);
}
static inline void mplace_trace_tx_abort(void)
{
    mplace_trace_tell(MPLACE_TRACE_TX_ABORT, 0, 0);
}

/* So many bytes from `address` on are persistent memory. 0: for mplace powercut, the file that was
   mapped there is unmapped. */
static inline void mplace_trace_persistent(const void *address, size_t bytes)
{
    mplace_trace_tell(MPLACE_TRACE_PERSISTENT, (uint64_t)(uintptr_t)address, bytes);
}

/* The page that `address` is in lies in the physical page frame of this number. */
static inline void mplace_trace_frame(const void *address, uint64_t frame)
{
    mplace_trace_tell(MPLACE_TRACE_FRAME, (uint64_t)(uintptr_t)address, frame);
}

#endif
