/*
 * SPDX-License-Identifier: MIT
 *
 * Known lock operations for the report at exit; lock_report_test.py knows what each mode does.
 * lock_report MODE [PLUGIN]: writes the addresses of its locks to standard output and leaves by
 * exit(). Runs with TTS_WAIT=park and TTSTLE_POLICY=adaptive: then a waiter shows in the lock word.
 */
#include "lock_check.h"

#include <dlfcn.h>
#include <stdint.h>
#include <sys/wait.h>

enum { PAIRS = 1000, SHORT_THREADS = 2000, MANY = 5000, SECTIONS = 20 };

static pthread_mutex_t quiet = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t many[MANY];
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void unlock(pthread_mutex_t *mutex)
{
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
}

/* Each of these is the place that the report is to name. The comparison keeps the call from being
 * the function's last instruction. */

static __attribute__((noinline)) void lock_quiet(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&quiet), 0);
}

static __attribute__((noinline)) void hold_busy(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&busy), 0);
}

static __attribute__((noinline)) void wait_for_busy(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&busy), 0);
}

/* ---- two locks, one contended ---- */

static pthread_barrier_t held;

/* Holds the lock until the other thread is marked in it as a sleeper. */
static void *hold_until_waited_for(void *argument)
{
    hold_busy();
    (void)pthread_barrier_wait(&held);
    while (__atomic_load_n(&busy.__data.__lock, __ATOMIC_RELAXED) != 2)
        usleep(1000);
    usleep(5000);
    unlock(&busy);
    return argument;
}

static void two_locks(void)
{
    for (int i = 0; i < PAIRS; i++) {
        lock_quiet();
        unlock(&quiet);
    }
    CHECK_EQUAL(pthread_barrier_init(&held, NULL, 2), 0);
    pthread_t holder = start_thread(hold_until_waited_for, NULL);
    (void)pthread_barrier_wait(&held);
    wait_for_busy();
    unlock(&busy);
    end_thread(holder);
}

/* ---- short threads, one after the other ---- */

static void *lock_three_times(void *argument)
{
    for (int i = 0; i < 3; i++) {
        lock_quiet();
        unlock(&quiet);
    }
    return argument;
}

static void short_threads(void)
{
    for (int i = 0; i < SHORT_THREADS; i++)
        elsewhere(lock_three_times, NULL);
}

/* ---- more locks than a thread's table has rows ---- */

static void many_locks(void)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            CHECK_EQUAL(pthread_mutex_lock(&many[i]), 0);
            unlock(&many[i]);
        }
    }
}

/* ---- a caller in another library ---- */

static void call_plugin(const char *path, bool unload)
{
    void *plugin = dlopen(path, RTLD_NOW);
    CHECK(plugin != NULL);
    void (*lock)(pthread_mutex_t *) = (void (*)(pthread_mutex_t *))dlsym(plugin, "plugin_lock");
    CHECK(lock != NULL);
    lock(&quiet);
    unlock(&quiet);
    if (unload)
        CHECK_EQUAL(dlclose(plugin), 0);
}

/* ---- a child of its own ---- */

static void forks(void)
{
    int status;

    lock_three_times(NULL);
    pid_t child = fork();
    if (child == 0) {
        lock_quiet();
        unlock(&quiet);
        elsewhere(lock_three_times, NULL);
        exit(0);
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

/* ---- exit while others lock ---- */

static void *lock_for_ever(void *argument)
{
    for (unsigned i = 0;; i++) {
        pthread_mutex_t *mutex = i % 4 == 0 ? &quiet : &many[i % MANY];

        CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
        unlock(mutex);
    }
    return argument;
}

static void exit_while_others_lock(void)
{
    for (int i = 0; i < 4; i++)
        (void)start_thread(lock_for_ever, NULL);
    usleep(50000);
}

/* ---- sections that no transaction can commit; only where transactions commit at all ---- */

enum { LINES = 64, STRIDE = 4096 };
static char set[LINES][STRIDE] __attribute__((aligned(4096)));

static __attribute__((noinline)) void lock_big_section(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&many[0]), 0);
}

static __attribute__((noinline)) void lock_waiting_section(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&many[1]), 0);
}

