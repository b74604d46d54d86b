/*
 * SPDX-License-Identifier: MIT
 *
 * What gcc -fgnu-tm asks of its library, one claim each: tm_abi CLAIM. All of it must hold under
 * every algorithm.
 */
#include "expect.h"

#include <complex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define SAFE __attribute__((transaction_safe, noinline))
#define PURE __attribute__((transaction_pure))

/* Of the library. */
int _ITM_inTransaction(void) PURE;
uint64_t _ITM_getTransactionId(void) PURE;
void _ITM_addUserCommitAction(void (*)(void *), uint64_t, void *) PURE;
void _ITM_addUserUndoAction(void (*)(void *), void *) PURE;
int _ITM_versionCompatible(int);
void _ITM_registerTMCloneTable(void *, size_t);
void _ITM_deregisterTMCloneTable(void *);
void *_ITM_getTMCloneSafe(void *);

typedef float vector_128 __attribute__((vector_size(16)));
typedef int vector_64 __attribute__((vector_size(8)));

static struct all_types {
    char c;
    short s;
    int i;
    long l;
    float f;
    double d;
    long double e;
    float complex cf;
    double complex cd;
    long double complex ce;
    vector_64 m64;
    vector_128 m128;
} from, to;

SAFE static void copy_types(const struct all_types *a, struct all_types *b)
{
    b->c = a->c;
    b->s = a->s;
    b->i = a->i;
    b->l = a->l;
    b->f = a->f;
    b->d = a->d;
    b->e = a->e;
    b->cf = a->cf;
    b->cd = a->cd;
    b->ce = a->ce;
    b->m64 = a->m64;
    b->m128 = a->m128;
}

static void values_of_every_type_come_through(void)
{
    from = (struct all_types){.c = -3,
                              .s = -300,
                              .i = 1 << 30,
                              .l = 1L << 60,
                              .f = 1.5f,
                              .d = -2.25,
                              .e = 3.0L / 7,
                              .cf = 1.0f + 2.0f * I,
                              .cd = 3.0 - 4.0 * I,
                              .ce = 5.0L / 3 + 6.0L * I,
                              .m64 = {7, -8},
                              .m128 = {1, 2, 3, 4}};
    __transaction_atomic
    {
        copy_types(&from, &to);
    }
    EXPECT(to.c == from.c && to.s == from.s && to.i == from.i && to.l == from.l);
    EXPECT(to.f == from.f && to.d == from.d && to.e == from.e);
    EXPECT(to.cf == from.cf && to.cd == from.cd && to.ce == from.ce);
    EXPECT(memcmp(&to.m64, &from.m64, 8) == 0 && memcmp(&to.m128, &from.m128, 16) == 0);
}

static void a_cancelled_transaction_leaves_no_trace(void)
{
    static struct all_types empty;
    int after = 0;

    values_of_every_type_come_through();
    to = empty;
    __transaction_atomic
    {
        copy_types(&from, &to);
        if (to.i == from.i)
            __transaction_cancel;
        after = 1;
    }
    EXPECT(memcmp(&to, &empty, sizeof to) == 0);
    EXPECT(after == 0);
}

/* ---- nesting ---- */

static int outer_value, inner_value, innermost_value;

SAFE static void nested(int cancel_inner, int cancel_innermost)
{
    inner_value = 1;
    __transaction_atomic
    {
        inner_value = 2;
        __transaction_atomic
        {
            innermost_value = inner_value + 1;
            if (cancel_innermost)
                __transaction_cancel;
        }
        inner_value += 10;
        if (cancel_inner)
            __transaction_cancel;
    }
}

static void cancelling_a_nested_transaction_undoes_that_one_alone(void)
{
    for (int cancel = 0; cancel < 4; cancel++) {
        outer_value = inner_value = innermost_value = 0;
        __transaction_atomic
        {
            outer_value = 5;
            nested(cancel & 1, cancel & 2);
            outer_value += inner_value;
        }
        EXPECT(inner_value == (cancel & 1 ? 1 : 12));
        EXPECT(innermost_value == (cancel == 0 ? 3 : 0));
        EXPECT(outer_value == 5 + inner_value);
    }
}

static int irrevocable_done;

__attribute__((noinline)) static void unsafe(void)
{
    __asm__ volatile("" ::: "memory");
    irrevocable_done++;
}

