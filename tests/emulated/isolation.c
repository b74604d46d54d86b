/*
 * SPDX-License-Identifier: MIT
 *
 * Strong isolation: a transaction's stores appear at once at its commit, to plain code and to other
 * transactions; whoever comes to a line that a transaction holds wins, and the transaction aborts.
 */
#include "transaction.h"

enum { COMMITS = 2000, WRITTEN = -2 };

/* Each on a line of its own; one line for what the claims share. */
static struct {
    volatile long x __attribute__((aligned(64)));
    volatile long y __attribute__((aligned(64)));
    volatile long z __attribute__((aligned(64)));
    int stop __attribute__((aligned(64)));
    int ready __attribute__((aligned(64)));
} shared;

static bool stopped(void)
{
    return __atomic_load_n(&shared.stop, __ATOMIC_RELAXED) != 0;
}

static void stop_and_join(pthread_t thread)
{
    __atomic_store_n(&shared.stop, 1, __ATOMIC_RELAXED);
    end_thread(thread);
    shared.stop = 0;
}

static pthread_t start(void *(*function)(void *))
{
    pthread_t thread;

    __atomic_store_n(&shared.ready, 0, __ATOMIC_RELAXED);
    thread = start_thread(function, NULL);
    while (!__atomic_load_n(&shared.ready, __ATOMIC_ACQUIRE))
        sched_yield();
    return thread;
}

static void be_ready(void)
{
    __atomic_store_n(&shared.ready, 1, __ATOMIC_RELEASE);
}

static void set_both(void *argument)
{
    long value = *(long *)argument;

    shared.x = value;
    linger(30);
    shared.y = value;
}

/* x is read before y: with stores that appear one by one y could be behind, with these it cannot.
 * And y before x: x could not be behind either way. */
static void *read_both(void *unused)
{
    be_ready();
    while (!stopped()) {
        long x = shared.x, y = shared.y;

        EXPECT(y >= x);
        y = shared.y;
        x = shared.x;
        EXPECT(x >= y);
    }
    return unused;
}

static void commit_in_turn(void)
{
    for (long i = 1; i <= COMMITS; i++) {
        for (long tries = 0; attempt(set_both, &i) != STARTED; tries++)
            EXPECT(may_try(tries));
    }
}

static void plain_loads_see_all_stores_of_a_transaction_or_none(void)
{
    pthread_t thread;

    shared.x = shared.y = 0;
    thread = start(read_both);
    commit_in_turn();
    stop_and_join(thread);
    EXPECT_EQUAL(shared.x, COMMITS);
    EXPECT_EQUAL(shared.y, COMMITS);
}

static void spoil_and_abort(void *unused)
{
    (void)unused;
    shared.x = -1;
    linger(100);
    ABORT(1);
}

static void *expect_zero(void *unused)
{
    be_ready();
    while (!stopped())
        EXPECT_EQUAL(shared.x, 0);
    return unused;
}

static void plain_loads_never_see_what_is_not_committed(void)
{
    pthread_t thread;

    shared.x = 0;
    thread = start(expect_zero);
    for (int i = 0; i < COMMITS; i++)
        EXPECT(attempt(spoil_and_abort, NULL) != STARTED);
    stop_and_join(thread);
}

static void *store_all_the_time(void *unused)
{
    be_ready();
    for (long i = 0; !stopped(); i++) {
        shared.z = i;
        long seen = shared.z;
        EXPECT(seen == i || seen == WRITTEN); /* a transaction may have committed in between */
    }
    return unused;
}

static void read_twice(void *argument)
{
    long *seen = argument, first = shared.z;

    linger(100);
    seen[0] = first;
    seen[1] = shared.z;
}

static void what_a_transaction_read_stays_the_same_until_it_ends(void)
{
    long seen[2] = {0, 0}, committed = 0, tries;
    pthread_t thread = start(store_all_the_time);

    for (tries = 0; committed < 20 && may_try(tries); tries++) {
        if (attempt(read_twice, seen) == STARTED) {
            EXPECT_EQUAL(seen[0], seen[1]);
            committed++;
        }
    }
    stop_and_join(thread);
}

/* The status of the first abort with a cause; on hardware, which may abort for any, of the first
 * for a conflict. */
static int conflict_status(void (*body)(void *), void *(*other)(void *))
{
    pthread_t thread = start(other);
    long seen[2] = {0, 0};
    int status = 0;

    for (long tries = 0; may_try(tries); tries++) {
        status = attempt(body, seen);
        if (status != STARTED && (status & (is_emulated() ? CAUSES : CONFLICT)) != 0)
            break;
    }
    stop_and_join(thread);
    return status;
}

static void read_and_linger(void *argument)
{
    *(long *)argument = shared.z;
    linger(300);
}

static void write_and_linger(void *argument)
{
    (void)argument;
    shared.z = WRITTEN;
    linger(300);
}

static void read_write_and_linger(void *argument)
{
    *(long *)argument = shared.z;
    write_and_linger(NULL);
}

static void *load_all_the_time(void *unused)
{
    be_ready();
    while (!stopped())
        (void)shared.z;
    return unused;
}

