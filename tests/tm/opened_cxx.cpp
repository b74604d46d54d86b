/*
 * SPDX-License-Identifier: MIT
 *
 * Exceptions, new and delete in transactions of a library; for open_cxx.c. With TM_OWN_LIBSTDCXX a
 * program of its own: a libstdc++ that is linked into it cannot take back what was caught.
 */
#include "expect.h"

#include <exception>

#define PURE __attribute__((transaction_pure))

extern "C" {
PURE void _ITM_abortTransaction(int reason);
__attribute__((visibility("default"))) void check_cxx();
}

namespace
{

enum { USER_ABORT = 1 };

int total;

__attribute__((transaction_safe, noipa)) void add(int value)
{
    total += value;
    if (value < 0)
        throw value;
}

__attribute__((transaction_safe, noipa)) void catch_inside()
{
    try {
        add(-1);
    } catch (...) {
        total += 10;
    }
}

PURE __attribute__((noinline)) void abort_now()
{
    _ITM_abortTransaction(USER_ABORT);
}

struct aborts {
    __attribute__((transaction_safe, noinline)) ~aborts()
    {
        abort_now();
    }
};

__attribute__((transaction_safe, noipa)) void abort_while_an_exception_is_on_its_way()
{
    aborts at_the_end;

    add(-1);
}

void an_exception_is_caught_inside()
{
    __transaction_atomic
    {
        catch_inside();
    }
    EXPECT(total == 9);
}

void an_exception_leaves()
{
    int caught = 0;

    try {
        __transaction_atomic
        {
            add(-2);
        }
    } catch (int value) {
        caught = value;
    }
    EXPECT(caught == -2 && total == 7);
}

void a_cancelled_transaction_has_thrown_nothing(bool cancels)
{
    __transaction_atomic
    {
        catch_inside();
        if (cancels)
            __transaction_cancel;
    }
    try {
        __transaction_atomic
        {
            abort_while_an_exception_is_on_its_way();
            if (cancels)
                __transaction_cancel;
        }
    } catch (int) {
        total = 0;
    }
    EXPECT(total == 7 && std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
}

void what_is_new_is_deleted()
{
    int *number, *numbers;

    __transaction_atomic
    {
        number = new int(5);
        numbers = new int[2];
        numbers[1] = 6;
    }
    EXPECT(*number == 5 && numbers[1] == 6);
    __transaction_atomic
    {
        delete number;
        delete[] numbers;
    }
}

} // namespace

#ifdef TM_OWN_LIBSTDCXX
int main()
{
    what_is_new_is_deleted();
    an_exception_is_caught_inside();
    an_exception_leaves();
    return 0;
}
#endif

void check_cxx()
{
    what_is_new_is_deleted();
    an_exception_is_caught_inside();
    an_exception_leaves();
    a_cancelled_transaction_has_thrown_nothing(total != 0);
}
