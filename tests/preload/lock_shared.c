/*
 * SPDX-License-Identifier: MIT
 *
 * Process-shared mutexes between two processes, of which one may have a lock library loaded and the
 * other not, or another one: both must agree on each byte. The two do the same steps, "mine" and
 * "theirs" in turn: counting in contention, handing over by a condition, answers to a mutex that
 * the other process holds, and owners that die with a robust one.
 *
 * lock_shared [LIBRARY]: this process runs with what LD_PRELOAD says, the other with LIBRARY, or
 * with none.
 */
#include "lock_check.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const struct timespec long_ago = {.tv_sec = 1};

static const struct kind {
    const char *name;
    int type, robust, protocol;
} kinds[] = {
    {"normal", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE},
    {"robust recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE},
    {"inheriting", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT},
    {"robust inheriting", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT},
    {"robust error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], COUNTS = 2000, TURNS = 100 };

struct page {
    pthread_barrier_t both; /* libc's alone: the steps do not depend on what they test */
    struct shared {
        pthread_mutex_t mutex;
        pthread_cond_t condition;
        long counted;
        int turn; /* the process whose turn it is */
    } shared[KINDS];
};

static struct page *page;
static int me; /* 0 or 1 */

static void meet(void)
{
    int result = pthread_barrier_wait(&page->both);

    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void count_together(struct shared *shared)
{
    for (int i = 0; i < COUNTS; i++) {
        if (i % 3 == 0) {
            while (pthread_mutex_trylock(&shared->mutex) != 0)
                CHECK_EQUAL(sched_yield(), 0);
        } else if (i % 3 == 1) {
            struct timespec far = time_from_now(CLOCK_REALTIME, 1000000);
            CHECK_EQUAL(pthread_mutex_timedlock(&shared->mutex, &far), 0);
        } else {
            CHECK_EQUAL(pthread_mutex_lock(&shared->mutex), 0);
        }
        shared->counted++;
        CHECK_EQUAL(pthread_mutex_unlock(&shared->mutex), 0);
    }
    meet();
    CHECK_EQUAL(shared->counted, 2L * COUNTS);
}

static void take_turns(struct shared *shared)
{
    for (int i = 0; i < TURNS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&shared->mutex), 0);
        while (shared->turn != me)
            CHECK_EQUAL(pthread_cond_wait(&shared->condition, &shared->mutex), 0);
        shared->turn = !me;
        CHECK_EQUAL(pthread_cond_signal(&shared->condition), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&shared->mutex), 0);
    }
    meet();
}

static void see_it_held(pthread_mutex_t *mutex, const struct kind *kind)
{
    bool normal = kind->type == PTHREAD_MUTEX_NORMAL || kind->type == PTHREAD_MUTEX_ADAPTIVE_NP;

    CHECK_EQUAL(pthread_mutex_trylock(mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_timedlock(mutex, &long_ago), ETIMEDOUT);
    CHECK_EQUAL(pthread_mutex_clocklock(mutex, CLOCK_REALTIME, &long_ago), ETIMEDOUT);
    if (!normal || kind->robust == PTHREAD_MUTEX_ROBUST || kind->protocol == PTHREAD_PRIO_INHERIT)
        CHECK_EQUAL(pthread_mutex_unlock(mutex), EPERM);
    CHECK_EQUAL(pthread_mutex_trylock(mutex), EBUSY);
}

static void hold_in_turn(pthread_mutex_t *mutex, const struct kind *kind)
{
    for (int holder = 0; holder < 2; holder++) {
        if (me == holder)
            CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
        meet();
        if (me != holder)
            see_it_held(mutex, kind);
        meet();
        if (me == holder)
            CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
        meet();
    }
}

/* To the kernel and to libc, a thread that ends with a mutex is a dead owner like a process. */
static void *die_with_it(void *mutex)
{
    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    return NULL;
}

static void *die_with_it_awaited(void *mutex)
{
    const struct timespec a_moment = {.tv_nsec = 3000000};

    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    meet();
    nanosleep(&a_moment, NULL); /* most likely the other waits by now; right either way */
    return NULL;
}

static void die_in_turn(pthread_mutex_t *mutex)
{
    for (int dead = 0; dead < 2; dead++) {
        if (me == dead)
            elsewhere(die_with_it, mutex);
        meet();
        if (me != dead) {
            CHECK_EQUAL(pthread_mutex_trylock(mutex), EOWNERDEAD);
            CHECK_EQUAL(pthread_mutex_consistent(mutex), 0);
            CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
        }
        meet();
        if (me == dead) {
            elsewhere(die_with_it_awaited, mutex);
        } else {
            meet(); /* it is held */
            CHECK_EQUAL(pthread_mutex_lock(mutex), EOWNERDEAD);
            CHECK_EQUAL(pthread_mutex_consistent(mutex), 0);
            CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
        }
        meet();
    }
}

static void lose_it_for_ever(pthread_mutex_t *mutex, int dead)
{
    if (me == dead)
        elsewhere(die_with_it, mutex);
    meet();
    if (me != dead) {
        CHECK_EQUAL(pthread_mutex_lock(mutex), EOWNERDEAD);
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0); /* not made consistent */
    }
    meet();
    CHECK_EQUAL(pthread_mutex_lock(mutex), ENOTRECOVERABLE);
}

/* What both processes do. */
static void do_the_steps(void)
{
    for (int i = 0; i < KINDS; i++) {
        struct shared *shared = &page->shared[i];
        printf("%s\n", kinds[i].name);
        meet();
        count_together(shared);
        take_turns(shared);
        hold_in_turn(&shared->mutex, &kinds[i]);
        if (kinds[i].robust == PTHREAD_MUTEX_ROBUST) {
            die_in_turn(&shared->mutex);
            if (i != KINDS - 1) /* main needs one more death of the last */
                lose_it_for_ever(&shared->mutex, i % 2);
        }
    }
}

static void set_up(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_barrierattr_t barrier;

    CHECK_EQUAL(pthread_barrierattr_init(&barrier), 0);
    CHECK_EQUAL(pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED), 0);
    CHECK_EQUAL(pthread_barrier_init(&page->both, &barrier, 2), 0);
    CHECK_EQUAL(pthread_condattr_init(&condition), 0);
    CHECK_EQUAL(pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED), 0);
    for (int i = 0; i < KINDS; i++) {
        CHECK_EQUAL(pthread_mutexattr_init(&mutex), 0);
        CHECK_EQUAL(pthread_mutexattr_settype(&mutex, kinds[i].type), 0);
        CHECK_EQUAL(pthread_mutexattr_setrobust(&mutex, kinds[i].robust), 0);
        CHECK_EQUAL(pthread_mutexattr_setprotocol(&mutex, kinds[i].protocol), 0);
        CHECK_EQUAL(pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED), 0);
        CHECK_EQUAL(pthread_mutex_init(&page->shared[i].mutex, &mutex), 0);
        CHECK_EQUAL(pthread_cond_init(&page->shared[i].condition, &condition), 0);
    }
}

