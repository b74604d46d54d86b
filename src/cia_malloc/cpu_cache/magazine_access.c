/*
 * SPDX-License-Identifier: MIT
 *
 * The slow steps on a magazine, as sequences. An interrupted one begins again, so they must not
 * be long: the longest takes MAGAZINE_LOADED_MOST blocks out of a magazine, in some 1,050
 * instructions.
 */
#include "cia_malloc/cpu_cache/magazine_access.h"

/* MAGAZINE_FIND with the table in a register: which one is for the caller to say. done is 0. */
#define BEGIN                                                                                      \
    RSEQ_BEGIN("%[scratch]")                                                                       \
    "xorl %k[done], %k[done]\n\t"                                                                  \
    "movl %%fs:%c[cpu_id](%[area]), %k[scratch]\n\t"                                               \
    "cmpl %[cpus], %k[scratch]\n\t"                                                                \
    "jae 6f\n\t"                                                                                   \
    "movq (%[table], %[scratch], 8), %[found]\n\t"                                                 \
    "leaq (%[found], %[offset], 8), %[found]\n\t"

#define RESULTS [done] "=&r"(done), [scratch] "=&r"(scratch), [found] "=&r"(found), [top] "=&r"(top)

#define INPUTS(to_look_in, from_there)                                                             \
    [area] "r"(access->area), [table] "r"(to_look_in), [offset] "r"((uint64_t)(from_there)),       \
        MAGAZINE_LAYOUT

/* top: the word; scratch: where the loaded magazine begins. */
#define READ_TOP_AND_FLOOR                                                                         \
    "movq (%[found]), %[top]\n\t"                                                                  \
    "movzwl %c[at_floor](%[found]), %k[scratch]\n\t"

/* A step for the words of four colours each, so many bytes into [store]. */
#define EACH_8(step, at)                                                                           \
    step("0+" at) step("16+" at) step("32+" at) step("48+" at) /* */                               \
        step("64+" at) step("80+" at) step("96+" at) step("112+" at)
#define EACH_16(step) EACH_8(step, "0") EACH_8(step, "128")

/* xmm7: no_blocks in each word. With CLEAR_COUNTS the words still name the blocks that they named,
   with CLEAR none. */
#define READ_NO_BLOCKS                                                                             \
    "movd %c[at_no_blocks](%[found]), %%xmm7\n\t"                                                  \
    "pshufd $0, %%xmm7, %%xmm7\n\t"
#define CLEAR(at)        "movups %%xmm7, " at "(%[store])\n\t"
#define CLEAR_COUNTS(at) "movups " at "(%[store]), %%xmm0\n\t" SET_COUNTS(at, "%%xmm0", "%%xmm7")

/* Gives words other counts. */
#define SET_COUNTS(at, words, counts)                                                              \
    "psrld $4, " words "\n\t"                                                                      \
    "pslld $4, " words "\n\t"                                                                      \
    "por " counts ", " words "\n\t"                                                                \
    "movups " words ", " at "(%[store])\n\t"

/* Eight of these steps collect the counts in xmm2, as in full_counts, and eight set them again. */
#define COLLECT(at)                                                                                \
    "movups " at "(%[store]), %%xmm0\n\t"                                                          \
    "pslld $28, %%xmm0\n\t"                                                                        \
    "psrld $4, %%xmm2\n\t"                                                                         \
    "por %%xmm0, %%xmm2\n\t"
#define RESTORE(at)                                                                                \
    "movups " at "(%[store]), %%xmm0\n\t"                                                          \
    "movaps %%xmm2, %%xmm1\n\t"                                                                    \
    "pslld $28, %%xmm1\n\t"                                                                        \
    "psrld $28, %%xmm1\n\t"                                                                        \
    "psrld $4, %%xmm2\n\t" SET_COUNTS(at, "%%xmm0", "%%xmm1")
#define FULL_COUNTS(half) half "+%c[at_full_counts](%[aside])"

