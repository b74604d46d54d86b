/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions whose lines run_test.sh looks for in what "mplace run --tm" reports. A remark "here
 * is ..." marks each.
 */
long places_value;
void (*places_pointer)(void);

long in_library(void);

__attribute__((noinline)) static void work_unseen(void)
{
    __asm__ volatile("" ::: "memory");
}

__attribute__((transaction_callable, noinline)) static void cannot_be_undone(long turn)
{
    places_value++;
    if (turn % 10 == 3)
        work_unseen(); /* here is what forces the switch */
    places_value++;
}

__attribute__((noinline)) static void switching(long turn)
{
    __transaction_relaxed /* here is the transaction that switches */
    {
        places_value++;
        cannot_be_undone(turn); /* here is the call of it */
    }
}

static inline __attribute__((always_inline)) void inlined(void)
{
    __transaction_atomic /* here is the inlined transaction */
    {
        places_value++;
    }
}

__attribute__((noinline)) static void calls_by_pointer(void)
{
    __transaction_relaxed
    {
        places_value++;
        places_pointer(); /* here is the call by pointer */
    }
}

__attribute__((noinline)) static void begins_serially(void)
{
    __transaction_relaxed /* here is the transaction that begins serially */
    {
        work_unseen();
    }
}

int main(void)
{
    places_pointer = work_unseen;
    for (long turn = 0; turn < 50; turn++) {
        switching(turn);
        inlined(); /* here is where it was inlined */
    }
    calls_by_pointer();
    begins_serially();
    return in_library() != 1;
}