static void aborts(void)
{
    memset(set, 1, sizeof set); /* no page fault inside a transaction */
    two_locks();
    for (int section = 0; section < SECTIONS; section++) {
        lock_big_section();
        lock_quiet(); /* nested in the transaction that will abort, but not to blame for it */
        unlock(&quiet);
        for (int line = 0; line < LINES; line++)
            set[line][0]++;
        unlock(&many[0]);

        struct timespec deadline = time_from_now(CLOCK_REALTIME, 1);
        lock_waiting_section();
        CHECK_EQUAL(pthread_cond_timedwait(&never, &many[1], &deadline), ETIMEDOUT);
        unlock(&many[1]);
    }
}

/* ---- a lock of each kind ---- */

enum { READS = 30, WRITES = 12, SPINS = 7 };
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;

static __attribute__((noinline)) void read_table(void)
{
    CHECK_EQUAL(pthread_rwlock_rdlock(&table), 0);
}

static __attribute__((noinline)) void spin_once(void)
{
    CHECK_EQUAL(pthread_spin_lock(&spin), 0);
}

/* Where the mutex of the same address was locked before, and is no more. */
static void kinds(void)
{
    struct timespec past = {.tv_sec = 1};
    union {
        pthread_mutex_t mutex;
        pthread_rwlock_t rwlock;
    } place = {.mutex = PTHREAD_MUTEX_INITIALIZER};

    for (int i = 0; i < READS; i++) {
        read_table();
        CHECK_EQUAL(pthread_rwlock_unlock(&table), 0);
    }
    for (int i = 0; i < WRITES; i++) {
        CHECK_EQUAL(i % 2 ? pthread_rwlock_wrlock(&table) : pthread_rwlock_trywrlock(&table), 0);
        if (i == 0) /* each asks, in vain, and the second one waits for its deadline */
            CHECK_EQUAL(pthread_rwlock_tryrdlock(&table), EBUSY);
        CHECK_EQUAL(pthread_rwlock_unlock(&table), 0);
    }
    CHECK_EQUAL(pthread_rwlock_rdlock(&table), 0);
    CHECK_EQUAL(pthread_rwlock_timedwrlock(&table, &past), ETIMEDOUT);
    CHECK_EQUAL(pthread_rwlock_unlock(&table), 0);

    CHECK_EQUAL(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
    for (int i = 0; i < SPINS; i++) {
        spin_once();
        CHECK_EQUAL(pthread_spin_unlock(&spin), 0);
    }

    CHECK_EQUAL(pthread_mutex_lock(&place.mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&place.mutex), 0);
    CHECK_EQUAL(pthread_rwlock_init(&place.rwlock, NULL), 0);
    CHECK_EQUAL(pthread_rwlock_rdlock(&place.rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_unlock(&place.rwlock), 0);
    dprintf(STDOUT_FILENO, "%p %p %p\n", (void *)&table, (void *)(uintptr_t)&spin, (void *)&place);
}

int main(int argument_count, char **arguments)
{
    const char *mode = argument_count >= 2 ? arguments[1] : "";
    const char *plugin = argument_count >= 3 ? arguments[2] : NULL;

    dprintf(STDOUT_FILENO, "%p %p %p %p\n", (void *)&quiet, (void *)&busy, (void *)&many[0],
            (void *)&many[1]);
    if (strcmp(mode, "two-locks") == 0)
        two_locks();
    else if (strcmp(mode, "short-threads") == 0)
        short_threads();
    else if (strcmp(mode, "many-locks") == 0)
        many_locks();
    else if (strcmp(mode, "plugin") == 0 && plugin != NULL)
        call_plugin(plugin, false);
    else if (strcmp(mode, "unloaded-plugin") == 0 && plugin != NULL)
        call_plugin(plugin, true);
    else if (strcmp(mode, "fork") == 0)
        forks();
    else if (strcmp(mode, "running-threads") == 0)
        exit_while_others_lock();
    else if (strcmp(mode, "aborts") == 0)
        aborts();
    else if (strcmp(mode, "kinds") == 0)
        kinds();
    else
        return 2;
    return 0;
}
