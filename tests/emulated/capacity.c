/*
 * SPDX-License-Identifier: MIT
 *
 * How much fits. A written line must stay in the first-level cache: a set of it holds as many as it
 * has ways. A line that was only read may leave that cache, within a bound of its own.
 *
 * Argument: which claims, and for the emulator's options the numbers they promise:
 *   sets SETS WAYS       the write set of a SETS x WAYS cache (natively: this processor's)
 *   reads LINES          LINES lines may be read, one more may not
 *   second SETS WAYS     the read set of a second level of this geometry
 *   replacement lru|tree which line leaves
 *   interrupts BLOCKS    one every BLOCKS of code on average interrupts a transaction
 *   no-interrupts        none ever does
 *   no-first-touch       transactions bring pages in
 */
#include "transaction.h"

#include <sys/mman.h>

enum { LINE = 64, AREA = 16 << 20 };

static volatile uint8_t *area;

struct walk {
    size_t first, stride, count; /* lines */
    bool store;
    size_t then_load; /* so many lines from the start of the area afterwards */
};

/* One transaction that walks. It is written out here, without a call, so that it stores nothing but
 * what the walk says: a return address would be a written line that has to stay, too. */
static int attempt_walk(const struct walk *walk)
{
    volatile uint8_t *start = area, *at = area + walk->first * LINE;
    volatile uint8_t *end_at = at + walk->count * walk->stride * LINE;
    volatile uint8_t *then_end = start + walk->then_load * LINE;
    size_t step = walk->stride * LINE;
    bool store = walk->store;
    int status = begin();

    if (status == STARTED) {
        if (store) {
            for (; at != end_at; at += step)
                *at = 1;
        } else {
            for (; at != end_at; at += step)
                (void)*at;
        }
        for (; start != then_end; start += LINE)
            (void)*start;
        end();
    }
    return status;
}

static bool walk_commits(const struct walk *walk)
{
    for (int i = 0; i < attempts(); i++) {
        if (attempt_walk(walk) == STARTED)
            return true;
    }
    return false;
}

static bool walk_overflows(const struct walk *walk)
{
    for (int i = 0; i < attempts(); i++) {
        int status = attempt_walk(walk);

        if (status != STARTED && (status & CAUSES) == CAPACITY)
            return true;
    }
    return false;
}

