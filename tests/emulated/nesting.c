/*
 * SPDX-License-Identifier: MIT
 *
 * Flat nesting: inner transactions are part of the outermost one, which alone commits or aborts.
 */
#include "transaction.h"

enum { DEEPEST = 7 };

static volatile int word, inner_fallback_taken;

static void begin_and_end_to(int depth)
{
    for (int i = 1; i < depth; i++) {
        if (begin() != STARTED)
            inner_fallback_taken = 1;
    }
    for (int i = 1; i < depth; i++) {
        end();
        if (!in_transaction())
            inner_fallback_taken = 2;
    }
}

static void nest(void *depth)
{
    begin_and_end_to(*(int *)depth);
    word++;
}

static void transactions_nest_up_to_seven_deep(void)
{
    for (int depth = 1; depth <= DEEPEST; depth++) {
        word = 0;
        EXPECT(commits(nest, &depth));
        EXPECT_EQUAL(word, 1);
        EXPECT_EQUAL(inner_fallback_taken, 0);
        EXPECT(!in_transaction());
    }
}

static void the_eighth_xbegin_aborts_and_says_nested(void)
{
    int depth = DEEPEST + 1;

    word = 0;
    EXPECT_EQUAL(attempt_for(NESTED, nest, &depth) & CAUSES, NESTED);
    EXPECT_EQUAL(word, 0);
}

static void abort_inside(void *unused)
{
    (void)unused;
    word = 1;
    if (begin() != STARTED)
        inner_fallback_taken = 1;
    word = 2;
    ABORT(0x55);
}

static void an_abort_in_an_inner_one_undoes_all_and_goes_to_the_outermost_fallback(void)
{
    word = 0;
    EXPECT_EQUAL(attempt_for(EXPLICIT | NESTED, abort_inside, NULL) & ~RETRY,
                 0x55 << 24 | EXPLICIT | NESTED);
    EXPECT_EQUAL(word, 0);
    EXPECT_EQUAL(inner_fallback_taken, 0);
}

static void abort_behind_an_inner_one(void *unused)
{
    (void)unused;
    if (begin() == STARTED) {
        word = 3;
        end();
    }
    ABORT(0x56);
}

static void what_an_inner_one_ended_is_undone_with_the_outer_one_and_is_not_nested_any_more(void)
{
    word = 0;
    EXPECT_EQUAL(attempt_for(EXPLICIT, abort_behind_an_inner_one, NULL) & ~RETRY,
                 0x56 << 24 | EXPLICIT);
    EXPECT_EQUAL(word, 0);
}

/* A nest count that an abort left behind would make this fail the second time. */
static void an_abort_resets_the_depth(void)
{
    int depth = DEEPEST;

    for (int i = 0; i < 20; i++) {
        attempt(abort_inside, NULL);
        EXPECT(!in_transaction());
        EXPECT(commits(nest, &depth));
    }
}

int main(void)
{
    need_transactions();
    transactions_nest_up_to_seven_deep();
    the_eighth_xbegin_aborts_and_says_nested();
    an_abort_in_an_inner_one_undoes_all_and_goes_to_the_outermost_fallback();
    what_an_inner_one_ended_is_undone_with_the_outer_one_and_is_not_nested_any_more();
    an_abort_resets_the_depth();
    return 0;
}
