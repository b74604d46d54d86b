/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See baton.h. Threads that return from system calls of the host come to acquire() while another
 * one runs; all else here is touched by the holder of the baton only.
 */
#include "virtual_processors/baton.h"

#include "program_calls/core_internals.h"
#include "virtual_processors/futex_call.h"
#include "virtual_processors/processors.h"
#include "virtual_processors/random.h"

enum { FAVOURS_MOST = 10000 };

static ULong chance = 1;
static ULong arrivals; /* threads that came to wait for the baton, ever */
static Bool is_new;
static Int favoured = NOWHERE; /* a processor */
static UInt favours_left;

void baton_seed(ULong seed)
{
    chance = random_start(seed);
    favoured = NOWHERE;
}

Bool baton_is_new(void)
{
    Bool was_new = is_new;

    is_new = False;
    return was_new;
}

void baton_favour(Int cpu)
{
    favoured = cpu;
    favours_left = FAVOURS_MOST;
}

static Int favoured_runner(void)
{
    if (favoured == NOWHERE)
        return NOBODY_RUNS;
    if (!processor_settings.is_favoured(favoured) || favours_left-- == 0) {
        favoured = NOWHERE;
        return NOBODY_RUNS;
    }
    return processors_current(favoured);
}

/* Who goes on: at a random processor with a ready thread. NOBODY_RUNS if nobody is ready. A choice
 * without alternative draws nothing, so that what a lone thread does leaves no trace in what comes
 * later. */
static Int choose(void)
{
    Int favourite = favoured_runner();
    ULong ready = processors_ready();

    if (favourite != NOBODY_RUNS)
        return favourite;
    if (ready == 0)
        return NOBODY_RUNS;
    if ((ready & (ready - 1)) != 0) {
        UInt skip = random_below(&chance, (UInt)__builtin_popcountll(ready));
        for (; skip > 0; skip--)
            ready &= ready - 1;
    }
    return processors_turn(__builtin_ctzll(ready));
}

static void sleep_until_granted(struct runner *me)
{
    /* The acquire pairs with the release in hand_over: all that the last holder did is seen. */
    while (__atomic_load_n(&me->granted, __ATOMIC_ACQUIRE) == 0)
        futex_sleep(&me->granted, 0);
}

static void hand_over(Int next, Bool awake)
{
    runner_running = next;
    if (next == NOBODY_RUNS)
        return;
    runners[next].ready = False;
    __atomic_store_n(&runners[next].granted, 1, __ATOMIC_RELEASE);
    if (!awake)
        futex_wake_one(&runners[next].granted);
}

/* The core makes nothing of the pointer but to give it back. At first, and in a forked child. */
struct sched_lock *__wrap_vgModuleLocal_create_sched_lock(void)
{
    processors_reset();
    return (struct sched_lock *)&runners;
}

void __wrap_vgModuleLocal_destroy_sched_lock(struct sched_lock *lock)
{
}

int __wrap_vgModuleLocal_get_sched_lock_owner(struct sched_lock *lock)
{
    return runner_running == NOBODY_RUNS ? 0 : runners[runner_running].lwp;
}

void __wrap_vgModuleLocal_acquire_sched_lock(struct sched_lock *lock)
{
    processors_lock();
    Int i = processors_runner_of(VG_(gettid)());
    struct runner *me = &runners[i];
    if (i == runner_running && me->keeps) {
        processors_unlock();
        return;
    }
    if (me->granted == 0 && !me->ready) {
        processors_arrive(me);
        arrivals++;
        if (runner_running == NOBODY_RUNS) {
            Int next = choose();
            hand_over(next, next == i);
        }
    }
    processors_unlock();
    sleep_until_granted(me);
    me->granted = 0;
    is_new = True;
    if (processor_settings.resumes != NULL)
        processor_settings.resumes();
}

void __wrap_vgModuleLocal_release_sched_lock(struct sched_lock *lock)
{
    processors_lock();
    Int i = runner_running;
    struct runner *me = &runners[i];
    if (me->in_call && me->keeps) {
        processors_unlock();
        return;
    }
    /* The core gives the baton up and takes it again until other threads are gone: without a turn
     * of their own, those at the same processor never would be. */
    if (is_new && !me->in_call)
        processors_end_slice();
    runner_running = NOBODY_RUNS;
    if (me->exits)
        me->lwp = 0;
    else if (!me->in_call)
        me->ready = True; /* only its turn is over: it asks for the baton again at once */
    if (!me->ready)
        processors_leave(me);
    Int next = choose();
    hand_over(next, next == i);
    processors_unlock();
}

void baton_call(Bool returns_at_once)
{
    runners[runner_running].in_call = True;
    runners[runner_running].keeps = returns_at_once;
}

void baton_call_returned(void)
{
    runners[runner_running].in_call = False;
    runners[runner_running].keeps = False;
}

void baton_thread_exits(void)
{
    runners[runner_running].exits = True;
}

ULong baton_arrivals(void)
{
    return __atomic_load_n(&arrivals, __ATOMIC_ACQUIRE);
}

void baton_await(ULong expected, Bool certain)
{
    enum { YIELDS = 2000, SLEEPS = 100000, NANOSECONDS = 100000 };
    struct vki_timespec short_time = {.tv_nsec = NANOSECONDS};

    for (UInt tries = 0; tries < YIELDS && baton_arrivals() < expected; tries++)
        (void)VG_(do_syscall)(__NR_sched_yield, 0, 0, 0, 0, 0, 0, 0, 0);
    for (UInt tries = 0; certain && tries < SLEEPS && baton_arrivals() < expected; tries++)
        (void)VG_(do_syscall)(__NR_nanosleep, (UWord)&short_time, 0, 0, 0, 0, 0, 0, 0);
}
