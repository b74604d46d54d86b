/*
 * SPDX-License-Identifier: MIT
 *
 * Magazines under a lock, and those of other CPUs; see magazine.h.
 */
#include "cia_malloc/magazine.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_bool magazine_sequences;
_Thread_local ptrdiff_t magazine_area;
_Atomic(struct magazines *) magazine_table[CPU_HEAPS];

/* What was published for each CPU; the table has the same, or NULL. Set once, by compare-and-swap.
 */
static _Atomic(struct magazines *) published[CPU_HEAPS];

/* The thread between withdraw and return, by its thread pointer, which the child of a fork shares.
   Claimed by compare-and-swap from NULL (acquire), released. */
static _Atomic(void *) withdrawer;

struct magazine_geometry magazine_geometry[MAGAZINE_CLASSES];

/* Of an odd number, modulo 256: each step doubles the number of right bits, from three. */
static uint32_t inverse_of(uint32_t odd)
{
    uint32_t inverse = odd;

    for (uint32_t bits = 3; bits < 8; bits *= 2)
        inverse *= 2 - odd * inverse;
    return inverse;
}

void magazines_choose(bool sequences)
{
    for (unsigned i = 0; i < MAGAZINE_CLASSES; i++) {
        uint32_t lines = size_class_lines[i];
        uint32_t places = MAGAZINE_PLACES;

        while (places > 2 && 2 * places * lines * LINE_BYTES > MAGAZINE_BYTES)
            places /= 2;
        uint32_t shift = class_layouts[i].even_shift;
        magazine_geometry[i] = (struct magazine_geometry){
            .colours_mask = (uint8_t)(colours - 1),
            .factor = (uint8_t)(shift != 0 ? colours + 1 : inverse_of(lines)),
            .shift = (uint8_t)shift,
            .first = class_layouts[i].first_slot,
            .mask = (uint8_t)(places - 1),
        };
    }
    atomic_store_explicit(&magazine_sequences, sequences, memory_order_relaxed);
}

ptrdiff_t magazine_area_here(void)
{
    if (magazine_area == MAGAZINE_AREA_UNKNOWN && magazines_use_sequences())
        magazine_area = rseq_cpu() >= 0 ? __rseq_offset : MAGAZINE_AREA_OFF;
    return magazine_area;
}

bool magazine_load_empty(unsigned size_class, char *const place[MAGAZINE_PLACES], uint64_t occupied)
{
    enum { LEVEL_0 = 0 };
    unsigned level = LEVEL_0;
    ptrdiff_t area = magazine_area;
    uint32_t done;
    struct magazine_level *found;
    uint64_t scratch, left, moved;

    __asm__ volatile(RSEQ_BEGIN "xorl %[done], %[done]\n\t" MAGAZINE_FIND
                                "testq %[scratch], %[scratch]\n\t"
                                "jnz 6f\n\t"
                                "movq %[all], %[left]\n\t"
                                "5:\n\t"
                                "tzcntq %[left], %[scratch]\n\t"
                                "movq (%[from], %[scratch], 8), %[moved]\n\t"
                                "movq %[moved], 8(%[found], %[scratch], 8)\n\t"
                                "btrq %[scratch], %[left]\n\t"
                                "testq %[left], %[left]\n\t"
                                "jnz 5b\n\t"
                                "incl %[done]\n\t"
                                "movq %[all], (%[found])\n\t" RSEQ_COMMITTED "6:\n\t"
                     : [scratch] "=&r"(scratch), [found] "=&r"(found), [done] "=&r"(done),
                       [left] "=&r"(left), [moved] "=&r"(moved)
                     : MAGAZINE_INPUTS, [all] "r"(occupied), [from] "r"(place)
                     : "memory", "cc");
    return done != 0;
}

uint32_t magazine_waiting(const struct magazine *magazine)
{
    uint32_t waiting = 0;

    for (unsigned level = 0; level < 2; level++)
        waiting += (uint32_t)__builtin_popcountll(
            atomic_load_explicit(&magazine->level[level].occupied, memory_order_relaxed));
    return waiting;
}

