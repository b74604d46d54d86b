/*
 * SPDX-License-Identifier: MIT
 *
 * See tm_counts.h. The linker's --wrap makes of each call of NAME in the program a call of
 * __wrap_NAME, and of __real_NAME the library's.
 */
#include "tm_counts.h"

#include "harness/labels.h"
#include "harness/pages.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The properties of a transaction, and where a thread is, as the ABI has them. */
enum { INSTRUMENTED_CODE = 0x0001, DOES_GO_IRREVOCABLE = 0x0040 };
enum { OUTSIDE, RETRYABLE, IRREVOCABLE };

int _ITM_inTransaction(void);
void __real__ITM_commitTransaction(void);
void __wrap__ITM_commitTransaction(void);
void __real__ITM_changeTransactionMode(int mode);
void __wrap__ITM_changeTransactionMode(int mode);
void tm_counts_begin(uint32_t properties, const void *address);

/* A thread's counts: its own to write. Others read and clear them while it does nothing. */
struct thread_counts {
    struct thread_counts *next;
    struct tm_site sites[TM_SITES_MOST];
};

static struct thread_counts *threads; /* pushed by compare and swap, never taken off */
static __thread struct thread_counts *own;

/* The outermost transaction that runs. */
static __thread struct tm_site *current;
static __thread bool started_serial, switched;

/*
 * Stands for _ITM_beginTransaction, which returns more than once and so must find the stack as its
 * caller left it: counts, and jumps there. The call keeps the property in %edi; 16 bytes are on the
 * stack, with the return address, when it is made.
 */
__asm__(".text\n"
        ".globl __wrap__ITM_beginTransaction\n"
        ".hidden __wrap__ITM_beginTransaction\n"
        ".type __wrap__ITM_beginTransaction, @function\n"
        "__wrap__ITM_beginTransaction:\n"
        ".cfi_startproc\n"
        "push %rdi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "mov 8(%rsp), %rsi\n"
        "call tm_counts_begin\n"
        "pop %rdi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "xor %eax, %eax\n"
        "jmp __real__ITM_beginTransaction@PLT\n"
        ".cfi_endproc\n"
        ".size __wrap__ITM_beginTransaction, . - __wrap__ITM_beginTransaction\n");

static struct thread_counts *add_thread(void)
{
    struct thread_counts *counts = pages_map(1, sizeof *counts);

    if (counts == NULL)
        abort();
    counts->next = __atomic_load_n(&threads, __ATOMIC_RELAXED);
    /* Releases next; tm_counts_read acquires. */
    while (!__atomic_compare_exchange_n(&threads, &counts->next, counts, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return own = counts;
}

/* Open addressing; a program has some dozens of sites. */
static struct tm_site *site_of(struct tm_site *sites, const void *address)
{
    size_t at = ((uintptr_t)address * 0x9e3779b97f4a7c15u) >> 55;

    while (sites[at].address != address && sites[at].address != NULL)
        at = (at + 1) % TM_SITES_MOST;
    sites[at].address = address;
    return &sites[at];
}

_Static_assert(TM_SITES_MOST == 1 << (64 - 55), "the hash has the bits of an index");

__attribute__((visibility("hidden"), used)) void tm_counts_begin(uint32_t properties,
                                                                 const void *address)
{
    if (_ITM_inTransaction() != OUTSIDE)
        return;
    current = site_of((own != NULL ? own : add_thread())->sites, address);
    started_serial =
        (properties & DOES_GO_IRREVOCABLE) != 0 || (properties & INSTRUMENTED_CODE) == 0;
    switched = false;
}

/* May begin the transaction anew instead of returning: it then runs alone from its start. */
void __wrap__ITM_changeTransactionMode(int mode)
{
    if (_ITM_inTransaction() == RETRYABLE)
        switched = true;
    __real__ITM_changeTransactionMode(mode);
}

void __wrap__ITM_commitTransaction(void)
{
    bool alone = _ITM_inTransaction() == IRREVOCABLE;
    struct tm_counts *counts;

    __real__ITM_commitTransaction();
    if (_ITM_inTransaction() != OUTSIDE)
        return;
    counts = &current->counts;
    counts->transactions++;
    if (started_serial)
        counts->start_serial++;
    else if (switched)
        counts->in_flight_switch++;
    else if (alone)
        counts->abort_serial++;
}

static struct thread_counts *first_thread(void)
{
    return __atomic_load_n(&threads, __ATOMIC_ACQUIRE);
}

void tm_counts_reset(void)
{
    for (struct thread_counts *thread = first_thread(); thread != NULL; thread = thread->next) {
        for (size_t i = 0; i < TM_SITES_MOST; i++)
            thread->sites[i].counts = (struct tm_counts){0};
    }
}

static void add(struct tm_counts *to, const struct tm_counts *counts)
{
    to->transactions += counts->transactions;
    to->in_flight_switch += counts->in_flight_switch;
    to->start_serial += counts->start_serial;
    to->abort_serial += counts->abort_serial;
}

void tm_counts_read(struct tm_counts *all)
{
    *all = (struct tm_counts){0};
    for (struct thread_counts *thread = first_thread(); thread != NULL; thread = thread->next) {
        for (size_t i = 0; i < TM_SITES_MOST; i++)
            add(all, &thread->sites[i].counts);
    }
}

static uint64_t alone(const struct tm_site *site)
{
    return site->counts.in_flight_switch + site->counts.start_serial + site->counts.abort_serial;
}

static int compare_sites(const void *left, const void *right)
{
    const struct tm_site *a = left, *b = right;
    uint64_t alone_a = alone(a), alone_b = alone(b);

    if (alone_a != alone_b)
        return alone_a < alone_b ? 1 : -1;
    return (a->counts.transactions < b->counts.transactions) -
           (a->counts.transactions > b->counts.transactions);
}

size_t tm_counts_sites(struct tm_site *sites)
{
    size_t count = 0;

    memset(sites, 0, TM_SITES_MOST * sizeof *sites);
    for (struct thread_counts *thread = first_thread(); thread != NULL; thread = thread->next) {
        for (size_t i = 0; i < TM_SITES_MOST; i++) {
            if (thread->sites[i].address != NULL)
                add(&site_of(sites, thread->sites[i].address)->counts, &thread->sites[i].counts);
        }
    }
    for (size_t i = 0; i < TM_SITES_MOST; i++) {
        if (sites[i].counts.transactions > 0)
            sites[count++] = sites[i];
    }
    qsort(sites, count, sizeof *sites, compare_sites);
    return count;
}
