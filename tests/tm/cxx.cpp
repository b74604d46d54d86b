/*
 * SPDX-License-Identifier: MIT
 *
 * C++ in transactions, one claim each: tm_cxx CLAIM. Exceptions leave, are caught, are thrown
 * again; two threads do it at once, so that transactions start again in the middle of it.
 */
#include "expect.h"

#include <cstdint>
#include <exception>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>

namespace
{

long total;
long spare[64];

__attribute__((transaction_pure)) void give_way()
{
    sched_yield();
}

struct error {
    long value;
    explicit error(long number) : value(number)
    {
    }
};

__attribute__((transaction_safe, noinline)) void add(long value)
{
    total += value;
    if (value < 0)
        throw error(value);
}

void an_exception_that_leaves_commits_the_transaction()
{
    long caught = 0;

    try {
        __transaction_atomic
        {
            add(5);
            add(-2);
            add(100);
        }
    } catch (const error &thrown) {
        caught = thrown.value;
    }
    EXPECT(caught == -2 && total == 3);
}

__attribute__((transaction_safe, noinline)) long catch_inside(long value)
{
    try {
        add(value);
    } catch (...) { /* gcc 12 cannot compile handlers of a type here */
        total += 1000;
        return 1;
    }
    return 0;
}

void an_exception_can_be_thrown_and_caught_inside()
{
    long got;

    __transaction_atomic
    {
        got = catch_inside(-7);
    }
    EXPECT(got == 1 && total == 993 && std::uncaught_exceptions() == 0);
}

void a_cancelled_transaction_forgets_its_exceptions()
{
    for (int i = 0; i < 20000; i++) {
        __transaction_atomic
        {
            catch_inside(-7);
            try {
                add(-1);
            } catch (...) {
                total++;
                __transaction_cancel;
            }
        }
        EXPECT(total == 0 && std::uncaught_exceptions() == 0 && !std::current_exception());
    }
}

void the_standard_exceptions_keep_their_text()
{
    for (int i = 0; i < 100; i++) {
        bool right = false;

        try {
            __transaction_atomic
            {
                throw std::out_of_range("a text that is longer than any short string could be");
            }
        } catch (const std::out_of_range &thrown) {
            right =
                strcmp(thrown.what(), "a text that is longer than any short string could be") == 0;
        }
        EXPECT(right);
    }
}

int destroyed;
void *kept;

__attribute__((transaction_pure, noinline)) void count_destroyed()
{
    if (++destroyed > 20)
        abort();
}

/* Its destructor, which libstdc++ calls, has a transaction that allocates and frees. */
struct with_transaction {
    long value[4] = {1, 2, 3, 4};
    ~with_transaction()
    {
        count_destroyed();
        __transaction_atomic
        {
            free(kept);
            kept = malloc(16);
        }
    }
};

__attribute__((transaction_safe, noinline)) void throw_and_catch()
{
    try {
        throw with_transaction();
    } catch (...) {
        total++;
    }
}

void an_exception_is_destroyed_once_where_its_destructor_has_transactions()
{
    kept = malloc(100);
    __transaction_atomic
    {
        free(kept); /* once, and not again when the first destructor's transaction ends */
        kept = nullptr;
        throw_and_catch();
        throw_and_catch();
    }
    EXPECT(destroyed == 2 && total == 2);
    free(kept);
}

struct node {
    node *next;
    long value;
};
node *list;

void what_new_made_is_deleted_once_or_kept()
{
    for (int i = 0; i < 1000; i++) {
        __transaction_atomic
        {
            node *fresh = new node;
            fresh->next = list;
            fresh->value = i;
            list = fresh;
            if (i % 3 == 1)
                __transaction_cancel;
        }
        __transaction_atomic
        {
            if (i % 3 == 2) {
                node *old = list;
                list = old->next;
                delete old;
                delete[] new long[10];
            }
        }
    }
    long count = 0;
    while (list != nullptr) {
        node *next = list->next;
        EXPECT(list->value % 3 == 0);
        delete list;
        list = next;
        count++;
    }
    EXPECT(count == 334);
}

void *throw_often(void *)
{
    for (int i = 0; i < 3000; i++) {
        try {
            __transaction_atomic
            {
                spare[i % 64]++;
                catch_inside(-1);
                give_way();
                total -= 999;
                add(i % 2 == 0 ? -1 : 1);
            }
            EXPECT(i % 2 == 1);
        } catch (const error &thrown) {
            EXPECT(i % 2 == 0 && thrown.value == -1);
        }
        EXPECT(std::uncaught_exceptions() == 0 && !std::current_exception());
    }
    return nullptr;
}

void transactions_with_exceptions_start_again_and_come_out_right()
{
    pthread_t threads[3];
    long sum = 0;

    for (pthread_t &thread : threads)
        pthread_create(&thread, nullptr, throw_often, nullptr);
    for (pthread_t &thread : threads)
        pthread_join(thread, nullptr);
    for (long value : spare)
        sum += value;
    EXPECT(sum == 9000 && total == 0);
}

/* The functions that the thread leaves are unwound, as by an exception, which would commit. */
extern "C" int _ITM_inTransaction() __attribute__((transaction_pure));
bool was_irrevocable;

__attribute__((transaction_pure, noinline)) void end_thread()
{
    was_irrevocable = _ITM_inTransaction() == 2;
    if (total != -12345) /* always, which gcc must not know */
        pthread_exit(nullptr);
}

__attribute__((noinline)) void begin_and_end(int depth)
{
    __transaction_atomic
    {
        spare[depth] = 100;
        if (depth > 0)
            begin_and_end(depth - 1);
        end_thread();
        spare[depth + 2] = 100;
    }
}

void *end_inside(void *depth)
{
    begin_and_end((int)(intptr_t)depth);
    return nullptr;
}

void what_a_thread_did_that_ends_where_it_is_unwound_is_undone()
{
    for (intptr_t depth = 0; depth < 2; depth++) {
        pthread_t thread;

        for (long &value : spare)
            value = 7;
        pthread_create(&thread, nullptr, end_inside, (void *)depth);
        pthread_join(thread, nullptr);
        for (intptr_t i = 0; i < 4; i++)
            EXPECT(spare[i] == (was_irrevocable && i <= depth ? 100 : 7));
        __transaction_atomic
        {
            total++;
            total--;
        }
    }
}

const claim claims[] = {
    CLAIM(what_a_thread_did_that_ends_where_it_is_unwound_is_undone),
    CLAIM(an_exception_that_leaves_commits_the_transaction),
    CLAIM(an_exception_can_be_thrown_and_caught_inside),
    CLAIM(a_cancelled_transaction_forgets_its_exceptions),
    CLAIM(the_standard_exceptions_keep_their_text),
    CLAIM(an_exception_is_destroyed_once_where_its_destructor_has_transactions),
    CLAIM(what_new_made_is_deleted_once_or_kept),
    CLAIM(transactions_with_exceptions_start_again_and_come_out_right),
};

} // namespace

int main(int argc, char **argv)
{
    return run_claim(argc, argv, claims, sizeof claims / sizeof *claims);
}
