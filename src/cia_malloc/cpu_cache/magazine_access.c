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

/* from, to: registers with addresses. Copies as many pointers as count says, not 0, from the last.
   Not one more: magazine_overflow.c relies on it that only blocks that wait are written to places.
   count is lost. */
#define COPY(from, to, count)                                                                      \
    "5:\n\t"                                                                                       \
    "decq " count "\n\t"                                                                           \
    "movq (" from ", " count ", 8), %%xmm0\n\t"                                                    \
    "movq %%xmm0, (" to ", " count ", 8)\n\t"                                                      \
    "jnz 5b\n\t" /* the moves leave the flags alone */

/* from, to: registers with addresses, and how many bytes behind that. Copies what is counted of all
   colours. */
#define COPY_COUNTS(from, from_offset, to, to_offset)                                              \
    "movups 0+" from_offset "(" from "), %%xmm0\n\t"                                               \
    "movups 16+" from_offset "(" from "), %%xmm1\n\t"                                              \
    "movups 32+" from_offset "(" from "), %%xmm2\n\t"                                              \
    "movups 48+" from_offset "(" from "), %%xmm3\n\t"                                              \
    "movups %%xmm0, 0+" to_offset "(" to ")\n\t"                                                   \
    "movups %%xmm1, 16+" to_offset "(" to ")\n\t"                                                  \
    "movups %%xmm2, 32+" to_offset "(" to ")\n\t"                                                  \
    "movups %%xmm3, 48+" to_offset "(" to ")\n\t"
#define COUNT      "%c[at_count]"
#define FULL_COUNT "%c[at_full_count]"

/* of: a register with an address, and how many bytes behind that. Clears as many bytes as
   COPY_COUNTS copies. */
#define CLEAR(of, offset)                                                                          \
    "movups %%xmm0, 0+" offset "(" of ")\n\t"                                                      \
    "movups %%xmm0, 16+" offset "(" of ")\n\t"                                                     \
    "movups %%xmm0, 32+" offset "(" of ")\n\t"                                                     \
    "movups %%xmm0, 48+" offset "(" of ")\n\t"
#define CLEAR_COUNTS(of) "xorps %%xmm0, %%xmm0\n\t" CLEAR(of, COUNT)
#define CLEAR_COUNTS_AND_LAST(of)                                                                  \
    CLEAR_COUNTS(of) CLEAR(of, "0") CLEAR(of, "64") CLEAR(of, "128") CLEAR(of, "192")

bool access_reload(const struct magazine_access *access)
{
    uint64_t done, scratch, top, bounds;
    char *found, *aside, *store;

    if (access->exclusive != NULL)
        return magazine_reload_exclusive(access->exclusive);
    __asm__ volatile(
        BEGIN READ_TOP_AND_FLOOR /* */
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
        "shlq $6, %[aside]\n\t"
        "addq %[store], %[aside]\n\t" COPY_COUNTS("%[aside]", FULL_COUNT, "%[store]", COUNT) /* */
        "incl %k[done]\n\t"
        "movq %[bounds], %c[at_bounds](%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
        : RESULTS, [bounds] "=&r"(bounds), [aside] "=&r"(aside), [store] "=&r"(store)
        : INPUTS(access->table, access->offset)
        : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3");
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
                     "shlq $6, %[aside]\n\t"
                     "addq %[store], %[aside]\n\t" COPY_COUNTS(
                         "%[store]", COUNT, "%[aside]", FULL_COUNT) CLEAR_COUNTS("%[store]") /* */
                     "movq %c[at_bounds](%[found]), %[bounds]\n\t"
                     "movabsq $0x100000000, %[scratch]\n\t" /* a full one more */
                     "addq %[scratch], %[bounds]\n\t"
                     "movw %w[top], %w[bounds]\n\t"
                     "incl %k[done]\n\t"
                     "movq %[bounds], %c[at_bounds](%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [bounds] "=&r"(bounds), [aside] "=&r"(aside), [store] "=&r"(store)
                     : INPUTS(access->table, access->offset), [least] "i"(MAGAZINE_FULL_LEAST),
                       [most] "i"(MAGAZINE_FULL_MOST), [places] "i"(MAGAZINE_COLOURS)
                     : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3");
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
                     "jz 8f\n\t" COPY("%[from]", "%[places]", "%[scratch]") /* */
                     "8:\n\t" CLEAR_COUNTS_AND_LAST("%[store]")             /* */
                     "movq %[top], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : RESULTS, [from] "=&r"(from), [store] "=&r"(store)
                     : INPUTS(access->table, access->offset), [places] "r"(places),
                       [most] "i"(MAGAZINE_LOADED_MOST)
                     : "memory", "cc", "xmm0");
    return (uint32_t)done;
}

bool access_load(const struct magazine_access *access, unsigned node, char *const *places,
                 uint32_t count)
{
    uint64_t done, scratch, top;
    char *found, *to;
    int8_t counts[MAGAZINE_COLOURS];

    if (access->exclusive != NULL)
        return magazine_load_exclusive(access->exclusive, places, count);
    magazine_count_colours(places, count, counts);
    __asm__ volatile(
        BEGIN READ_TOP_AND_FLOOR /* */
        "cmpw %w[scratch], %w[top]\n\t"
        "jne 6f\n\t"
        "addw %w[count], %w[scratch]\n\t"
        "cmpw %c[at_ceiling](%[found]), %w[scratch]\n\t" /* ceiling */
        "ja 6f\n\t"
        "movq %c[at_store](%[found]), %[to]\n\t" COPY_COUNTS("%[counts]", "0", "%[to]", COUNT) /* */
        "movzwl %w[top], %k[scratch]\n\t"
        "leaq %c[at_stack](%[to], %[scratch], 8), %[to]\n\t"
        "movl %[count], %k[scratch]\n\t"
        "addq %[scratch], %[top]\n\t" COPY("%[places]", "%[to]", "%[scratch]") /* */
        "incl %k[done]\n\t"
        "movq %[top], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
        : RESULTS, [to] "=&r"(to)
        : INPUTS(magazine_to_put, magazine_offset(access->size_class, node)), [places] "r"(places),
          [count] "r"(count), [counts] "r"(counts)
        : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3");
    return done != 0;
}
