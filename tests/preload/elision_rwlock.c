/*
 * SPDX-License-Identifier: MIT
 *
 * Rwlocks and spin locks whose sections may be run as transactions: readers beside each other all
 * commit, a writer is seen whole or not at all, sections of all kinds of locks enclose each other
 * and end in any order, and what only the holder of a lock can be told is told.
 */
#include "elision_check.h"
#include "rwlock_check.h"

/* ---- eight readers ---- */

enum { READERS = 8, READS = 400 };

static struct {
    pthread_rwlock_t rwlock;
    char apart[64];
    long table[64];
    char apart_too[64];
    int there, may_begin, done;
} shared = {.rwlock = PTHREAD_RWLOCK_INITIALIZER};

static void read_once(void)
{
    long sum = 0;

    CHECK_EQUAL(pthread_rwlock_rdlock(&shared.rwlock), 0);
    for (int n = 0; n < 64; n++)
        sum += *(volatile long *)&shared.table[n];
    work(20);
    CHECK_EQUAL(pthread_rwlock_unlock(&shared.rwlock), 0);
    CHECK_EQUAL(sum, 0);
}

static void *read_often(void *unused)
{
    read_once();
    __atomic_add_fetch(&shared.there, 1, __ATOMIC_RELEASE);
    await_flag(&shared.may_begin);
    for (int i = 0; i < READS; i++)
        read_once();
    __atomic_add_fetch(&shared.done, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&shared.done, __ATOMIC_ACQUIRE) != READERS)
        sched_yield();
    return unused;
}

/*
 * Of all reads, not of all attempts: what was taken physically counts against it. All threads are
 * there from the first read to the last, for one that starts, counts for the first time or ends
 * changes the address space, which aborts the others.
 */
static void eight_readers_commit_ninety_nine_of_a_hundred_sections(void)
{
    pthread_t readers[READERS];

    start_counting();
    for (int i = 0; i < READERS; i++)
        readers[i] = start_thread(read_often, NULL);
    while (__atomic_load_n(&shared.there, __ATOMIC_ACQUIRE) != READERS)
        sched_yield();
    start_counting();
    raise_flag(&shared.may_begin);
    for (int i = 0; i < READERS; i++)
        end_thread(readers[i]);
    CHECK_ELIDED(READERS * READS * 99 / 100);
}

/* ---- readers and writers ---- */

static struct {
    pthread_rwlock_t rwlock;
    volatile long left, right;
} pair;

static void *read_or_write(void *argument)
{
    long number = (long)argument;
    bool whole = true;

    for (int i = 0; i < 300; i++) {
        if ((i + number) % 5 == 0) {
            CHECK_EQUAL(pthread_rwlock_wrlock(&pair.rwlock), 0);
            pair.left++;
            work(10);
            pair.right++;
        } else {
            CHECK_EQUAL(pthread_rwlock_rdlock(&pair.rwlock), 0);
            long seen = pair.left;
            work(10);
            whole &= pair.right == seen;
        }
        CHECK_EQUAL(pthread_rwlock_unlock(&pair.rwlock), 0);
        if (i % 50 == number) { /* some physical ones among them */
            CHECK_EQUAL(pthread_rwlock_rdlock(&pair.rwlock), 0);
            CHECK(getppid() > 0);
            CHECK_EQUAL(pthread_rwlock_unlock(&pair.rwlock), 0);
        }
    }
    CHECK(whole);
    return NULL;
}

static void a_writer_is_seen_whole_or_not_at_all(void)
{
    pthread_t threads[5];

    start_counting();
    for (int kind = 0; kind < RWLOCK_KINDS; kind++) {
        make_rwlock(&pair.rwlock, rwlock_kinds[kind], PTHREAD_PROCESS_PRIVATE);
        pair.left = pair.right = 0;
        for (long i = 0; i < 5; i++)
            threads[i] = start_thread(read_or_write, (void *)i);
        for (int i = 0; i < 5; i++)
            end_thread(threads[i]);
        CHECK_EQUAL(pair.left, 300);
        CHECK_EQUAL(pair.right, 300);
        check_free(&pair.rwlock);
    }
    CHECK_ELIDED(10);
}

