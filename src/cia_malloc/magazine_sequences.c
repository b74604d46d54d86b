/*
 * SPDX-License-Identifier: MIT
 *
 * Sequences off the fast paths. Those that move blocks take at most 200 instructions; an
 * interrupted one begins again, so they are no longer than that.
 */
#include "cia_malloc/magazine_sequences.h"

/* MAGAZINE_FIND with the table in a register: which one is for the caller to say. done is 0. */
#define BEGIN                                                                                      \
    RSEQ_BEGIN("%[scratch]")                                                                       \
    "xorl %k[done], %k[done]\n\t"                                                                  \
    "movl %%fs:4(%[area]), %k[scratch]\n\t"                                                        \
    "cmpl %[cpus], %k[scratch]\n\t"                                                                \
    "jae 6f\n\t"                                                                                   \
    "movq (%[table], %[scratch], 8), %[found]\n\t"                                                 \
    "leaq (%[found], %[offset], 8), %[found]\n\t"
#define INPUTS  MAGAZINE_INPUTS, [table] "r"(table_of(side))
#define RESULTS [done] "=&r"(done), [scratch] "=&r"(scratch), [found] "=&r"(found), [top] "=&r"(top)

/* top: the word; scratch: where the active level begins. */
#define READ_TOP_AND_FLOOR                                                                         \
    "movq (%[found]), %[top]\n\t"                                                                  \
    "movzwl 16(%[found]), %k[scratch]\n\t"

/* from, to: registers with addresses. Copies as many pointers as count says, not 0, from the last.
   Not one more: magazine_lately.h relies on it that only blocks that wait are written to places.
   count is lost. */
#define COPY(from, to, count)                                                                      \
    "5:\n\t"                                                                                       \
    "decq " count "\n\t"                                                                           \
    "movq (" from ", " count ", 8), %%xmm0\n\t"                                                    \
    "movq %%xmm0, (" to ", " count ", 8)\n\t"                                                      \
    "jnz 5b\n\t" /* the moves leave the flags alone */

static void *table_of(enum magazine_side side)
{
    return side == MAGAZINE_TAKE ? magazine_to_take : magazine_to_put;
}

bool magazine_set_aside(ptrdiff_t area, uint32_t offset)
{
    enum magazine_side side = MAGAZINE_PUT;
    uint64_t done, scratch, top, count;
    char *found, *from, *to;

    __asm__ volatile(BEGIN /* */
                     "cmpq $0, 8(%[found])\n\t"
                     "jne 6f\n\t" READ_TOP_AND_FLOOR /* */
                     "movzwl %w[top], %k[count]\n\t"
                     "subl %k[scratch], %k[count]\n\t"
                     "jz 6f\n\t"
                     "cmpl %[most], %k[count]\n\t"
                     "ja 6f\n\t"
                     "subq %[count], %[top]\n\t"
                     "movq %[top], %%xmm1\n\t"
                     "movq %[count], %%xmm2\n\t"
                     "punpcklqdq %%xmm2, %%xmm1\n\t"
                     "movq 40(%[found]), %[to]\n\t"
                     "leaq 1024(%[to], %[scratch], 8), %[from]\n\t"
                     "addq $512, %[to]\n\t" COPY("%[from]", "%[to]", "%[count]") /* */
                     "movq 24(%[found]), %[scratch]\n\t"
                     "movq %[scratch], 32(%[found])\n\t"
                     "movq $0, 24(%[found])\n\t"
                     "incl %k[done]\n\t"
                     "movaps %%xmm1, (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [count] "=&r"(count), [from] "=&r"(from), [to] "=&r"(to)
                     : INPUTS, [most] "i"(MAGAZINE_PLACES)
                     : "memory", "cc", "xmm0", "xmm1", "xmm2");
    return done != 0;
}

bool magazine_join(ptrdiff_t area, uint32_t offset)
{
    enum magazine_side side = MAGAZINE_PUT;
    uint64_t done, scratch, top;
    char *found, *from, *to;

    __asm__ volatile(BEGIN /* */
                     "movq (%[found]), %[top]\n\t"
                     "movq 8(%[found]), %[scratch]\n\t"
                     "testq %[scratch], %[scratch]\n\t"
                     "jz 6f\n\t"
                     "movzwl %w[top], %k[to]\n\t"
                     "movzwl 16(%[found]), %k[from]\n\t" /* floor */
                     "subl %k[to], %k[from]\n\t"
                     "subl %k[scratch], %k[from]\n\t"
                     "cmpl %[least], %k[from]\n\t" /* less than MAGAZINE_LEVEL_MOST, negated */
                     "jl 6f\n\t"
                     "leal %c[most](%k[to], %k[scratch]), %k[from]\n\t"
                     "cmpw 18(%[found]), %w[from]\n\t" /* ceiling */
                     "ja 6f\n\t"
                     "addq %[scratch], %[top]\n\t"
                     "movq 40(%[found]), %[from]\n\t" /* store */
                     "leaq 1024(%[from], %[to], 8), %[to]\n\t"
                     "addq $512, %[from]\n\t" COPY("%[from]", "%[to]", "%[scratch]") /* */
                     "movq 32(%[found]), %[scratch]\n\t"
                     "orq %[scratch], 24(%[found])\n\t"
                     "movq $0, 32(%[found])\n\t"
                     "movq %[top], %%xmm0\n\t" /* and 0 */
                     "incl %k[done]\n\t"
                     "movaps %%xmm0, (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [from] "=&r"(from), [to] "=&r"(to)
                     : INPUTS, [most] "i"(MAGAZINE_PLACES), [least] "i"(-MAGAZINE_LEVEL_MOST)
                     : "memory", "cc", "xmm0");
    return done != 0;
}

