/*
 * SPDX-License-Identifier: MIT
 *
 * Every instruction that loads or stores is seen, in each line of cache that its operand touches:
 * in a transaction it makes the lines part of the read or write set, outside it aborts transactions
 * that hold them, and what it stored is undone.
 */
#include "access_kinds.h"
#include "transaction.h"

enum { LINE = 64, AREA = 4096 };

static uint8_t area[3 * AREA] __attribute__((aligned(4096)));
static int64_t scratch[8];                             /* %1: where copies go; zeroes */
static const uint8_t source[64] = {[0 ... 63] = 0xa5}; /* %2 */

#define FUNCTION(prefix, name, text)                                                               \
    static void prefix##name(uint8_t *at)                                                          \
    {                                                                                              \
        __asm__ volatile(text                                                                      \
                         : "+D"(at), "+m"(scratch)                                                 \
                         : "m"(source)                                                             \
                         : "rax", "rcx", "rdx", "rsi", "r8", "r9", "xmm0", "xmm1", "xmm2", "cc",   \
                           "memory");                                                              \
    }
#define LOAD_FUNCTION(name, size, alignment, content, text)  FUNCTION(load_, name, text)
#define STORE_FUNCTION(name, size, alignment, content, text) FUNCTION(store_, name, text)
LOAD_KINDS(LOAD_FUNCTION)
AVX2_LOAD_KINDS(LOAD_FUNCTION)
STORE_KINDS(STORE_FUNCTION)
AVX2_STORE_KINDS(STORE_FUNCTION)
UNFRIENDLY_LOAD_KINDS(LOAD_FUNCTION)
UNFRIENDLY_STORE_KINDS(STORE_FUNCTION)
AVX2_UNFRIENDLY_STORE_KINDS(STORE_FUNCTION)