/* A reader that is in a transaction when a writer comes by libc's own function. */
static struct {
    pthread_rwlock_t rwlock;
    volatile long left, right;
    int stop;
} watched = {.rwlock = PTHREAD_RWLOCK_INITIALIZER};

static void *write_by_libc(void *unused)
{
    int (*lock)(pthread_rwlock_t *) = of_libc("pthread_rwlock_wrlock");
    int (*unlock)(pthread_rwlock_t *) = of_libc("pthread_rwlock_unlock");

    for (int i = 0; i < 50; i++) {
        CHECK_EQUAL(lock(&watched.rwlock), 0);
        watched.left++;
        sched_yield();
        watched.right++;
        CHECK_EQUAL(unlock(&watched.rwlock), 0);
        sched_yield();
    }
    raise_flag(&watched.stop);
    return unused;
}

static void a_writer_that_does_not_elide_aborts_all_who_read(void)
{
    pthread_t writer = start_thread(write_by_libc, NULL);
    bool whole = true;

    while (!__atomic_load_n(&watched.stop, __ATOMIC_ACQUIRE)) {
        CHECK_EQUAL(pthread_rwlock_rdlock(&watched.rwlock), 0);
        long seen = watched.left;
        work(50);
        whole &= watched.right == seen;
        CHECK_EQUAL(pthread_rwlock_unlock(&watched.rwlock), 0);
        sched_yield();
    }
    end_thread(writer);
    CHECK(whole);
    CHECK_EQUAL(watched.left, 50);
}

/* ---- locks inside locks ---- */

static void *try_mutex(void *mutex)
{
    int error = pthread_mutex_trylock(mutex);

    if (error == 0)
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    return (void *)(long)error;
}

static void *try_spin(void *lock)
{
    int error = pthread_spin_trylock(lock);

    if (error == 0)
        CHECK_EQUAL(pthread_spin_unlock(lock), 0);
    return (void *)(long)error;
}

enum { READ_IT, WRITE_IT, MUTEX, SPIN, SORTS };

static struct {
    pthread_rwlock_t rwlock;
    pthread_mutex_t mutex;
    union {
        pthread_spinlock_t lock;
        int word;
    } spin;
} set[3];

static void lock_sort(int at, int sort)
{
    int error = sort == READ_IT    ? pthread_rwlock_rdlock(&set[at].rwlock)
                : sort == WRITE_IT ? pthread_rwlock_wrlock(&set[at].rwlock)
                : sort == MUTEX    ? pthread_mutex_lock(&set[at].mutex)
                                   : pthread_spin_lock(&set[at].spin.lock);
    CHECK_EQUAL(error, 0);
}

static void unlock_sort(int at, int sort)
{
    int error = sort <= WRITE_IT ? pthread_rwlock_unlock(&set[at].rwlock)
                : sort == MUTEX  ? pthread_mutex_unlock(&set[at].mutex)
                                 : pthread_spin_unlock(&set[at].spin.lock);
    CHECK_EQUAL(error, 0);
}

static void check_sort(int at, int sort, bool is_held)
{
    long error = sort == MUTEX  ? (long)elsewhere(try_mutex, &set[at].mutex)
                 : sort == SPIN ? (long)elsewhere(try_spin, &set[at].spin.word)
                                : (long)elsewhere(try_to_write, &set[at].rwlock);
    CHECK_EQUAL(error, is_held ? EBUSY : 0);
}

/* Three locks of all combinations of sorts, all orders of unlock; in every third set a system call
 * has all of them taken physically, in every third only those outside of it. */