bool magazine_take_second(ptrdiff_t area, uint32_t offset, enum magazine_side side)
{
    uint64_t done, scratch, top;
    char *found, *from, *to;

    __asm__ volatile(BEGIN READ_TOP_AND_FLOOR /* */
                     "cmpw %w[scratch], %w[top]\n\t"
                     "jne 6f\n\t"
                     "movq 40(%[found]), %[from]\n\t"
                     "leaq 1024(%[from], %[scratch], 8), %[to]\n\t"
                     "addq $512, %[from]\n\t"
                     "movq 8(%[found]), %[scratch]\n\t"
                     "testq %[scratch], %[scratch]\n\t"
                     "jz 6f\n\t"
                     "addq %[scratch], %[top]\n\t" COPY("%[from]", "%[to]", "%[scratch]") /* */
                     "movq 32(%[found]), %[scratch]\n\t"
                     "movq %[scratch], 24(%[found])\n\t"
                     "movq $0, 32(%[found])\n\t"
                     "movq %[top], %%xmm0\n\t" /* and 0 */
                     "incl %k[done]\n\t"
                     "movaps %%xmm0, (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [from] "=&r"(from), [to] "=&r"(to)
                     : INPUTS
                     : "memory", "cc", "xmm0");
    return done != 0;
}

bool magazine_open_box(ptrdiff_t area, uint32_t offset, enum magazine_side side)
{
    uint64_t done, scratch, top, bounds;
    char *found, *box;

    __asm__ volatile(BEGIN READ_TOP_AND_FLOOR /* */
                     "cmpw %w[scratch], %w[top]\n\t"
                     "jne 6f\n\t"
                     "movzwl 20(%[found]), %k[box]\n\t" /* boxes */
                     "decl %k[box]\n\t"
                     "js 6f\n\t"
                     "movq 16(%[found]), %[bounds]\n\t"
                     "shlq $4, %[box]\n\t"
                     "addq 40(%[found]), %[box]\n\t"
                     "movq (%[box]), %[top]\n\t" /* colours */
                     "movq %[top], 24(%[found])\n\t"
                     "movabsq $0x100000000, %[top]\n\t" /* a box less */
                     "subq %[top], %[bounds]\n\t"
                     "movw 8(%[box]), %w[bounds]\n\t" /* floor */
                     "incl %k[done]\n\t"
                     "movq %[bounds], 16(%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [bounds] "=&r"(bounds), [box] "=&r"(box)
                     : INPUTS
                     : "memory", "cc");
    return done != 0;
}

bool magazine_close_box(ptrdiff_t area, uint32_t offset, uint32_t least)
{
    enum magazine_side side = MAGAZINE_PUT;
    uint64_t done, scratch, top, bounds;
    char *found, *box;

    __asm__ volatile(
        BEGIN READ_TOP_AND_FLOOR /* */
        "movzwl %w[top], %k[bounds]\n\t"
        "subl %k[scratch], %k[bounds]\n\t"
        "cmpl %k[least], %k[bounds]\n\t"
        "jb 6f\n\t"
        "movw %w[top], %w[bounds]\n\t"
        "addw %[places], %w[bounds]\n\t"
        "cmpw 18(%[found]), %w[bounds]\n\t" /* ceiling */
        "ja 6f\n\t"
        "movzwl 20(%[found]), %k[box]\n\t" /* boxes */
        "cmpl %[boxes], %k[box]\n\t"
        "jae 6f\n\t"
        "shlq $4, %[box]\n\t"
        "addq 40(%[found]), %[box]\n\t"
        "movq %[scratch], 8(%[box])\n\t" /* floor */
        "movq 24(%[found]), %[scratch]\n\t"
        "movq %[scratch], (%[box])\n\t" /* colours */
        "movq $0, 24(%[found])\n\t"
        "movq 16(%[found]), %[bounds]\n\t"
        "movabsq $0x100000000, %[scratch]\n\t" /* a box more */
        "addq %[scratch], %[bounds]\n\t"
        "movw %w[top], %w[bounds]\n\t"
        "incl %k[done]\n\t"
        "movq %[bounds], 16(%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
        : RESULTS, [bounds] "=&r"(bounds), [box] "=&r"(box)
        : INPUTS, [least] "r"(least), [boxes] "i"(MAGAZINE_BOXES), [places] "i"(MAGAZINE_PLACES)
        : "memory", "cc");
    return done != 0;
}

