/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See synchronisation.h. What may end another thread's wait is told when the call begins, for the
 * other thread may go on before it returns; what the thread got, when it returns.
 */
#include "memtrace/synchronisation.h"

#include "memtrace/events.h"
#include "memtrace/sites.h"
#include "memtrace/threads.h"

enum { OWNER_DIED = 130 }; /* EOWNERDEAD */

enum action {
    LOCK,
    UNLOCK,
    SPIN_UNLOCK,
    READ_WRITE_UNLOCK,
    WAIT_FOR_CONDITION,
    SIGNAL,
    BARRIER_INIT,
    BARRIER_WAIT,
    SEMAPHORE_INIT,
    SEMAPHORE_POST,
    SEMAPHORE_WAIT,
    ONCE,
    JOIN,
};

static const struct watched {
    const HChar *name;
    enum action action;
    enum trace_call what;
    Bool shared;
} watched[] = {
    {"pthread_mutex_lock", LOCK, TRACE_MUTEX, False},
    {"pthread_mutex_trylock", LOCK, TRACE_MUTEX, False},
    {"pthread_mutex_timedlock", LOCK, TRACE_MUTEX, False},
    {"pthread_mutex_clocklock", LOCK, TRACE_MUTEX, False},
    {"pthread_mutex_unlock", UNLOCK, TRACE_MUTEX, False},
    {"mtx_lock", LOCK, TRACE_MUTEX, False},
    {"mtx_trylock", LOCK, TRACE_MUTEX, False},
    {"mtx_timedlock", LOCK, TRACE_MUTEX, False},
    {"mtx_unlock", UNLOCK, TRACE_MUTEX, False},
    {"pthread_rwlock_rdlock", LOCK, TRACE_RWLOCK, True},
    {"pthread_rwlock_tryrdlock", LOCK, TRACE_RWLOCK, True},
    {"pthread_rwlock_timedrdlock", LOCK, TRACE_RWLOCK, True},
    {"pthread_rwlock_clockrdlock", LOCK, TRACE_RWLOCK, True},
    {"pthread_rwlock_wrlock", LOCK, TRACE_RWLOCK, False},
    {"pthread_rwlock_trywrlock", LOCK, TRACE_RWLOCK, False},
    {"pthread_rwlock_timedwrlock", LOCK, TRACE_RWLOCK, False},
    {"pthread_rwlock_clockwrlock", LOCK, TRACE_RWLOCK, False},
    {"pthread_rwlock_unlock", READ_WRITE_UNLOCK, TRACE_RWLOCK, False},
    {"pthread_spin_lock", LOCK, TRACE_SPIN, False},
    {"pthread_spin_trylock", LOCK, TRACE_SPIN, False},
    {"pthread_spin_unlock", SPIN_UNLOCK, TRACE_SPIN, False},
    /* To libc for x86-64 it is the same function. */
    {"pthread_spin_init", SPIN_UNLOCK, TRACE_SPIN, False},
    {"pthread_cond_wait", WAIT_FOR_CONDITION, TRACE_CONDITION, False},
    {"pthread_cond_timedwait", WAIT_FOR_CONDITION, TRACE_CONDITION, False},
    {"pthread_cond_clockwait", WAIT_FOR_CONDITION, TRACE_CONDITION, False},
    {"cnd_wait", WAIT_FOR_CONDITION, TRACE_CONDITION, False},
    {"cnd_timedwait", WAIT_FOR_CONDITION, TRACE_CONDITION, False},
    {"pthread_cond_signal", SIGNAL, TRACE_CONDITION, False},
    {"pthread_cond_broadcast", SIGNAL, TRACE_CONDITION, False},
    {"cnd_signal", SIGNAL, TRACE_CONDITION, False},
    {"cnd_broadcast", SIGNAL, TRACE_CONDITION, False},
    {"pthread_barrier_init", BARRIER_INIT, TRACE_BARRIER, False},
    {"pthread_barrier_wait", BARRIER_WAIT, TRACE_BARRIER, False},
    {"sem_init", SEMAPHORE_INIT, TRACE_SEMAPHORE, False},
    {"sem_post", SEMAPHORE_POST, TRACE_SEMAPHORE, False},
    {"sem_wait", SEMAPHORE_WAIT, TRACE_SEMAPHORE, False},
    {"sem_trywait", SEMAPHORE_WAIT, TRACE_SEMAPHORE, False},
    {"sem_timedwait", SEMAPHORE_WAIT, TRACE_SEMAPHORE, False},
    {"sem_clockwait", SEMAPHORE_WAIT, TRACE_SEMAPHORE, False},
    {"pthread_once", ONCE, TRACE_ONCE, False},
    {"call_once", ONCE, TRACE_ONCE, False},
    {"pthread_join", JOIN, TRACE_THREAD, False},
    {"pthread_tryjoin_np", JOIN, TRACE_THREAD, False},
    {"pthread_timedjoin_np", JOIN, TRACE_THREAD, False},
    {"pthread_clockjoin_np", JOIN, TRACE_THREAD, False},
    {"thrd_join", JOIN, TRACE_THREAD, False},
};