static void map_page(int fd)
{
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(page != MAP_FAILED);
}

/* The other process came to an end before its time: nobody would meet us again. */
static void other_ended(int signal, siginfo_t *information, void *context)
{
    (void)signal;
    (void)context;
    if (information->si_status != 0)
        _exit(1); /* it has said why */
}

static void start_other(const char *program, const char *library, int fd)
{
    char number[16];

    CHECK_EQUAL(prctl(PR_SET_PDEATHSIG, SIGKILL), 0); /* outlives exec; not the parent */
    (void)(library != NULL ? setenv("LD_PRELOAD", library, 1) : unsetenv("LD_PRELOAD"));
    snprintf(number, sizeof number, "%d", fd);
    execl(program, program, "--other", number, (char *)NULL);
    _exit(127);
}

int main(int argument_count, char **arguments)
{
    const struct sigaction on_end = {.sa_sigaction = other_ended, .sa_flags = SA_SIGINFO};
    int status;

    if (argument_count > 2) {
        me = 1;
        map_page(atoi(arguments[2]));
        do_the_steps();
        CHECK_EQUAL(pthread_mutex_lock(&page->shared[KINDS - 1].mutex), 0);
        return 0; /* a whole process dies with it */
    }

    int fd = memfd_create("page", 0);
    CHECK(fd >= 0 && ftruncate(fd, sizeof *page) == 0);
    map_page(fd);
    set_up();
    CHECK_EQUAL(sigaction(SIGCHLD, &on_end, NULL), 0);
    pid_t child = fork();
    if (child == 0)
        start_other(arguments[0], argument_count > 1 ? arguments[1] : NULL, fd);
    CHECK(child > 0);
    do_the_steps();
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQUAL(pthread_mutex_lock(&page->shared[KINDS - 1].mutex), EOWNERDEAD);
    CHECK_EQUAL(pthread_mutex_consistent(&page->shared[KINDS - 1].mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&page->shared[KINDS - 1].mutex), 0);
    return 0;
}
