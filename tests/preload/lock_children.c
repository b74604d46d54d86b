/*
 * SPDX-License-Identifier: MIT
 *
 * Children made without fork: _Fork, whose child has an id of its own and runs no handler of
 * pthread_atfork, vfork, whose child runs in its parent's memory, thread-local storage included,
 * either fork in a signal handler, and the system call clone. Whether the owner is right is asked
 * of libc: a condition wait on a mutex that checks.
 */
#include "lock_check.h"
#include "single_step.h"

#include <sys/syscall.h>
#include <sys/wait.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void check_that_libc_agrees_who_owns(pthread_mutex_t *owned)
{
    static const struct timespec long_ago = {.tv_sec = 1};

    CHECK_EQUAL(pthread_mutex_lock(owned), 0);
    CHECK_EQUAL(pthread_cond_timedwait(&condition, owned, &long_ago), ETIMEDOUT);
    CHECK_EQUAL(pthread_mutex_unlock(owned), 0);
}

static void await(pid_t child)
{
    int status;

    CHECK(child > 0);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

/* In a thread that has locked nothing: what the child noted about itself would be found here. */
static void *vfork_and_lock(void *argument)
{
    pid_t child = vfork();

    if (child == 0) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        _exit(0);
    }
    await(child);
    check_that_libc_agrees_who_owns(&checking);
    check_that_libc_agrees_who_owns(&recursive);
    return argument;
}

static void a_vfork_child_that_locks_first_leaves_no_id_behind(void)
{
    elsewhere(vfork_and_lock, NULL);
}

#if __GLIBC_PREREQ(2, 34)
static void a_child_of_bare_fork_owns_what_it_locks(void)
{
    check_that_libc_agrees_who_owns(&checking); /* the parent's id is known */
    pid_t child = _Fork();
    if (child == 0) {
        check_that_libc_agrees_who_owns(&checking);
        check_that_libc_agrees_who_owns(&recursive);
        _exit(0);
    }
    await(child);
    check_that_libc_agrees_who_owns(&recursive);
}

/* Held by the parent's id, which in the child is nobody's: not "again", not "mine". */
static void a_child_of_bare_fork_does_not_own_what_its_parent_holds(void)
{
    CHECK_EQUAL(pthread_mutex_lock(&checking), 0);
    CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
    pid_t child = _Fork();
    if (child == 0) {
        CHECK_EQUAL(pthread_mutex_unlock(&checking), EPERM);
        CHECK_EQUAL(pthread_mutex_trylock(&recursive), EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(&recursive), EPERM);
        _exit(0);
    }
    await(child);
    CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&checking), 0);
}
#endif

/* Where libc keeps the thread's id, found by the number, behind what the ABI says of the struct. */
static int *id_of_libc(void)
{
    enum { ABI_WORDS = 704 / sizeof(int), WORDS = 256 };
    int *word = (int *)pthread_self();

    for (int id = gettid(), at = ABI_WORDS; at < WORDS; at++) {
        if (word[at] == id)
            return &word[at];
    }
    CHECK(false);
    return NULL;
}

/* What the sandboxes of Chromium and Firefox do with the processes that they make. */
static void a_child_of_clone_that_tells_libc_its_id_owns_what_it_locks(void)
{
    int *id = id_of_libc();

    check_that_libc_agrees_who_owns(&checking);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
        CHECK_EQUAL(recursive.__data.__owner, *id);
        CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);
        *id = (int)syscall(SYS_gettid);
        CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
        CHECK_EQUAL(recursive.__data.__owner, *id);
        CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);
        check_that_libc_agrees_who_owns(&checking);
        _exit(0);
    }
    await(child);
}

static long step, fork_at;
static pid_t (*fork_by)(void);
static pid_t handlers_child;

static bool fork_once(void)
{
    if (step++ < fork_at)
        return true;
    handlers_child = fork_by();
    return false;
}

static void *lock_while_a_handler_forks(void *argument)
{
    handlers_child = -1;
    single_step_on();
    pthread_mutex_lock(&mutex);
    single_step_off();
    pthread_mutex_unlock(&mutex);
    if (handlers_child == 0) {
        check_that_libc_agrees_who_owns(&checking);
        check_that_libc_agrees_who_owns(&recursive);
        _exit(0);
    }
    if (handlers_child > 0)
        await(handlers_child);
    return argument;
}

/* In a thread that has locked nothing, at each instruction of its first lock in turn. */
static void
a_child_that_a_handler_forks_during_a_threads_first_lock_owns_what_it_locks(pid_t (*function)(void))
{
    fork_by = function;
    single_step_with(fork_once);
    fork_at = step = 0;
    do {
        step = 0;
        elsewhere(lock_while_a_handler_forks, NULL);
    } while (step > fork_at++);
    CHECK(fork_at > 3);
}

int main(void)
{
    a_vfork_child_that_locks_first_leaves_no_id_behind();
    a_child_of_clone_that_tells_libc_its_id_owns_what_it_locks();
#if __GLIBC_PREREQ(2, 34)
    a_child_of_bare_fork_owns_what_it_locks();
    a_child_of_bare_fork_does_not_own_what_its_parent_holds();
    a_child_that_a_handler_forks_during_a_threads_first_lock_owns_what_it_locks(_Fork);
#endif
    a_child_that_a_handler_forks_during_a_threads_first_lock_owns_what_it_locks(fork);
    return 0;
}