static void sections_of_all_sorts_enclose_each_other_in_any_order(void)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    start_counting();
    for (int turn = 0; turn < SORTS * SORTS * SORTS * 6; turn++) {
        const int *order = orders[turn % 6];
        int rest = turn / 6, sorts[3];
        for (int i = 0; i < 3; i++, rest /= SORTS) {
            sorts[i] = rest % SORTS;
            make_rwlock(&set[i].rwlock, rwlock_kinds[turn % RWLOCK_KINDS], PTHREAD_PROCESS_PRIVATE);
            make_mutex(&set[i].mutex, PTHREAD_MUTEX_DEFAULT);
            CHECK_EQUAL(pthread_spin_init(&set[i].spin.lock, PTHREAD_PROCESS_PRIVATE), 0);
        }
        int call_after = turn / 6 % 6; /* 0 to 2: inside that many and one more; else nowhere */
        for (int i = 0; i < 3; i++) {
            lock_sort(i, sorts[i]);
            if (i == call_after)
                CHECK(getppid() > 0);
        }
        for (int i = 0; i < 3; i++)
            unlock_sort(order[i], sorts[order[i]]);
        for (int i = 0; i < 3; i++)
            check_sort(i, sorts[i], false);
    }
    CHECK_ELIDED(SORTS * SORTS * SORTS);
}

/* The inner unlock ends the elided section, the outer one releases the lock, and nothing else. */
static void an_elided_unlock_and_an_outer_physical_one_are_told_apart(void)
{
    for (int outer = 0; outer < SORTS; outer++) {
        for (int inner = 0; inner < SORTS; inner++) {
            make_rwlock(&set[0].rwlock, PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_PRIVATE);
            make_rwlock(&set[1].rwlock, PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_PRIVATE);
            for (int i = 0; i < 10; i++) {
                lock_sort(0, outer);
                CHECK(getppid() > 0);
                lock_sort(1, inner);
                work(5);
                unlock_sort(1, inner);
                check_sort(0, outer, true);
                check_sort(1, inner, false);
                unlock_sort(0, outer);
                check_sort(0, outer, false);
            }
        }
    }
}

static void reading_twice_ends_with_the_second_unlock(void)
{
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

    for (int i = 0; i < 40; i++) {
        CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
        if (i % 4 == 1)
            CHECK(getppid() > 0);
        CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
        if (i % 4 == 2)
            CHECK(getppid() > 0);
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
        if (i % 4 == 3)
            check_read(&rwlock);
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    }
    check_free(&rwlock);
}

/* ---- what only a physical run can answer ---- */

static void the_answers_of_a_holder_are_those_of_libc(void)
{
    struct timespec past = {.tv_sec = 1};

    for (int enclosed = 0; enclosed < 2; enclosed++) {
        pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
        pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
        for (int i = 0; i < 10; i++) {
            if (enclosed)
                CHECK_EQUAL(pthread_mutex_lock(&outer), 0);
            CHECK_EQUAL(pthread_rwlock_wrlock(&rwlock), 0);
            int writer[] = {pthread_rwlock_rdlock(&rwlock), pthread_rwlock_wrlock(&rwlock)};
            CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
            CHECK_EQUAL(pthread_rwlock_wrlock(&rwlock), 0);
            int tries[] = {pthread_rwlock_tryrdlock(&rwlock), pthread_rwlock_trywrlock(&rwlock)};
            CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
            CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
            int reader = pthread_rwlock_trywrlock(&rwlock);
            CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
            CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
            int late = pthread_rwlock_timedwrlock(&rwlock, &past);
            CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
            if (enclosed)
                CHECK_EQUAL(pthread_mutex_unlock(&outer), 0);
            CHECK_EQUAL(writer[0], EDEADLK);
            CHECK_EQUAL(writer[1], EDEADLK);
            CHECK_EQUAL(tries[0], EBUSY);
            CHECK_EQUAL(tries[1], EBUSY);
            CHECK_EQUAL(reader, EBUSY);
            CHECK_EQUAL(late, ETIMEDOUT);
        }
        check_free(&rwlock);
    }
}

/* ---- a condition variable under a rwlock ---- */