bool access_reload(const struct magazine_access *access)
{
    uint64_t done, scratch, top, bounds;
    char *found, *aside, *store;

    if (access->exclusive != NULL)
        return magazine_reload_exclusive(access->exclusive);
    __asm__ volatile(BEGIN READ_TOP_AND_FLOOR /* */
                     "cmpw %w[scratch], %w[top]\n\t"
                     "jne 6f\n\t"
                     "movzwl %c[at_full](%[found]), %k[aside]\n\t" /* full ones */
                     "decl %k[aside]\n\t"
                     "js 6f\n\t"
                     "movq %c[at_store](%[found]), %[store]\n\t"
                     "movq %c[at_bounds](%[found]), %[bounds]\n\t"
                     "movabsq $0x100000000, %[top]\n\t" /* a full one less */
                     "subq %[top], %[bounds]\n\t"
                     "movw %c[at_full_floor](%[store], %[aside], 8), %w[bounds]\n\t" /* floor */
                     "shlq $5, %[aside]\n\t"
                     "addq %[store], %[aside]\n\t"
                     "movups " FULL_COUNTS("0") ", %%xmm2\n\t" EACH_8(RESTORE, "0")    /* */
                     "movups " FULL_COUNTS("16") ", %%xmm2\n\t" EACH_8(RESTORE, "128") /* */
                     "incl %k[done]\n\t"
                     "movq %[bounds], %c[at_bounds](%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [bounds] "=&r"(bounds), [aside] "=&r"(aside), [store] "=&r"(store)
                     : INPUTS(access->table, access->offset)
                     : "memory", "cc", "xmm0", "xmm1", "xmm2");
    return done != 0;
}

bool access_put_aside(const struct magazine_access *access)
{
    uint64_t done, scratch, top, bounds;
    char *found, *aside, *store;

    if (access->exclusive != NULL)
        return magazine_put_aside_exclusive(access->exclusive);
    __asm__ volatile(BEGIN READ_TOP_AND_FLOOR /* */
                     "movzwl %w[top], %k[bounds]\n\t"
                     "subl %k[scratch], %k[bounds]\n\t"
                     "cmpl %[least], %k[bounds]\n\t"
                     "jb 6f\n\t"
                     "movw %w[top], %w[bounds]\n\t"
                     "addw %[places], %w[bounds]\n\t"
                     "cmpw %c[at_ceiling](%[found]), %w[bounds]\n\t" /* ceiling */
                     "ja 6f\n\t"
                     "movzwl %c[at_full](%[found]), %k[aside]\n\t" /* full ones */
                     "cmpl %[most], %k[aside]\n\t"
                     "jae 6f\n\t"
                     "movq %c[at_store](%[found]), %[store]\n\t"
                     "movq %[scratch], %c[at_full_floor](%[store], %[aside], 8)\n\t" /* floor */
                     "shlq $5, %[aside]\n\t"
                     "addq %[store], %[aside]\n\t" EACH_8(COLLECT, "0")               /* */
                     "movups %%xmm2, " FULL_COUNTS("0") "\n\t" EACH_8(COLLECT, "128") /* */
                     "movups %%xmm2, " FULL_COUNTS("16") "\n\t" /* all, before any is cleared */
                     READ_NO_BLOCKS EACH_16(CLEAR_COUNTS)       /* */
                     "movq %c[at_bounds](%[found]), %[bounds]\n\t"
                     "movabsq $0x100000000, %[scratch]\n\t" /* a full one more */
                     "addq %[scratch], %[bounds]\n\t"
                     "movw %w[top], %w[bounds]\n\t"
                     "incl %k[done]\n\t"
                     "movq %[bounds], %c[at_bounds](%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [bounds] "=&r"(bounds), [aside] "=&r"(aside), [store] "=&r"(store)
                     : INPUTS(access->table, access->offset), [least] "i"(MAGAZINE_FULL_LEAST),
                       [most] "i"(MAGAZINE_FULL_MOST), [places] "i"(MAGAZINE_COLOURS)
                     : "memory", "cc", "xmm0", "xmm2", "xmm7");
    return done != 0;
}