#define LOAD_ROW(name, size, alignment, content, text)                                             \
    {#name, load_##name, size, alignment, content},
#define STORE_ROW(name, size, alignment, content, text)                                            \
    {#name, store_##name, size, alignment, content},
static const struct access_kind loads[] = {LOAD_KINDS(LOAD_ROW)};
static const struct access_kind avx2_loads[] = {AVX2_LOAD_KINDS(LOAD_ROW)};
static const struct access_kind stores[] = {STORE_KINDS(STORE_ROW)};
static const struct access_kind avx2_stores[] = {AVX2_STORE_KINDS(STORE_ROW)};
static const struct access_kind unfriendly_loads[] = {UNFRIENDLY_LOAD_KINDS(LOAD_ROW)};
static const struct access_kind unfriendly_stores[] = {UNFRIENDLY_STORE_KINDS(STORE_ROW)};
static const struct access_kind avx2_unfriendly_stores[] = {AVX2_UNFRIENDLY_STORE_KINDS(STORE_ROW)};

#define EXPECT_OF(kind, condition)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(STDERR_FILENO, "%s:%d: %s does not hold for %s: %s\n", __FILE__, __LINE__,     \
                    __func__, (kind)->name, #condition);                                           \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* The operand lies over a border of lines, and of pages, where it may. */
static uint8_t *place(const struct access_kind *kind)
{
    uint8_t *at = kind->alignment > 1 || kind->size == 1 ? area + AREA + LINE + kind->alignment
                                                         : area + AREA - (kind->size + 1) / 2;

    memset(area, 0, sizeof(area));
    memset(scratch, 0, sizeof(scratch));
    for (unsigned i = 0; i < 8; i++)
        ((int32_t *)scratch)[i] = (int32_t)i; /* the gather's indices */
    memcpy(at, &kind->content, kind->size < 4 ? kind->size : 4);
    return at;
}

/* A byte that is not the operand's: in its first line the first one, in its last line the last. An
 * operand that begins or ends with its only line leaves one of the two. */
static volatile uint8_t *beside(const struct access_kind *kind, uint8_t *at, bool last)
{
    uint8_t *end = at + kind->size - 1;
    uint8_t *first_of_line = at - (uintptr_t)at % LINE;
    uint8_t *last_of_line = end - (uintptr_t)end % LINE + LINE - 1;

    EXPECT_OF(kind, first_of_line < at || last_of_line > end);
    if (last ? last_of_line > end : first_of_line == at)
        return last_of_line;
    return first_of_line;
}

/* ---- the other thread ---- */

enum work { REST, STOP, PLAIN_LOAD, PLAIN_STORE, LOADING_TRANSACTION, STORING_TRANSACTION };

static struct {
    int work __attribute__((aligned(64)));
    volatile uint8_t *byte;
    int at_work __attribute__((aligned(64)));
    long conflicts __attribute__((aligned(64)));
} other;

static void load_and_linger(void *unused)
{
    (void)unused;
    (void)*other.byte;
    linger(300);
}

static void store_and_linger(void *unused)
{
    (void)unused;
    *other.byte = 0x33;
    linger(300);
}

static void count_conflict(int status)
{
    if (status != STARTED && (status & CONFLICT) != 0)
        __atomic_fetch_add(&other.conflicts, 1, __ATOMIC_RELAXED);
}

static void *work_beside(void *unused)
{
    for (;;) {
        int work = __atomic_load_n(&other.work, __ATOMIC_ACQUIRE);

        __atomic_store_n(&other.at_work, work, __ATOMIC_RELEASE);
        if (work == STOP)
            return unused;
        if (work == REST)
            sched_yield();
        else if (work == PLAIN_LOAD)
            (void)*other.byte;
        else if (work == PLAIN_STORE)
            *other.byte = 0x33;
        else
            count_conflict(
                attempt(work == LOADING_TRANSACTION ? load_and_linger : store_and_linger, NULL));
    }
}

static void set_work(enum work work, volatile uint8_t *byte)
{
    __atomic_store_n(&other.work, REST, __ATOMIC_RELEASE);
    while (__atomic_load_n(&other.at_work, __ATOMIC_ACQUIRE) != REST)
        sched_yield();
    other.byte = byte;
    __atomic_store_n(&other.work, work, __ATOMIC_RELEASE);
    while (__atomic_load_n(&other.at_work, __ATOMIC_ACQUIRE) != (int)work)
        sched_yield();
}

/* ---- the claims, for one kind each ---- */

struct access {
    const struct access_kind *kind;
    uint8_t *at;
};

static void make_and_linger(void *argument)
{
    const struct access *access = argument;

    access->kind->make(access->at);
    linger(300);
}

static void make_once(void *argument)
{
    const struct access *access = argument;

    access->kind->make(access->at);
}

static void make_and_abort(void *argument)
{
    make_once(argument);
    ABORT(1);
}

static void a_transaction_that_makes_it_is_aborted_by(const struct access_kind *kind,
                                                      enum work work)
{
    struct access access = {kind, place(kind)};

    EXPECT_OF(kind, commits(make_once, &access));
    for (int last = 0; last <= 1; last++) {
        int status = STARTED;

        access.at = place(kind);
        set_work(work, beside(kind, access.at, last != 0));
        for (long tries = 0; may_try(tries) && (status == STARTED || !(status & CONFLICT)); tries++)
            status = attempt(make_and_linger, &access);
        set_work(REST, NULL);
        EXPECT_OF(kind, status != STARTED && (status & CONFLICT));
    }
}

static void outside_it_aborts(const struct access_kind *kind, enum work work)
{
    for (int last = 0; last <= 1; last++) {
        uint8_t *at = place(kind);
        long before = other.conflicts, tries;

        set_work(work, beside(kind, at, last != 0));
        for (tries = 0;
             may_try(tries) && __atomic_load_n(&other.conflicts, __ATOMIC_RELAXED) == before;
             tries++) {
            kind->make(at);
            linger(100);
        }
        set_work(REST, NULL);
        EXPECT_OF(kind, __atomic_load_n(&other.conflicts, __ATOMIC_RELAXED) != before);
    }
}

static void what_it_stored_is_undone_or_kept(const struct access_kind *kind)
{
    static uint8_t before[sizeof(area)];
    struct access access = {kind, place(kind)};
    int status;

    memcpy(before, area, sizeof(area));
    status = attempt_for(EXPLICIT, make_and_abort, &access);
    EXPECT_OF(kind, (status & CAUSES) == EXPLICIT);
    EXPECT_OF(kind, memcmp(area, before, sizeof(area)) == 0);
    EXPECT_OF(kind, commits(make_once, &access));
    EXPECT_OF(kind, memcmp(area, before, sizeof(area)) != 0);
    for (size_t i = 0; i < sizeof(area); i++)
        EXPECT_OF(kind, area[i] == before[i] ||
                            (area + i >= access.at && area + i < access.at + kind->size));
}

/* The manuals let a processor execute it, so there it may reach the abort. */
static void a_transaction_does_not_survive(const struct access_kind *kind)
{
    static uint8_t before[sizeof(area)];
    struct access access = {kind, place(kind)};

    memcpy(before, area, sizeof(area));
    for (int i = 0; i < 10; i++) {
        int status = attempt(make_and_abort, &access);

        EXPECT_OF(kind, status != STARTED);
        EXPECT_OF(kind, !is_emulated() || (status & CAUSES) == 0);
        EXPECT_OF(kind, memcmp(area, before, sizeof(area)) == 0);
    }
}

#define EACH(table, kind)                                                                          \
    for (const struct access_kind *kind = table; kind < table + sizeof(table) / sizeof(table[0]);  \
         kind++)

static void a_load_of_any_kind_in_a_transaction_joins_its_read_set(void)
{
    EACH(loads, kind)
    a_transaction_that_makes_it_is_aborted_by(kind, PLAIN_STORE);
    if (__builtin_cpu_supports("avx2"))
        EACH(avx2_loads, kind)
    a_transaction_that_makes_it_is_aborted_by(kind, PLAIN_STORE);
}

static void a_store_of_any_kind_in_a_transaction_joins_its_write_set(void)
{
    EACH(stores, kind)
    a_transaction_that_makes_it_is_aborted_by(kind, PLAIN_LOAD);
    if (__builtin_cpu_supports("avx2"))
        EACH(avx2_stores, kind)
    a_transaction_that_makes_it_is_aborted_by(kind, PLAIN_LOAD);
}

static void a_load_of_any_kind_outside_aborts_who_wrote_the_line(void)
{
    EACH(loads, kind)
    outside_it_aborts(kind, STORING_TRANSACTION);
    EACH(unfriendly_loads, kind)
    outside_it_aborts(kind, STORING_TRANSACTION);
    if (__builtin_cpu_supports("avx2"))
        EACH(avx2_loads, kind)
    outside_it_aborts(kind, STORING_TRANSACTION);
}

static void a_store_of_any_kind_outside_aborts_who_read_the_line(void)
{
    EACH(stores, kind)
    outside_it_aborts(kind, LOADING_TRANSACTION);
    EACH(unfriendly_stores, kind)
    outside_it_aborts(kind, LOADING_TRANSACTION);
    if (__builtin_cpu_supports("avx2")) {
        EACH(avx2_stores, kind)
        outside_it_aborts(kind, LOADING_TRANSACTION);
        EACH(avx2_unfriendly_stores, kind)
        outside_it_aborts(kind, LOADING_TRANSACTION);
    }
}

static void a_store_of_any_kind_is_undone_by_an_abort_and_kept_by_a_commit(void)
{
    EACH(stores, kind)
    what_it_stored_is_undone_or_kept(kind);
    if (__builtin_cpu_supports("avx2"))
        EACH(avx2_stores, kind)
    what_it_stored_is_undone_or_kept(kind);
}

static void x87_mmx_and_non_temporal_stores_abort_and_store_nothing(void)
{
    EACH(unfriendly_loads, kind)
    a_transaction_does_not_survive(kind);
    EACH(unfriendly_stores, kind)
    a_transaction_does_not_survive(kind);
    if (__builtin_cpu_supports("avx2"))
        EACH(avx2_unfriendly_stores, kind)
    a_transaction_does_not_survive(kind);
}

int main(void)
{
    pthread_t thread;

    need_transactions();
    a_store_of_any_kind_is_undone_by_an_abort_and_kept_by_a_commit();
    x87_mmx_and_non_temporal_stores_abort_and_store_nothing();
    thread = start_thread(work_beside, NULL);
    a_load_of_any_kind_in_a_transaction_joins_its_read_set();
    a_store_of_any_kind_in_a_transaction_joins_its_write_set();
    a_load_of_any_kind_outside_aborts_who_wrote_the_line();
    a_store_of_any_kind_outside_aborts_who_read_the_line();
    set_work(STOP, NULL);
    end_thread(thread);
    return 0;
}