/* libc's own names begin with underscores and may end with a version. */
Int synchronisation_kind_of(const HChar *name)
{
    while (*name == '_')
        name++;
    for (UInt i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        SizeT length = VG_(strlen)(watched[i].name);
        if (VG_(strncmp)(name, watched[i].name, length) == 0 &&
            (name[length] == '\0' || name[length] == '@'))
            return ALLOCATION_KINDS + (Int)i;
    }
    return PROGRAM_CALL_NONE;
}

/* Who called: the place of the call instruction. */
static UInt caller_of(const struct program_call *call)
{
    return sites_of(*(const Addr *)(call->stack_at_return - sizeof(Addr)) - 1);
}

static void lock_event(ThreadId thread, enum trace_kind kind, enum trace_call what, Bool shared,
                       Addr address, UInt site)
{
    events_append(thread, &(struct trace_event){
                              .kind = (uint8_t)kind,
                              .what = (uint8_t)what,
                              .shared = shared,
                              .address = address,
                              .site = site,
                          });
}

static void post(ThreadId thread, enum trace_call what, struct object *object, UInt site)
{
    object->latest = events_post(thread, what, object->address, site);
    object->posts++;
}

/* The last one that arrives opens the barrier. Arguments 1 and 2 become: rounds that were over when
 * it arrived, and whether it was the last. */
static void arrive(ThreadId thread, struct program_call *call, struct object *object, UInt site)
{
    call->argument[1] = object->rounds;
    call->argument[2] = ++object->arrived == object->threads;
    if (call->argument[2]) {
        object->arrived = 0;
        object->rounds++;
        post(thread, TRACE_BARRIER, object, site);
    }
}

/* The initialisation is the program's own code, and what it calls counts: the call is not watched
 * further. libc wakes who waits for its end by a futex. */
static void enter_once(ThreadId thread, struct program_call *call, UInt site)
{
    enum { DONE = 2 };
    struct object *object = objects_at(call->argument[0]);

    object->is_once = True;
    if (*(const UInt *)call->argument[0] & DONE)
        events_wait(thread, TRACE_ONCE, object->address, site, object->latest);
    call->kind = PROGRAM_CALL_NONE;
}