static void what_is_nested_in_an_irrevocable_transaction_can_still_be_cancelled(void)
{
    outer_value = inner_value = innermost_value = 0;
    __transaction_relaxed
    {
        unsafe();
        outer_value = 7;
        nested(1, 0);
        outer_value++;
    }
    EXPECT(irrevocable_done == 1 && outer_value == 8 && inner_value == 1 && innermost_value == 0);
}

/* ---- stack and registers ---- */

SAFE static void fill(char *buffer, int byte, size_t size)
{
    for (size_t i = 0; i < size; i++)
        buffer[i] = (char)(byte + (int)i);
}

static void locals_are_what_the_program_says(void)
{
    char mine[64];
    int sum = 0, kept = 3;
    double number = 1.25;

    __transaction_atomic
    {
        fill(mine, 1, sizeof mine);
        for (size_t i = 0; i < sizeof mine; i++)
            sum += mine[i];
    }
    EXPECT(sum == 64 * 65 / 2);
    __transaction_atomic
    {
        fill(mine, 9, sizeof mine);
        sum = 1;
        kept++;
        number *= 2;
        outer_value = mine[3];
        __transaction_cancel;
    }
    EXPECT(mine[5] == 6 && kept == 3 && sum == 64 * 65 / 2 && number == 1.25);
}

/* ---- memory in bulk ---- */

static char bulk[4096], expected[4096];

static void copies_that_overlap_and_cross_every_stripe_are_right(void)
{
    for (size_t size = 0; size < 2000; size = size * 2 + 3) {
        for (int shift = -70; shift <= 70; shift += 35) {
            for (size_t i = 0; i < sizeof bulk; i++)
                bulk[i] = expected[i] = (char)(i * 7);
            memmove(expected + 1000 + shift, expected + 1000, size);
            memset(expected + 3500, 'x', 100);
            __transaction_atomic
            {
                memmove(bulk + 1000 + shift, bulk + 1000, size);
                memset(bulk + 3500, 'x', 100);
            }
            EXPECT(memcmp(bulk, expected, sizeof bulk) == 0);
            __transaction_atomic
            {
                memcpy(bulk, bulk + 2048, size < 1000 ? size : 1000);
                memset(bulk + 10, 0, 500);
                __transaction_cancel;
            }
            EXPECT(memcmp(bulk, expected, sizeof bulk) == 0);
        }
    }
}

static void bytes_of_a_word_are_written_one_by_one_and_read_together(void)
{
    static union {
        unsigned char bytes[8];
        uint64_t word;
    } shared;
    uint64_t got;

    shared.word = UINT64_MAX;
    __transaction_atomic
    {
        shared.bytes[1] = 0x11;
        shared.bytes[6] = 0x66;
        got = shared.word;
        *(uint16_t *)(void *)&shared.bytes[2] = 0;
    }
    EXPECT(got == 0xff66ffffffff11ff);
    EXPECT(shared.word == 0xff66ffff000011ff);
}

/* ---- allocation ---- */

static void *kept_block;

static void what_a_transaction_frees_is_there_until_it_commits(void)
{
    static char *block;
    char seen;

    block = malloc(100000);
    block[5] = 'b';
    __transaction_atomic
    {
        free(block);
        seen = block[5];
        __transaction_cancel;
    }
    EXPECT(block[5] == 'b');
    __transaction_atomic
    {
        free(block);
        seen = block[5];
        block = NULL;
    }
    EXPECT(seen == 'b' && block == NULL);
}

static void allocations_of_a_cancelled_transaction_are_freed(void)
{
    for (int i = 0; i < 2000; i++) {
        __transaction_atomic
        {
            char *block = malloc(1 << 20);

            block[0] = 1;
            kept_block = calloc(1, 1 << 20);
            __transaction_cancel;
        }
    }
    EXPECT(kept_block == NULL);
}

/* ---- functions by pointer ---- */

static int doubled;

SAFE static void twice(int value)
{
    doubled = 2 * value;
}

static void no_clone(int value)
{
    doubled = 3 * value;
    EXPECT(_ITM_inTransaction() == 2);
}

