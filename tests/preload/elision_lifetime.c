/*
 * SPDX-License-Identifier: MIT
 *
 * A mutex that is gone right after its last unlock, and processes that fork in and around sections:
 * no unlock, elided or not, touches the mutex after the next holder may have it.
 */
#include "elision_check.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { WORKERS = 3, ROUNDS = 400, PAGE = 4096 };

/* A counted object with its mutex inside: whoever drops the last reference destroys it. */
struct object {
    pthread_mutex_t mutex;
    int references;
};

enum ending { UNMAPPED, OVERWRITTEN, ENDINGS };
static enum ending ending;
static struct object *object_of_round;
static pthread_barrier_t round_begins, round_ends;
static int destroyed;

static void drop_reference(struct object *object)
{
    bool last;

    CHECK_EQUAL(pthread_mutex_lock(&object->mutex), 0);
    last = --object->references == 0;
    CHECK_EQUAL(pthread_mutex_unlock(&object->mutex), 0);
    if (!last)
        return;
    CHECK_EQUAL(pthread_mutex_destroy(&object->mutex), 0);
    if (ending == UNMAPPED)
        CHECK_EQUAL(munmap(object, PAGE), 0);
    else
        memset(object, 0x5a, PAGE);
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
}

static void *drop_references(void *argument)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&round_begins);
        drop_reference(object_of_round);
        pthread_barrier_wait(&round_ends);
    }
    return argument;
}

static void check_overwritten_page(const unsigned char *bytes)
{
    for (int i = 0; i < PAGE; i++)
        CHECK_EQUAL(bytes[i], 0x5a); /* else somebody wrote to the mutex after its end */
}

static void an_object_ends_right_after_the_last_unlock(void)
{
    pthread_t workers[WORKERS];

    for (int i = 0; i < WORKERS; i++)
        workers[i] = start_thread(drop_references, NULL);
    destroyed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        object_of_round =
            mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(object_of_round != MAP_FAILED);
        CHECK_EQUAL(pthread_mutex_init(&object_of_round->mutex, NULL), 0);
        object_of_round->references = WORKERS;
        pthread_barrier_wait(&round_begins);
        pthread_barrier_wait(&round_ends);
        if (ending == OVERWRITTEN) {
            check_overwritten_page((const unsigned char *)object_of_round);
            CHECK_EQUAL(munmap(object_of_round, PAGE), 0);
        }
    }
    for (int i = 0; i < WORKERS; i++)
        end_thread(workers[i]);
    CHECK_EQUAL(destroyed, ROUNDS);
}

static void a_mutex_is_destroyed_and_made_anew_between_sections(void)
{
    pthread_mutex_t mutex;
    long sections = 0;

    start_counting();
    for (int i = 0; i < 200; i++) {
        CHECK_EQUAL(pthread_mutex_init(&mutex, NULL), 0);
        CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
        sections++;
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
        CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
    }
    CHECK_EQUAL(sections, 200);
    CHECK_ELIDED(180);

    CHECK_EQUAL(pthread_mutex_init(&mutex, NULL), 0);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    int error = pthread_mutex_destroy(&mutex);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(error, EBUSY); /* held, elided or not */
    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
}

/* ---- fork ---- */

static void expect_success(pid_t child)
{
    int status;

    CHECK(child > 0);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

static void the_child_of_a_fork_inside_a_section_holds_the_mutexes(void)
{
    static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
    static int written;

    for (int i = 1; i <= 20; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&outer), 0);
        CHECK_EQUAL(pthread_mutex_lock(&inner), 0);
        written = i;
        pid_t child = fork();
        if (child == 0) {
            CHECK_EQUAL(written, i);
            CHECK_EQUAL(pthread_mutex_trylock(&inner), EBUSY);
            CHECK_EQUAL(pthread_mutex_unlock(&outer), 0);
            CHECK_EQUAL(pthread_mutex_unlock(&inner), 0);
            for (int k = 0; k < 50; k++) {
                CHECK_EQUAL(pthread_mutex_lock(&inner), 0);
                CHECK_EQUAL(pthread_mutex_unlock(&inner), 0);
            }
            _exit(0);
        }
        CHECK_EQUAL(pthread_mutex_trylock(&outer), EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(&inner), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&outer), 0);
        expect_success(child);
    }
}

static void a_program_is_spawned_inside_a_section(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    char *const arguments[] = {"true", NULL}, *const environment[] = {NULL};
    pid_t child;

    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    CHECK_EQUAL(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environment), 0);
    CHECK_EQUAL(pthread_mutex_trylock(&mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    expect_success(child);
}

/* What a library with state does: its handlers hold its mutex over the fork. */
static struct {
    pthread_mutex_t mutex;
    long one, other; /* equal whenever the mutex is free */
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static bool hammering;

static void before_fork(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&state.mutex), 0);
}

static void after_fork(void)
{
    CHECK_EQUAL(pthread_mutex_unlock(&state.mutex), 0);
}

static void touch_state(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&state.mutex), 0);
    bool whole = state.one == state.other;
    state.one++;
    work(20);
    state.other++;
    CHECK_EQUAL(pthread_mutex_unlock(&state.mutex), 0);
    CHECK(whole);
}

static void *hammer(void *argument)
{
    while (__atomic_load_n(&hammering, __ATOMIC_RELAXED)) {
        touch_state();
        sched_yield();
    }
    return argument;
}

static void state_is_whole_in_children_forked_while_others_hammer(void)
{
    pthread_t threads[WORKERS];

    CHECK_EQUAL(pthread_atfork(before_fork, after_fork, after_fork), 0);
    hammering = true;
    for (int i = 0; i < WORKERS; i++)
        threads[i] = start_thread(hammer, NULL);
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 20; k++)
                touch_state();
            _exit(0);
        }
        expect_success(child);
    }
    __atomic_store_n(&hammering, false, __ATOMIC_RELAXED);
    for (int i = 0; i < WORKERS; i++)
        end_thread(threads[i]);
}

int main(void)
{
    CHECK_EQUAL(pthread_barrier_init(&round_begins, NULL, WORKERS + 1), 0);
    CHECK_EQUAL(pthread_barrier_init(&round_ends, NULL, WORKERS + 1), 0);
    for (ending = UNMAPPED; ending < ENDINGS; ending++)
        an_object_ends_right_after_the_last_unlock();
    a_mutex_is_destroyed_and_made_anew_between_sections();
    the_child_of_a_fork_inside_a_section_holds_the_mutexes();
    a_program_is_spawned_inside_a_section();
    state_is_whole_in_children_forked_while_others_hammer();
    return 0;
}
