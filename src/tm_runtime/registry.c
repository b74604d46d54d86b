/*
 * SPDX-License-Identifier: MIT
 *
 * See registry.h. A descriptor comes from the list or from fresh pages, and joins with the gate
 * closed: no transaction sees the number of threads change.
 */
#include "tm_runtime/registry.h"

#include "base/pages.h"
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/cxx.h"
#include "tm_runtime/gate.h"
#include "tm_runtime/statistics/statistics.h"
#include "tm_runtime/transaction.h"

#include <pthread.h>
#include <sys/resource.h>

static pthread_key_t key;
static bool has_key;

/* From ld.so: where the first thread's stack begins. */
extern void *__libc_stack_end __attribute__((weak));

enum { STACK_USUALLY = 8 << 20 };

/* How far down this thread's stack may reach, if it is a thread that libc made; else 0. */
static uintptr_t bottom_of_threads_stack(void)
{
    pthread_attr_t attributes;
    size_t bytes;
    void *bottom = NULL;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    (void)pthread_attr_getstack(&attributes, &bottom, &bytes);
    (void)pthread_attr_destroy(&attributes);
    return (uintptr_t)bottom;
}

/* The first thread's stack grows to its limit, which the program may change. */
static uintptr_t bottom_of_first_stack(uintptr_t top)
{
    struct rlimit limit;
    bool is_known = getrlimit(RLIMIT_STACK, &limit) == 0;

    if (is_known && limit.rlim_cur >= top)
        return 0;
    return top - (is_known && limit.rlim_cur > STACK_USUALLY ? limit.rlim_cur : STACK_USUALLY);
}

/* Sets the bounds of this thread's stack, the upper one with what libc has there. libc puts the
 * thread's control block on top of a stack; the first thread has it elsewhere. */
static void find_stack(struct tm_thread *thread)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t first = &__libc_stack_end != NULL ? (uintptr_t)__libc_stack_end : 0;
    uintptr_t block = (uintptr_t)__builtin_thread_pointer();

    if (first > here && !(block > here && block < first)) {
        thread->stack_top = first + sizeof(void *);
        thread->stack_bottom = bottom_of_first_stack(thread->stack_top);
        return;
    }
    thread->stack_top = block > here ? block : here;
    thread->stack_bottom = bottom_of_threads_stack();
    if (thread->stack_bottom == 0)
        thread->stack_bottom = thread->stack_top - STACK_USUALLY;
}

/* Those of threads that ended while another closed the gate become free. The caller has closed it.
 */
static void sweep(void)
{
    for (struct tm_thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        if (__atomic_load_n(&thread->use, __ATOMIC_ACQUIRE) == TM_ENDED) {
            thread->use = TM_FREE;
            gate_count_threads(-1);
        }
    }
}

/* Atomic: a thread that ends right now writes TM_ENDED without the gate. */
static struct tm_thread *unused_descriptor(void)
{
    struct tm_thread *thread = thread_first();

    while (thread != NULL && __atomic_load_n(&thread->use, __ATOMIC_RELAXED) != TM_FREE)
        thread = thread->next;
    return thread;
}

static struct tm_thread *new_descriptor(void)
{
    struct tm_thread *thread = pages_map(sizeof *thread, 0);

    if (thread == NULL)
        tm_fatal("no memory for a thread that begins a transaction");
    thread->state = TM_INACTIVE;
    thread->lock_word = (uint64_t)(uintptr_t)thread | TM_LOCKED;
    thread->next_id = (uint64_t)(uintptr_t)thread << 16;
    thread->random = (uint64_t)(uintptr_t)thread;
    thread_add(thread);
    return thread;
}

/*
 * A thread ends; in a transaction if it was cancelled or called pthread_exit there, which then has
 * never committed. Does not wait for a thread that closes the gate, nor long for transactions: one
 * of them may join this thread. The descriptor is then counted until another thread comes.
 */
static void end_thread(void *value)
{
    struct tm_thread *thread = value;

    if (thread->nesting != 0)
        transaction_abandon(thread);
    tm_self = NULL;
    /* Release: the next owner finds what this one left. */
    __atomic_store_n(&thread->use, TM_ENDED, __ATOMIC_RELEASE);
    if (gate_try_close()) {
        sweep();
        gate_open();
    }
}

/* For the first transaction of the process, so that a program without any is left alone. The gate
 * is closed. */
static void start_once(void)
{
    static bool has_started;

    if (has_started)
        return;
    has_started = true;
    gate_start_fences();
    has_key = pthread_key_create(&key, end_thread) == 0;
}

struct tm_thread *registry_enter(void)
{
    struct tm_thread *thread;

    library_start();
    gate_close(NULL);
    start_once();
    sweep();
    thread = unused_descriptor();
    if (thread == NULL)
        thread = new_descriptor();
    thread->use = TM_IN_USE;
    gate_count_threads(1);
    gate_open();
    find_stack(thread);
    thread->uncaught_now = __cxa_get_globals != NULL ? &__cxa_get_globals()->uncaught : NULL;
    thread->statistics = statistics_table_of(thread->statistics);
    thread->aborts_in_row = 0;
    tm_self = thread;
    if (has_key)
        (void)pthread_setspecific(key, thread);
    return thread;
}

/* Whether the child is put right already: a handler of another library had a transaction there. */
static bool child_is_right;

void registry_before_fork(void)
{
    const struct tm_thread *self = tm_self;

    child_is_right = false;
    if (self == NULL || (self->nesting == 0 && self->hardware_depth == 0))
        gate_begin_fork(self, registry_after_fork_in_child);
}

void registry_after_fork_in_parent(void)
{
    gate_end_fork();
}

/*
 * Transactions of threads that the child does not have: their bytes are undone where they were
 * written in place, and written to the end where they were on their way from a buffer.
 */
void registry_after_fork_in_child(void)
{
    if (child_is_right)
        return;
    child_is_right = true;
    for (struct tm_thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        if (thread == tm_self)
            continue;
        if (thread->nesting != 0 && thread->algorithm != NULL)
            thread->algorithm->after_fork_in_child(thread);
        transaction_forget(thread);
        thread->use = TM_FREE;
    }
    gate_after_fork_in_child(tm_self);
    statistics_after_fork_in_child();
}