static void pointers_call_the_clone_or_make_the_transaction_irrevocable(void)
{
    void (*volatile safe_now)(int) __attribute__((transaction_safe)) = twice;
    void (*volatile unsafe_now)(int) = no_clone;
    void (*safe_pointer)(int) __attribute__((transaction_safe)) = safe_now;
    typedef void callable_function(int) __attribute__((transaction_callable));
    callable_function *callable = (callable_function *)unsafe_now;

    __transaction_atomic
    {
        safe_pointer(4);
    }
    EXPECT(doubled == 8);
    __transaction_relaxed
    {
        doubled = 1;
        callable(5);
    }
    EXPECT(doubled == 15);
}

/* The linker joins the tables of a program's sources as they come. */
static void clones_are_found_in_a_table_of_any_order(void)
{
    enum { MOST = 40 };
    static char functions[MOST], clones[MOST];

    for (unsigned count = 1; count <= MOST; count++) {
        void *table[MOST][2];
        unsigned state = count;

        for (unsigned i = 0; i < count; i++) {
            table[i][0] = &functions[i];
            table[i][1] = &clones[i];
        }
        for (unsigned i = count; i-- > 1;) {
            unsigned with = (state = state * 1103515245 + 12345) >> 16;
            void *pair[2] = {table[i][0], table[i][1]};

            memcpy(table[i], table[with % (i + 1)], sizeof pair);
            memcpy(table[with % (i + 1)], pair, sizeof pair);
        }
        _ITM_registerTMCloneTable(table, count);
        for (unsigned i = 0; i < count; i++)
            EXPECT(_ITM_getTMCloneSafe(&functions[i]) == &clones[i]);
        _ITM_deregisterTMCloneTable(table);
    }
}

enum { TABLE_SIZE = 4096 };

static void *table_in_use;
static int is_in_use, has_gone, went_in_use;

static void give_table_back(int signal)
{
    (void)signal;
    __atomic_store_n(&is_in_use, 1, __ATOMIC_RELEASE);
    usleep(20000);
    went_in_use = __atomic_load_n(&has_gone, __ATOMIC_ACQUIRE);
    mprotect(table_in_use, TABLE_SIZE, PROT_READ | PROT_WRITE);
}

PURE static void wait_until_gone(void)
{
    __atomic_store_n(&is_in_use, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&has_gone, __ATOMIC_ACQUIRE))
        usleep(100);
}

SAFE static void with_clone(void)
{
}

/* One that may be cancelled has barriers, and looks clones up, also where it runs alone. */
static void *call_by_pointer(void *cancels)
{
    void (*volatile pointer)(void) __attribute__((transaction_safe)) = with_clone;

    __transaction_atomic
    {
        pointer();
        if (cancels != NULL)
            __transaction_cancel;
    }
    return cancels;
}

static void *wait_in_transaction(void *nothing)
{
    __transaction_atomic
    {
        wait_until_gone();
    }
    return nothing;
}