void synchronisation_entered(ThreadId thread, struct program_call *call)
{
    const struct watched *function = &watched[call->kind - ALLOCATION_KINDS];
    UInt site = caller_of(call);
    struct object *object;

    switch (function->action) {
    case WAIT_FOR_CONDITION: /* argument 2 becomes: posts that were before */
        lock_event(thread, TRACE_RELEASE, TRACE_MUTEX, False, call->argument[1], site);
        call->argument[2] = objects_at(call->argument[0])->posts;
        break;
    case SIGNAL:
        post(thread, TRACE_CONDITION, objects_at(call->argument[0]), site);
        break;
    case BARRIER_WAIT:
        arrive(thread, call, objects_at(call->argument[0]), site);
        break;
    case SEMAPHORE_INIT:
        object = objects_at(call->argument[0]);
        objects_reset(object);
        object->credits = (UInt)call->argument[2];
        break;
    case SEMAPHORE_POST:
        object = objects_at(call->argument[0]);
        post(thread, TRACE_SEMAPHORE, object, site);
        objects_queue(object, object->latest);
        break;
    case ONCE:
        enter_once(thread, call, site);
        break;
    case JOIN: /* argument 1 becomes: which thread that is, for its name can be used again */
        call->argument[1] = (UWord)threads_known_as(call->argument[0]);
        break;
    default: /* all else is told when it is done */
        break;
    }
}

/* The mutex is held again, whether the wait was successful or not. */
static void end_condition_wait(ThreadId thread, const struct program_call *call, Bool successful,
                               UInt site)
{
    struct object *object = objects_at(call->argument[0]);

    if (successful && object->posts > call->argument[2])
        events_wait(thread, TRACE_CONDITION, object->address, site, object->latest);
    lock_event(thread, TRACE_ACQUIRE, TRACE_MUTEX, False, call->argument[1], site);
}

static void acquired(ThreadId thread, const struct watched *function, Addr address, UInt site)
{
    if (function->what == TRACE_SPIN)
        objects_at(address)->is_held = True;
    if (function->what == TRACE_RWLOCK && !function->shared)
        objects_at(address)->is_exclusive = True;
    lock_event(thread, TRACE_ACQUIRE, function->what, function->shared, address, site);
}

static void released(ThreadId thread, const struct watched *function, Addr address, UInt site)
{
    Bool shared = False;

    if (function->action == SPIN_UNLOCK) {
        struct object *object = objects_at(address);
        if (!object->is_held)
            return; /* it is initialised */
        object->is_held = False;
    } else if (function->action == READ_WRITE_UNLOCK) {
        struct object *object = objects_at(address);
        shared = !object->is_exclusive;
        object->is_exclusive = False;
    }
    lock_event(thread, TRACE_RELEASE, function->what, shared, address, site);
}

static void init_barrier(struct object *object, UWord threads)
{
    objects_reset(object);
    object->threads = (UInt)threads;
}

void synchronisation_returned(ThreadId thread, const struct program_call *call, UWord value)
{
    const struct watched *function = &watched[call->kind - ALLOCATION_KINDS];
    const UWord *argument = call->argument;
    Int result = (Int)value;
    struct object *object;
    UInt site;

    site = caller_of(call);
    switch (function->action) {
    case LOCK:
        if (result == 0 || result == OWNER_DIED)
            acquired(thread, function, argument[0], site);
        break;
    case UNLOCK:
    case SPIN_UNLOCK:
    case READ_WRITE_UNLOCK:
        if (result == 0)
            released(thread, function, argument[0], site);
        break;
    case WAIT_FOR_CONDITION:
        end_condition_wait(thread, call, result == 0, site);
        break;
    case BARRIER_INIT:
        if (result == 0)
            init_barrier(objects_at(argument[0]), argument[2]);
        break;
    case BARRIER_WAIT:
        object = objects_at(argument[0]);
        if (!argument[2] && object->rounds > argument[1])
            events_wait(thread, TRACE_BARRIER, object->address, site, object->latest);
        break;
    case SEMAPHORE_WAIT:
        if (result == 0)
            events_wait(thread, TRACE_SEMAPHORE, argument[0], site,
                        objects_take(objects_at(argument[0])));
        break;
    case JOIN:
        if (result == 0)
            threads_joined(thread, (const struct thread_record *)argument[1], site);
        break;
    default: /* all is told */
        break;
    }
}