uint32_t access_unload(const struct magazine_access *access, char *places[MAGAZINE_LOADED_MOST])
{
    uint64_t done, scratch, top;
    char *found, *from, *store;

    if (access->exclusive != NULL)
        return magazine_unload_exclusive(access->exclusive, places);
    __asm__ volatile(BEGIN                                   /* */
                     "cmpw $0, %c[at_ceiling](%[found])\n\t" /* ceiling */
                     "je 6f\n\t" READ_TOP_AND_FLOOR          /* */
                     "movzwl %w[top], %k[done]\n\t"
                     "subl %k[scratch], %k[done]\n\t"
                     "movl %[most], %k[scratch]\n\t"
                     "cmpl %k[scratch], %k[done]\n\t"
                     "cmoval %k[scratch], %k[done]\n\t"
                     "subq %[done], %[top]\n\t"
                     "movzwl %w[top], %k[scratch]\n\t"
                     "movq %c[at_store](%[found]), %[store]\n\t"
                     "leaq %c[at_stack](%[store], %[scratch], 8), %[from]\n\t"
                     "movq %[done], %[scratch]\n\t"
                     "testl %k[done], %k[done]\n\t"
                     "jz 8f\n\t"
                     "5:\n\t"
                     "decq %[scratch]\n\t"
                     "movq (%[from], %[scratch], 8), %%xmm0\n\t"
                     "movq %%xmm0, (%[places], %[scratch], 8)\n\t"
                     "jnz 5b\n\t"                           /* the moves leave the flags alone */
                     "8:\n\t" READ_NO_BLOCKS EACH_16(CLEAR) /* */
                     "movq %[top], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [from] "=&r"(from), [store] "=&r"(store)
                     : INPUTS(access->table, access->offset), [places] "r"(places),
                       [most] "i"(MAGAZINE_LOADED_MOST)
                     : "memory", "cc", "xmm0", "xmm7");
    return (uint32_t)done;
}

bool access_load(const struct magazine_access *access, unsigned node, char *const *places,
                 uint32_t count)
{
    uint64_t done, scratch, top, left;
    char *found, *store, *to;

    if (access->exclusive != NULL)
        return magazine_load_exclusive(access->exclusive, places, count);
    __asm__ volatile(BEGIN READ_TOP_AND_FLOOR /* */
                     "cmpw %w[scratch], %w[top]\n\t"
                     "jne 6f\n\t"
                     "addw %w[count], %w[scratch]\n\t"
                     "cmpw %c[at_ceiling](%[found]), %w[scratch]\n\t" /* ceiling */
                     "ja 6f\n\t"
                     "movq %c[at_store](%[found]), %[store]\n\t" READ_NO_BLOCKS EACH_16(CLEAR) /* */
                     "movzwl %w[top], %k[scratch]\n\t"
                     "leaq %c[at_stack](%[store], %[scratch], 8), %[to]\n\t"
                     "movl %[count], %k[left]\n\t"
                     "addq %[left], %[top]\n\t"
                     "5:\n\t" /* exactly so many places: see magazine_has */
                     "decl %k[left]\n\t"
                     "movq (%[places], %[left], 8), %[scratch]\n\t"
                     "movq %[scratch], (%[to], %[left], 8)\n\t"
                     "shrl $6, %k[scratch]\n\t"
                     "andl $63, %k[scratch]\n\t"
                     "incl (%[store], %[scratch], 4)\n\t"
                     "testl %k[left], %k[left]\n\t"
                     "jnz 5b\n\t"
                     "incl %k[done]\n\t"
                     "movq %[top], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [store] "=&r"(store), [to] "=&r"(to), [left] "=&r"(left)
                     : INPUTS(magazine_to_put, magazine_offset(access->size_class, node)),
                       [places] "r"(places), [count] "r"(count)
                     : "memory", "cc", "xmm7");
    return done != 0;
}