/* Takes the table away while the function runs in another thread. */
static void take_table_during(void *(*function)(void *))
{
    pthread_t thread;

    is_in_use = has_gone = 0;
    pthread_create(&thread, NULL, function, NULL);
    while (!__atomic_load_n(&is_in_use, __ATOMIC_ACQUIRE))
        usleep(100);
    _ITM_deregisterTMCloneTable(table_in_use);
    __atomic_store_n(&has_gone, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

static void *register_table(void)
{
    table_in_use =
        mmap(NULL, TABLE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(table_in_use != MAP_FAILED);
    _ITM_registerTMCloneTable(table_in_use, TABLE_SIZE / 16);
    return table_in_use;
}

/* The search is stopped in the table, by a page that cannot be read. */
static void a_table_goes_after_the_search_that_is_in_it(void)
{
    alarm(10);
    signal(SIGSEGV, give_table_back);
    mprotect(register_table(), TABLE_SIZE, PROT_NONE);
    take_table_during(call_by_pointer);
    EXPECT(!went_in_use);
}

static void a_table_goes_while_transactions_run(void)
{
    alarm(10);
    register_table();
    take_table_during(wait_in_transaction);
}

/* ---- actions and questions ---- */

static char order[16];

static void append(void *letter)
{
    strcat(order, letter);
}

static void actions_run_at_commit_in_order_and_at_abort_backwards(void)
{
    for (int cancel = 0; cancel < 2; cancel++) {
        __transaction_atomic
        {
            _ITM_addUserCommitAction(append, 1, "a");
            _ITM_addUserUndoAction(append, "x");
            _ITM_addUserCommitAction(append, 1, "b");
            _ITM_addUserUndoAction(append, "y");
            outer_value++;
            if (cancel)
                __transaction_cancel;
        }
    }
    EXPECT(strcmp(order, "abyx") == 0);
}

static void begins_again(void *argument)
{
    (void)argument;
    EXPECT(_ITM_inTransaction() == 0);
    __transaction_atomic
    {
        outer_value = 77;
        _ITM_addUserCommitAction(append, 1, "n");
    }
}

static void a_commit_action_may_have_transactions(void)
{
    __transaction_atomic
    {
        outer_value = 1;
        _ITM_addUserCommitAction(begins_again, 1, NULL);
        _ITM_addUserCommitAction(append, 1, "l");
    }
    EXPECT(outer_value == 77 && strcmp(order, "nl") == 0);
}

SAFE static void add_to(int *sum, int value)
{
    *sum += value;
}

/* Built with -fno-ipa-modref, without which gcc leaves out the barriers here and not in add_to. */
static void a_block_from_before_the_transaction_has_what_functions_wrote(void)
{
    int *block = malloc(8);
    int inside = 0;

    *block = 5;
    __transaction_atomic
    {
        add_to(block, 1);
        inside = *block;
        *block = inside + 1;
        add_to(block, 1);
        outer_value = inside;
    }
    EXPECT(inside == 6 && *block == 8);
    free(block);
}

static void the_library_tells_who_is_in_which_transaction(void)
{
    uint64_t outside = _ITM_getTransactionId(), inside, other, before = 0, nested_id = 0;
    int how;

    EXPECT(_ITM_versionCompatible(90) && !_ITM_versionCompatible(91));
    EXPECT(_ITM_inTransaction() == 0 && outside == 1);
    /* Under htm the first call of a function is bound, which no hardware transaction survives. */
    for (int i = 0; i < 3; i++) {
        __transaction_atomic
        {
            outer_value = 1;
            how = _ITM_inTransaction();
            inside = _ITM_getTransactionId();
        }
        EXPECT(how != 0 && inside > 1);
    }
    __transaction_atomic
    {
        outer_value = 2;
        before = _ITM_getTransactionId();
        __transaction_atomic
        {
            outer_value = 3;
            nested_id = _ITM_getTransactionId();
            if (outer_value == 4)
                __transaction_cancel;
        }
        other = _ITM_getTransactionId();
    }
    EXPECT(how != 0 && inside > 1 && other > 1 && other != inside);
    EXPECT(nested_id == 0 || nested_id != before);
    __transaction_atomic
    {
        outer_value = 5;
    }
    EXPECT(_ITM_inTransaction() == 0);
    __transaction_relaxed
    {
        unsafe();
        how = _ITM_inTransaction();
    }
    EXPECT(how == 2);
}

static const struct claim claims[] = {
    CLAIM(values_of_every_type_come_through),
    CLAIM(a_cancelled_transaction_leaves_no_trace),
    CLAIM(cancelling_a_nested_transaction_undoes_that_one_alone),
    CLAIM(what_is_nested_in_an_irrevocable_transaction_can_still_be_cancelled),
    CLAIM(locals_are_what_the_program_says),
    CLAIM(copies_that_overlap_and_cross_every_stripe_are_right),
    CLAIM(bytes_of_a_word_are_written_one_by_one_and_read_together),
    CLAIM(what_a_transaction_frees_is_there_until_it_commits),
    CLAIM(allocations_of_a_cancelled_transaction_are_freed),
    CLAIM(pointers_call_the_clone_or_make_the_transaction_irrevocable),
    CLAIM(clones_are_found_in_a_table_of_any_order),
    CLAIM(a_table_goes_after_the_search_that_is_in_it),
    CLAIM(a_table_goes_while_transactions_run),
    CLAIM(actions_run_at_commit_in_order_and_at_abort_backwards),
    CLAIM(a_commit_action_may_have_transactions),
    CLAIM(a_block_from_before_the_transaction_has_what_functions_wrote),
    CLAIM(the_library_tells_who_is_in_which_transaction),
};

int main(int argc, char **argv)
{
    return run_claim(argc, argv, claims, sizeof claims / sizeof *claims);
}