uint64_t magazine_served(const struct magazine *magazine)
{
    return __atomic_load_n(&magazine->served, __ATOMIC_RELAXED);
}

const struct magazine *magazine_here(unsigned size_class)
{
    uint32_t cpu = (uint32_t)rseq_cpu();
    struct magazines *here =
        cpu < CPU_HEAPS ? atomic_load_explicit(&magazine_table[cpu], memory_order_acquire) : NULL;

    return here == NULL ? NULL
                        : atomic_load_explicit(&here->of_class[size_class], memory_order_acquire);
}

struct magazines *magazines_publish(uint32_t cpu, struct magazines *magazines)
{
    struct magazines *expected = NULL;

    if (!magazines_use_sequences())
        return magazines;
    if (!atomic_compare_exchange_strong_explicit(&published[cpu], &expected, magazines,
                                                 memory_order_acq_rel, memory_order_acquire))
        return expected;
    atomic_store_explicit(&magazine_table[cpu], magazines, memory_order_release);
    return magazines;
}

const struct magazines *magazines_of(uint32_t cpu)
{
    return atomic_load_explicit(&published[cpu], memory_order_acquire);
}

/* Interrupts every section that runs now. */
static bool interrupt_sections(void)
{
    static atomic_bool registered;
    int saved_errno = errno;
    bool done;

    if (!atomic_load_explicit(&registered, memory_order_relaxed))
        atomic_store_explicit(
            &registered,
            syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0,
            memory_order_relaxed);
    done = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0;
    errno = saved_errno;
    return done;
}

bool magazines_withdraw(struct magazines_withdrawn *withdrawn)
{
    void *expected = NULL;

    if (!magazines_use_sequences() ||
        !atomic_compare_exchange_strong_explicit(&withdrawer, &expected, __builtin_thread_pointer(),
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++) {
        uint64_t bit = (uint64_t)1 << cpu % 64;

        /* One that is published meanwhile stays in use. */
        if (atomic_load_explicit(&magazine_table[cpu], memory_order_relaxed) != NULL &&
            atomic_exchange_explicit(&magazine_table[cpu], NULL, memory_order_seq_cst) != NULL)
            withdrawn->cpus[cpu / 64] |= bit;
        else
            withdrawn->cpus[cpu / 64] &= ~bit;
    }
    /* A section that began before finds itself at its beginning, and there NULL. */
    if (interrupt_sections())
        return true;
    magazines_return(withdrawn);
    return false;
}

void magazines_return(const struct magazines_withdrawn *withdrawn)
{
    for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++) {
        if ((withdrawn->cpus[cpu / 64] >> cpu % 64 & 1) != 0)
            /* Release: what we took is gone from it. */
            atomic_store_explicit(&magazine_table[cpu],
                                  atomic_load_explicit(&published[cpu], memory_order_relaxed),
                                  memory_order_release);
    }
    atomic_store_explicit(&withdrawer, NULL, memory_order_release);
}

struct magazines *magazines_withdrawn_next(const struct magazines_withdrawn *withdrawn,
                                           uint32_t *cpu)
{
    while (*cpu < CPU_HEAPS) {
        uint32_t here = (*cpu)++;

        if ((withdrawn->cpus[here / 64] >> here % 64 & 1) != 0)
            return atomic_load_explicit(&published[here], memory_order_relaxed);
    }
    return NULL;
}

void magazines_after_fork(void)
{
    /* Forked by a signal handler of the thread that has them: it goes on, and returns them. */
    if (!magazines_use_sequences() ||
        atomic_load_explicit(&withdrawer, memory_order_relaxed) == __builtin_thread_pointer())
        return;
    for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++)
        atomic_store_explicit(&magazine_table[cpu],
                              atomic_load_explicit(&published[cpu], memory_order_relaxed),
                              memory_order_relaxed);
    atomic_store_explicit(&withdrawer, NULL, memory_order_relaxed);
}