static void make_area(void)
{
    void *pages =
        mmap(NULL, AREA + LINE * 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT(pages != MAP_FAILED);
    area = (void *)(((uintptr_t)pages + LINE * 65536 - 1) & ~(uintptr_t)(LINE * 65536 - 1));
    memset((void *)area, 1, AREA);
}

/* A set far from those of the stack and of static data, which the transactions touch as well. */
static size_t quiet_set(size_t sets)
{
    size_t stack = (uintptr_t)__builtin_frame_address(0) / LINE % sets;
    size_t data = (uintptr_t)&area / LINE % sets;

    for (size_t set = 0;; set++) {
        size_t from_stack = (set + sets - stack) % sets, from_data = (set + sets - data) % sets;

        if (from_stack > sets / 8 && from_stack < sets - sets / 8 && from_data > 2 &&
            from_data < sets - 2)
            return set;
    }
}

static void a_set_holds_as_many_written_lines_as_it_has_ways(size_t sets, size_t ways)
{
    struct walk fits = {quiet_set(sets), sets, is_emulated() ? ways : ways / 2, true, 0};
    struct walk overflows = {quiet_set(sets), sets, is_emulated() ? ways + 1 : ways * 4, true, 0};

    for (int i = 0; i < 10; i++) {
        EXPECT(walk_commits(&fits));
        EXPECT(walk_overflows(&overflows));
    }
}

static void other_sets_are_no_help_and_no_hindrance(size_t sets, size_t ways)
{
    /* One line a set, all but one row of the cache's ways. */
    struct walk fits = {0, 1, sets * (is_emulated() ? ways - 2 : ways / 2), true, 0};
    struct walk too_many = {0, 1, sets * ways * 2, true, 0};

    EXPECT(walk_commits(&fits));
    EXPECT(walk_overflows(&too_many));
}

static void capacity_says_that_a_retry_will_not_help(size_t sets, size_t ways)
{
    struct walk overflows = {quiet_set(sets), sets, ways * 4, true, 0};

    int status = 0;

    for (int i = 0; i < attempts() && !(status & CAPACITY); i++)
        status = attempt_walk(&overflows);
    EXPECT_EQUAL(status & (CAUSES | RETRY), CAPACITY);
}

static void many_more_lines_may_be_read_than_the_first_level_holds(size_t sets, size_t ways)
{
    struct walk reads = {0, 1, sets * ways * 4, false, 0};
    struct walk one_set = {quiet_set(sets), sets, ways * 4, false, 0};

    EXPECT(walk_commits(&reads));
    EXPECT(walk_commits(&one_set));
}

/* The line that was written goes out when lines that are only read come in. */
static void reads_push_a_written_line_out(size_t sets, size_t ways)
{
    struct walk first = {quiet_set(sets), sets, 1, true, sets * ways * 4};

    EXPECT(walk_overflows(&first));
}

static void a_written_line_that_is_used_all_the_time_stays(size_t sets, size_t ways)
{
    volatile uint8_t *written = area + quiet_set(sets) * LINE;
    size_t step = sets * LINE;
    int status = 0;

    for (int i = 0; i < attempts() && status != STARTED; i++) {
        volatile uint8_t *at = written + step, *end_at = written + step * ways * 8;

        status = begin();
        if (status == STARTED) {
            *written = 1;
            for (; at != end_at; at += step) {
                (void)*at;
                (void)*written; /* used again and again: never the oldest */
            }
            end();
        }
    }
    EXPECT_EQUAL(status, STARTED);
}

static void so_many_lines_may_be_read_and_one_more_aborts_for_capacity(size_t lines)
{
    /* The body's own words are a few lines more. */
    struct walk fits = {0, 1, lines - 8, false, 0}, too_many = {0, 1, lines + 1, false, 0};

    EXPECT(walk_commits(&fits));
    EXPECT(walk_overflows(&too_many));
}

static void the_second_level_bounds_what_is_read(size_t sets, size_t ways)
{
    struct walk fits = {0, 1, sets * (ways - 1), false, 0};
    struct walk all_over = {0, 1, sets * ways * 4, false, 0};

    EXPECT(walk_commits(&fits));
    EXPECT(walk_overflows(&all_over));
}

/*
 * A set of four ways, full of other lines. A is written, then B, C, D and again C are read, and E
 * comes in: true LRU gives A up. A tree takes the halves in turn: A and C lie in one, B and D in
 * the other. C was used last, so the root points at the other half, and B goes.
 */
static void the_oldest_line_leaves_or_the_one_that_the_tree_points_at(const char *replacement)
{
    volatile uint8_t *a = area + quiet_set(64) * LINE;
    struct walk fill = {quiet_set(64) + 64 * 16, 64, 4, false, 0};
    int status;

    /* Full of other lines first, in the places 0 to 3 in this order. */
    EXPECT(walk_commits(&fill));
    status = begin();
    if (status == STARTED) {
        a[0] = 1;
        (void)a[64 * LINE];
        (void)a[128 * LINE];
        (void)a[192 * LINE];
        (void)a[128 * LINE];
        (void)a[256 * LINE];
        end();
    }
    if (strcmp(replacement, "lru") == 0)
        EXPECT_EQUAL(status & CAUSES, CAPACITY);
    else
        EXPECT_EQUAL(status, STARTED);
}

/* Lines of one set: the first level has room for some, and what leaves it goes to the second. */
static void a_set_holds_as_many_read_lines_as_both_levels_have_ways(size_t first_ways,
                                                                    size_t second_sets,
                                                                    size_t second_ways)
{
    size_t fit = first_ways + second_ways;
    struct walk fits = {quiet_set(64), second_sets, fit, false, 0};
    struct walk elsewhere = {quiet_set(64) + 64 * second_sets, second_sets, fit, false, 0};
    struct walk too_many = {quiet_set(64), second_sets, fit + 1, false, 0};

    for (int i = 0; i < 10; i++) {
        EXPECT(walk_commits(&fits));
        EXPECT(walk_commits(&elsewhere)); /* what earlier transactions left there may go */
        EXPECT(walk_overflows(&too_many));
    }
}

/* What CPUID's leaf 4 says of a data or unified cache of this level. */
static void cpuid_describes_the_cache(unsigned level, size_t sets, size_t ways)
{
    unsigned eax, ebx, ecx, edx;

    for (unsigned index = 0; __get_cpuid_count(4, index, &eax, &ebx, &ecx, &edx); index++) {
        enum { NONE = 0, INSTRUCTIONS = 2 };

        EXPECT((eax & 31) != NONE);
        if ((eax & 31) == INSTRUCTIONS || (eax >> 5 & 7) != level)
            continue;
        EXPECT_EQUAL((ebx >> 22) + 1, ways);
        EXPECT_EQUAL((ebx & 0xfff) + 1, LINE);
        EXPECT_EQUAL(ecx + 1, sets);
        return;
    }
}

static void work_long(void *unused)
{
    (void)unused;
    linger(20000);
}

static void work_shortly(void *unused)
{
    (void)unused;
    linger(10);
}

static void long_transactions_are_interrupted_and_short_ones_mostly_commit(void)
{
    int long_ones = 0, short_ones = 0;

    for (int i = 0; i < 100; i++) {
        int status = attempt(work_long, NULL);

        EXPECT(status == STARTED || (status & CAUSES) == 0);
        long_ones += status == STARTED;
        short_ones += attempt(work_shortly, NULL) == STARTED;
    }
    EXPECT(long_ones < 10);
    EXPECT(short_ones > 80);
}

/* A loop of `blocks` blocks of code: what a call returns to begins a new one, twice a round. */
static __attribute__((noinline)) void be_called(void)
{
    __asm__ volatile("");
}

static void work_blocks(void *blocks)
{
    for (unsigned i = 0; i < *(unsigned *)blocks; i += 2)
        be_called();
}

static double share_interrupted(unsigned blocks)
{
    enum { TRANSACTIONS = 4000 };
    int interrupted = 0;

    for (int i = 0; i < TRANSACTIONS; i++)
        interrupted += attempt(work_blocks, &blocks) != STARTED;
    return (double)interrupted / TRANSACTIONS;
}

static void the_share_of_interrupted_transactions_is_their_length_by_the_rate(unsigned rate)
{
    for (unsigned part = 40; part >= 5; part /= 2) {
        double share = share_interrupted(rate / part), expected = 1.0 / part;

        EXPECT(share > expected * 0.6 && share < expected * 1.5);
    }
}

static void no_transaction_is_interrupted_if_nothing_else_was_asked_for(void)
{
    unsigned blocks = 1000000;

    for (int i = 0; i < 20; i++)
        EXPECT_EQUAL(attempt(work_blocks, &blocks), STARTED);
}

static void a_transaction_brings_pages_in_when_first_touches_do_not_count(void)
{
    volatile uint8_t *pages =
        mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct walk touch = {0, 65, 15, true, 0}; /* a page each, and a set each */

    EXPECT(pages != MAP_FAILED);
    area = pages;
    EXPECT_EQUAL(attempt_walk(&touch), STARTED);
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "sets";
    size_t first = count > 2 ? strtoul(arguments[2], NULL, 0) : 64;
    size_t second = count > 3 ? strtoul(arguments[3], NULL, 0) : 8;

    need_transactions();
    make_area();
    if (strcmp(what, "sets") == 0) {
        a_set_holds_as_many_written_lines_as_it_has_ways(first, second);
        other_sets_are_no_help_and_no_hindrance(first, second);
        capacity_says_that_a_retry_will_not_help(first, second);
        many_more_lines_may_be_read_than_the_first_level_holds(first, second);
        reads_push_a_written_line_out(first, second);
        a_written_line_that_is_used_all_the_time_stays(first, second);
        if (is_emulated())
            cpuid_describes_the_cache(1, first, second);
    } else if (strcmp(what, "reads") == 0) {
        so_many_lines_may_be_read_and_one_more_aborts_for_capacity(first);
    } else if (strcmp(what, "second") == 0) {
        the_second_level_bounds_what_is_read(first, second);
        a_set_holds_as_many_read_lines_as_both_levels_have_ways(8, first, second);
        cpuid_describes_the_cache(2, first, second);
    } else if (strcmp(what, "replacement") == 0) {
        EXPECT(count > 2);
        the_oldest_line_leaves_or_the_one_that_the_tree_points_at(arguments[2]);
    } else if (strcmp(what, "interrupts") == 0) {
        long_transactions_are_interrupted_and_short_ones_mostly_commit();
        the_share_of_interrupted_transactions_is_their_length_by_the_rate((unsigned)first);
    } else if (strcmp(what, "no-interrupts") == 0) {
        no_transaction_is_interrupted_if_nothing_else_was_asked_for();
    } else if (strcmp(what, "no-first-touch") == 0) {
        a_transaction_brings_pages_in_when_first_touches_do_not_count();
    } else {
        fprintf(stderr, "capacity: unknown claims '%s'\n", what);
        return 2;
    }
    return 0;
}