static uint32_t unload_active(ptrdiff_t area, uint32_t offset, enum magazine_side side,
                              char *places[MAGAZINE_LEVEL_MOST])
{
    uint64_t done, scratch, top;
    char *found, *from;

    __asm__ volatile(BEGIN READ_TOP_AND_FLOOR /* */
                     "movzwl %w[top], %k[done]\n\t"
                     "subl %k[scratch], %k[done]\n\t"
                     "jz 6f\n\t"
                     "movl %[most], %k[scratch]\n\t"
                     "cmpl %k[scratch], %k[done]\n\t"
                     "cmoval %k[scratch], %k[done]\n\t"
                     "subq %[done], %[top]\n\t"
                     "movzwl %w[top], %k[scratch]\n\t"
                     "movq 40(%[found]), %[from]\n\t"
                     "leaq 1024(%[from], %[scratch], 8), %[from]\n\t"
                     "movq %[done], %[scratch]\n\t" COPY("%[from]", "%[places]", "%[scratch]") /* */
                     "movq $0, 24(%[found])\n\t"
                     "movq %[top], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [from] "=&r"(from)
                     : INPUTS, [places] "r"(places), [most] "i"(MAGAZINE_LEVEL_MOST)
                     : "memory", "cc", "xmm0");
    return (uint32_t)done;
}

static uint32_t unload_second(ptrdiff_t area, uint32_t offset, enum magazine_side side,
                              char *places[MAGAZINE_LEVEL_MOST])
{
    uint64_t done, scratch, top;
    char *found;

    __asm__ volatile(BEGIN /* */
                     "movq 8(%[found]), %[done]\n\t"
                     "testq %[done], %[done]\n\t"
                     "jz 6f\n\t"
                     "movq 40(%[found]), %[top]\n\t" /* store */
                     "addq $512, %[top]\n\t"
                     "movq %[done], %[scratch]\n\t" COPY("%[top]", "%[places]", "%[scratch]") /* */
                     "movq $0, 32(%[found])\n\t"
                     "movq $0, 8(%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS
                     : INPUTS, [places] "r"(places)
                     : "memory", "cc", "xmm0");
    return (uint32_t)done;
}

uint32_t magazine_unload(ptrdiff_t area, uint32_t offset, enum magazine_side side, unsigned level,
                         char *places[MAGAZINE_LEVEL_MOST])
{
    return level == 0 ? unload_active(area, offset, side, places)
                      : unload_second(area, offset, side, places);
}

void magazine_raise_ceiling(ptrdiff_t area, uint32_t offset)
{
    enum magazine_side side = MAGAZINE_TAKE;
    uint64_t done, scratch, top;
    char *found;

    __asm__ volatile(BEGIN                           /* */
                     "movq 16(%[found]), %[top]\n\t" /* bounds */
                     "movzwl 18(%[found]), %k[scratch]\n\t"
                     "addl %[step], %k[scratch]\n\t"
                     "cmpq 56(%[found]), %[scratch]\n\t" /* ceiling_most */
                     "ja 6f\n\t"
                     "addq %[step_in_place], %[top]\n\t"
                     "movq %[top], 16(%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS
                     : INPUTS, [step] "i"(MAGAZINE_CEILING_STEP),
                       [step_in_place] "i"(MAGAZINE_CEILING_STEP << 16)
                     : "memory", "cc");
}

bool magazine_load(ptrdiff_t area, uint32_t offset, char *const places[MAGAZINE_PLACES],
                   uint32_t count, uint64_t colours_of_them)
{
    enum magazine_side side = MAGAZINE_PUT;
    uint64_t done, scratch, top;
    char *found, *to;

    __asm__ volatile(BEGIN READ_TOP_AND_FLOOR /* */
                     "cmpw %w[scratch], %w[top]\n\t"
                     "jne 6f\n\t"
                     "addw %w[count], %w[scratch]\n\t"
                     "cmpw 18(%[found]), %w[scratch]\n\t" /* ceiling */
                     "ja 6f\n\t"
                     "movq 40(%[found]), %[to]\n\t"
                     "movzwl %w[top], %k[scratch]\n\t"
                     "leaq 1024(%[to], %[scratch], 8), %[to]\n\t"
                     "movl %[count], %k[scratch]\n\t"
                     "addq %[scratch], %[top]\n\t" COPY("%[places]", "%[to]", "%[scratch]") /* */
                     "movq %[bits], 24(%[found])\n\t"
                     "incl %k[done]\n\t"
                     "movq %[top], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [to] "=&r"(to)
                     : INPUTS, [places] "r"(places), [count] "r"(count), [bits] "r"(colours_of_them)
                     : "memory", "cc", "xmm0");
    return done != 0;
}