static void *exchange_all_the_time(void *unused)
{
    be_ready();
    while (!stopped())
        __atomic_fetch_add(&shared.z, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static void a_plain_store_aborts_who_read_the_line_with_conflict_and_retry(void)
{
    EXPECT_EQUAL(conflict_status(read_and_linger, store_all_the_time), CONFLICT | RETRY);
}

static void a_plain_store_aborts_who_read_and_wrote_the_line_once(void)
{
    EXPECT_EQUAL(conflict_status(read_write_and_linger, store_all_the_time), CONFLICT | RETRY);
}

static void a_plain_load_aborts_who_wrote_the_line_with_conflict_and_retry(void)
{
    EXPECT_EQUAL(conflict_status(write_and_linger, load_all_the_time), CONFLICT | RETRY);
}

static void an_atomic_operation_aborts_who_read_the_line(void)
{
    EXPECT_EQUAL(conflict_status(read_and_linger, exchange_all_the_time), CONFLICT | RETRY);
}

static void *try_to_write(void *unused)
{
    be_ready();
    while (!stopped())
        attempt(write_and_linger, NULL);
    return unused;
}

static void two_transactions_that_write_one_line_conflict(void)
{
    EXPECT_EQUAL(conflict_status(write_and_linger, try_to_write), CONFLICT | RETRY);
}

static void *try_to_read(void *unused)
{
    long seen;

    be_ready();
    while (!stopped())
        attempt(read_and_linger, &seen);
    return unused;
}

static void a_reading_transaction_aborts_a_writing_one(void)
{
    EXPECT_EQUAL(conflict_status(write_and_linger, try_to_read), CONFLICT | RETRY);
}

/* The holder of a line loses it to whoever asks. So a transaction that ends as soon as it has what
 * it asked for commits although another one holds the line nearly all the time: if holders won, it
 * hardly ever would. */
static void the_requester_goes_on_and_the_holder_aborts(void)
{
    pthread_t thread;
    long committed = 0;

    if (!is_emulated())
        return;
    thread = start(try_to_write);
    for (int i = 0; i < COMMITS; i++) {
        int status = STARTED;

        __asm__ volatile("xbegin 1f\n\tmovq $-3, %1\n\txend\n1:" : "+a"(status), "+m"(shared.z));
        committed += status == STARTED;
        linger(100);
    }
    stop_and_join(thread);
    EXPECT(committed > COMMITS * 3 / 4);
}

/* How many aborts for a conflict there may be in COMMITS attempts where no other thread of the
 * program conflicts: none, but a processor may take a line away for reasons outside of it. */
static long conflicts_of_others(void)
{
    return is_emulated() ? 0 : COMMITS / 100;
}

/* Lines read by both sides and lines apart from each other are no conflict: none in a long run. */
static void two_readers_of_one_line_do_not_conflict(void)
{
    pthread_t thread = start(try_to_read);
    long seen, committed = 0, conflicts = 0;

    for (int i = 0; i < COMMITS; i++) {
        int status = attempt(read_and_linger, &seen);

        conflicts += status != STARTED && (status & CONFLICT);
        committed += status == STARTED;
    }
    EXPECT(conflicts <= conflicts_of_others());
    EXPECT(committed > COMMITS / 2);
    stop_and_join(thread);
}

static void write_x(void *unused)
{
    (void)unused;
    shared.x++;
    linger(300);
}

static void neighbouring_lines_do_not_conflict(void)
{
    pthread_t thread = start(store_all_the_time);
    long committed = 0, conflicts = 0;

    for (int i = 0; i < COMMITS; i++) {
        int status = attempt(write_x, NULL);

        conflicts += status != STARTED && (status & CONFLICT);
        committed += status == STARTED;
    }
    EXPECT(conflicts <= conflicts_of_others());
    EXPECT(committed > COMMITS / 2);
    stop_and_join(thread);
}

static void add_one(void *unused)
{
    (void)unused;
    shared.x++;
}

static void *add_many(void *unused)
{
    for (int i = 0; i < COMMITS; i++) {
        for (long tries = 0; attempt(add_one, NULL) != STARTED; tries++)
            EXPECT(may_try(tries));
    }
    return unused;
}

static void *add_many_atomically(void *unused)
{
    for (int i = 0; i < COMMITS; i++)
        __atomic_fetch_add(&shared.x, 1, __ATOMIC_RELAXED);
    return unused;
}

/* Also: nobody starves, though every transaction may lose against every other. */
static void no_increment_is_lost_between_transactions_and_atomic_operations(void)
{
    pthread_t threads[4];

    shared.x = 0;
    for (int i = 0; i < 4; i++)
        threads[i] = start_thread(i % 2 ? add_many_atomically : add_many, NULL);
    for (int i = 0; i < 4; i++)
        end_thread(threads[i]);
    EXPECT_EQUAL(shared.x, 4 * COMMITS);
}

int main(void)
{
    need_transactions();
    plain_loads_see_all_stores_of_a_transaction_or_none();
    plain_loads_never_see_what_is_not_committed();
    what_a_transaction_read_stays_the_same_until_it_ends();
    a_plain_store_aborts_who_read_the_line_with_conflict_and_retry();
    a_plain_store_aborts_who_read_and_wrote_the_line_once();
    a_plain_load_aborts_who_wrote_the_line_with_conflict_and_retry();
    an_atomic_operation_aborts_who_read_the_line();
    two_transactions_that_write_one_line_conflict();
    a_reading_transaction_aborts_a_writing_one();
    the_requester_goes_on_and_the_holder_aborts();
    two_readers_of_one_line_do_not_conflict();
    neighbouring_lines_do_not_conflict();
    no_increment_is_lost_between_transactions_and_atomic_operations();
    return 0;
}
