/*
 * SPDX-License-Identifier: MIT
 *
 * A lock that nobody else wants makes no system call, not even the first one of its thread: a
 * program may have shut itself in before it locks (strict seccomp kills at any other call). And
 * where futex is refused, a timed lock still ends at its deadline.
 */
#include "lock_check.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static pthread_mutex_t mutexes[] = {
    PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
    PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
};
enum { TYPES = sizeof mutexes / sizeof mutexes[0] };
static const struct timespec long_ago = {.tv_sec = 1};

static int reached;

/* Ends the thread with the one system call that is left. Nothing here may fail with a message. */
static void *lock_shut_in(void *mutex)
{
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        _exit(EXIT_SKIPPED);

    int errors = pthread_mutex_lock(mutex) | pthread_mutex_unlock(mutex);
    errors |= pthread_mutex_trylock(mutex) | pthread_mutex_unlock(mutex);
    errors |= pthread_mutex_timedlock(mutex, &long_ago) | pthread_mutex_unlock(mutex);
    __atomic_store_n(&reached, errors == 0, __ATOMIC_RELEASE);
    syscall(SYS_exit, errors);
    return NULL;
}

/* Each in a process of its own, so that one that is killed is seen. */
static int status_of(void (*function)(pthread_mutex_t *), pthread_mutex_t *mutex)
{
    int status;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        function(mutex);
        _exit(0);
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED) {
        puts("no seccomp here: not tried");
        exit(EXIT_SKIPPED);
    }
    return status;
}

static void as_the_first_thread(pthread_mutex_t *mutex)
{
    (void)lock_shut_in(mutex);
}

static void as_a_new_thread(pthread_mutex_t *mutex)
{
    end_thread(start_thread(lock_shut_in, mutex));
    CHECK_EQUAL(__atomic_load_n(&reached, __ATOMIC_ACQUIRE), 1);
}

static void the_first_lock_of_a_thread_makes_no_system_call(void)
{
    for (int type = 0; type < TYPES; type++) {
        CHECK_EQUAL(status_of(as_the_first_thread, &mutexes[type]), 0);
        CHECK_EQUAL(status_of(as_a_new_thread, &mutexes[type]), 0);
    }
}

static void refuse_futex(unsigned error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(EXIT_SKIPPED);
}

/* A deadline that has not passed when the wait begins: the first refusal must not end it. */
static void wait_until_the_deadline(pthread_mutex_t *mutex)
{
    struct timespec deadline = time_from_now(CLOCK_REALTIME, 50);

    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_timedlock(mutex, &deadline), ETIMEDOUT);
    CHECK(time_has_come(CLOCK_REALTIME, &deadline));
    deadline = time_from_now(CLOCK_MONOTONIC, 50);
    CHECK_EQUAL(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &deadline), ETIMEDOUT);
    CHECK(time_has_come(CLOCK_MONOTONIC, &deadline));
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_trylock(mutex), 0);
}

static void unknown_futex(pthread_mutex_t *mutex)
{
    refuse_futex(ENOSYS);
    wait_until_the_deadline(mutex);
}

static void forbidden_futex(pthread_mutex_t *mutex)
{
    refuse_futex(EPERM);
    wait_until_the_deadline(mutex);
}

static void a_timed_lock_ends_at_its_deadline_where_futex_is_refused(void)
{
    for (int type = 0; type < 2; type++) { /* the others say so at once */
        CHECK_EQUAL(status_of(unknown_futex, &mutexes[type]), 0);
        CHECK_EQUAL(status_of(forbidden_futex, &mutexes[type]), 0);
    }
}

int main(void)
{
    the_first_lock_of_a_thread_makes_no_system_call();
    if (dlsym(RTLD_DEFAULT, "mplace_lock_name") != NULL) /* libc ends the process instead */
        a_timed_lock_ends_at_its_deadline_where_futex_is_refused();
    return 0;
}