static struct {
    pthread_rwlock_t rwlock;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int turn;
} table = {.rwlock = PTHREAD_RWLOCK_INITIALIZER,
           .mutex = PTHREAD_MUTEX_INITIALIZER,
           .changed = PTHREAD_COND_INITIALIZER};

static void *take_turns(void *argument)
{
    int me = (int)(long)argument;

    for (int i = 0; i < 60; i++) {
        CHECK_EQUAL(pthread_rwlock_rdlock(&table.rwlock), 0);
        CHECK_EQUAL(pthread_mutex_lock(&table.mutex), 0);
        while (table.turn != me)
            CHECK_EQUAL(pthread_cond_wait(&table.changed, &table.mutex), 0);
        table.turn = !me;
        CHECK_EQUAL(pthread_cond_signal(&table.changed), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&table.mutex), 0);
        CHECK_EQUAL(pthread_rwlock_unlock(&table.rwlock), 0);
    }
    return NULL;
}

static void a_condition_wait_under_an_elided_rwlock_misses_no_signal(void)
{
    pthread_t other = start_thread(take_turns, (void *)1);

    take_turns((void *)0);
    end_thread(other);
    check_free(&table.rwlock);
}

/* ---- spin locks ---- */

static struct {
    pthread_spinlock_t lock;
    volatile long left, right;
} spun;

static void *count_spinning(void *argument)
{
    bool whole = true;

    for (int i = 0; i < 300; i++) {
        if (i % 4 == 0) {
            while (pthread_spin_trylock(&spun.lock) != 0)
                sched_yield();
        } else {
            CHECK_EQUAL(pthread_spin_lock(&spun.lock), 0);
        }
        whole &= spun.left == spun.right;
        spun.left++;
        work(5);
        spun.right++;
        CHECK_EQUAL(pthread_spin_unlock(&spun.lock), 0);
    }
    CHECK(whole);
    return argument;
}

static void spin_locks_exclude_and_are_elided(void)
{
    pthread_t threads[4];

    CHECK_EQUAL(pthread_spin_init(&spun.lock, PTHREAD_PROCESS_PRIVATE), 0);
    start_counting();
    for (int i = 0; i < 4; i++)
        threads[i] = start_thread(count_spinning, NULL);
    for (int i = 0; i < 4; i++)
        end_thread(threads[i]);
    CHECK_EQUAL(spun.left, 1200);
    CHECK_EQUAL(spun.right, 1200);
    CHECK_ELIDED(10);
}

static void unlocking_what_is_not_locked_ends_no_section(void)
{
    pthread_rwlock_t section = PTHREAD_RWLOCK_INITIALIZER, victim = PTHREAD_RWLOCK_INITIALIZER;

    if (dlsym(RTLD_DEFAULT, "mplace_lock_name") == NULL)
        return; /* libc counts a reader less than none */
    for (int i = 0; i < 20; i++) {
        CHECK_EQUAL(pthread_rwlock_unlock(&victim), 0);
        CHECK_EQUAL(pthread_rwlock_wrlock(&section), 0);
        CHECK_EQUAL(pthread_rwlock_unlock(&victim), 0);
        int still = pthread_rwlock_tryrdlock(&section);
        CHECK_EQUAL(pthread_rwlock_unlock(&section), 0);
        CHECK_EQUAL(still, EBUSY);
        check_free(&victim);
    }
}

int main(void)
{
    eight_readers_commit_ninety_nine_of_a_hundred_sections();
    a_writer_is_seen_whole_or_not_at_all();
    a_writer_that_does_not_elide_aborts_all_who_read();
    sections_of_all_sorts_enclose_each_other_in_any_order();
    an_elided_unlock_and_an_outer_physical_one_are_told_apart();
    reading_twice_ends_with_the_second_unlock();
    the_answers_of_a_holder_are_those_of_libc();
    a_condition_wait_under_an_elided_rwlock_misses_no_signal();
    spin_locks_exclude_and_are_elided();
    unlocking_what_is_not_locked_ends_no_section();
    return 0;
}
