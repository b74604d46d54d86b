/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See schedule.h.
 *
 * The baton's state is guarded by a small spin lock: threads that return from system calls of the
 * host come to acquire() while another one runs. Everything else here is touched by the holder of
 * the baton only.
 */
#include "schedule.h"

#include "core_internals.h"
#include "random.h"
#include "transaction.h"

enum { NONE = -1, FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };

/* A thread of the host. What the core calls ThreadId comes and goes before and after this. */
struct runner {
    Int lwp; /* 0: free */
    Int cpu; /* NONE until it first waits for the baton */
    ULong affinity;
    Bool ready;   /* waits for the baton, or will at once */
    Bool in_call; /* gives up the baton for a system call */
    Bool keeps;   /* does not, though the core thinks so: the call returns at once */
    Bool exits;   /* gives it up for good */
    UInt granted; /* the futex it sleeps on; 1: the baton is its own */
};

/* A virtual processor. */
struct processor {
    Int current;     /* its thread: index into runners, or NONE */
    UInt slice_used; /* blocks that thread has had since it came */
};

static struct {
    UInt guard;     /* spin lock over this struct, runners and processors */
    Int holder;     /* index into runners, or NONE */
    ULong arrivals; /* threads that came to wait for it, ever */
} baton = {.holder = NONE};

static struct runner *runners;
static Int runners_used; /* beyond it all are free */
static Int runners_room;
static struct processor processors[CPUS_MOST];
static ULong chance;
static UInt stretch;      /* blocks the holder may run; 0: not yet drawn */
static Int interrupt_due; /* blocks in transactions until the next one */
static UInt counted_from; /* the event counter up to which interrupt_due is right */

static void guard_lock(void)
{
    for (UInt tries = 0; __atomic_exchange_n(&baton.guard, 1, __ATOMIC_ACQUIRE) != 0; tries++) {
        /* Held for a few instructions, unless its holder lost its processor of the host. */
        if (tries % 64 == 63)
            (void)VG_(do_syscall)(__NR_sched_yield, 0, 0, 0, 0, 0, 0, 0, 0);
    }
}

static void guard_unlock(void)
{
    __atomic_store_n(&baton.guard, 0, __ATOMIC_RELEASE);
}

static ULong all_cpus(void)
{
    return options.cpus == CPUS_MOST ? ~0ULL : (1ULL << options.cpus) - 1;
}

void schedule_init(void)
{
    chance = random_start((ULong)options.seed);
    if (options.interrupt_rate != 0)
        interrupt_due = (Int)random_around(&chance, (UInt)options.interrupt_rate);
}

static void reset(void)
{
    if (runners == NULL) {
        runners_room = (Int)VG_N_THREADS + 1;
        runners = VG_(calloc)("rtm.runners", (SizeT)runners_room, sizeof *runners);
    }
    VG_(memset)(runners, 0, (SizeT)runners_room * sizeof *runners);
    runners_used = 0;
    for (Int cpu = 0; cpu < CPUS_MOST; cpu++)
        processors[cpu] = (struct processor){.current = NONE};
    baton.guard = 0;
    baton.holder = NONE;
}

/* The entry of this thread of the host; a new one if it never came here. Under the guard. */
static Int runner_of(Int lwp)
{
    Int unused = NONE;

    for (Int i = 0; i < runners_used; i++) {
        if (runners[i].lwp == lwp)
            return i;
        if (runners[i].lwp == 0 && unused == NONE)
            unused = i;
    }
    if (unused == NONE) {
        tl_assert(runners_used < runners_room);
        unused = runners_used++;
    }
    runners[unused] = (struct runner){.lwp = lwp, .cpu = NONE, .affinity = ~0ULL};
    return unused;
}

/* How many threads want this processor. */
static UInt load_of(Int cpu)
{
    UInt load = 0;

    for (Int i = 0; i < runners_used; i++) {
        if (runners[i].lwp != 0 && runners[i].cpu == cpu && (runners[i].ready || i == baton.holder))
            load++;
    }
    return load;
}

/* Where a thread goes on that was away: where it was if nobody is there, else where the fewest
 * are. As kernels do, for an idle processor is worth more than a warm cache. */
static void place(struct runner *runner)
{
    ULong allowed = runner->affinity & all_cpus();
    Int best = NONE;
    UInt best_load = 0;

    if (allowed == 0)
        allowed = all_cpus();
    if (runner->cpu != NONE && (allowed >> runner->cpu & 1)) {
        best = runner->cpu;
        best_load = load_of(best);
    }
    for (Int cpu = 0; cpu < options.cpus && (best == NONE || best_load != 0); cpu++) {
        UInt load = allowed >> cpu & 1 ? load_of(cpu) : ~0U;
        if (allowed >> cpu & 1 && (best == NONE || load < best_load)) {
            best = cpu;
            best_load = load;
        }
    }
    runner->cpu = best;
}

/* A processor whose last thread just left takes one that waits for its turn elsewhere. */
static void fill(Int cpu)
{
    if (load_of(cpu) != 0)
        return;
    for (Int i = 0; i < runners_used; i++) {
        struct runner *runner = &runners[i];
        if (runner->lwp != 0 && runner->ready && (runner->affinity >> cpu & 1) &&
            processors[runner->cpu].current != i && load_of(runner->cpu) > 1) {
            runner->cpu = cpu;
            return;
        }
    }
}

static Int next_on(Int cpu, Int after)
{
    for (Int step = 1; step <= runners_used; step++) {
        Int i = (after + step) % runners_used;
        if (runners[i].lwp != 0 && runners[i].ready && runners[i].cpu == cpu)
            return i;
    }
    return NONE;
}

/* The thread that goes on at this processor, which has a ready one. */
static Int turn(Int cpu)
{
    struct processor *processor = &processors[cpu];
    Int current = processor->current;
    Bool stays = current != NONE && runners[current].lwp != 0 && runners[current].ready &&
                 runners[current].cpu == cpu && processor->slice_used < (UInt)options.timeslice;

    if (stays)
        return current;
    Int next = next_on(cpu, current == NONE ? 0 : current);
    if (next != current && transactions[cpu].active) {
        struct abort_event event = {.cause = ABORT_CONTEXT_SWITCH};
        transaction_abort(&transactions[cpu], &event);
    }
    processor->current = next;
    processor->slice_used = 0;
    return next;
}

/*
 * Long transactions that all want the same line early can abort each other for ever: whoever comes
 * to it wins, and never gets to its end before the next one comes. Hardware does not exclude that,
 * but its timing is never so even. So a processor that lost many conflicts in a row is left alone
 * with its next transaction; not without a bound, for a transaction can wait for what another
 * thread does.
 */
enum { DEFEATS_MOST = 100, FAVOURS_MOST = 10000 };
static Int favoured = NONE;
static UInt favours_left;

static Int favoured_runner(void)
{
    if (favoured == NONE)
        return NONE;
    if (!transactions[favoured].active || favours_left-- == 0) {
        favoured = NONE;
        return NONE;
    }
    Int current = processors[favoured].current;
    return current != NONE && runners[current].ready ? current : NONE;
}

/* A random processor with a ready thread; NONE if nobody is ready. */
static Int choose(void)
{
    ULong ready = 0;
    Int favourite = favoured_runner();

    if (favourite != NONE)
        return favourite;
    for (Int i = 0; i < runners_used; i++) {
        if (runners[i].lwp != 0 && runners[i].ready)
            ready |= 1ULL << runners[i].cpu;
    }
    if (ready == 0)
        return NONE;
    for (UInt skip = random_below(&chance, (UInt)__builtin_popcountll(ready)); skip > 0; skip--)
        ready &= ready - 1;
    return turn(__builtin_ctzll(ready));
}

static void sleep_until_granted(struct runner *me)
{
    /* The acquire pairs with the release in hand_over: all that the last holder did is seen. */
    while (__atomic_load_n(&me->granted, __ATOMIC_ACQUIRE) == 0)
        (void)VG_(do_syscall)(__NR_futex, (UWord)&me->granted, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0, 0,
                              0);
}

static void hand_over(Int next, Bool awake)
{
    baton.holder = next;
    if (next == NONE)
        return;
    runners[next].ready = False;
    __atomic_store_n(&runners[next].granted, 1, __ATOMIC_RELEASE);
    if (!awake)
        (void)VG_(do_syscall)(__NR_futex, (UWord)&runners[next].granted, FUTEX_WAKE_PRIVATE, 1, 0,
                              0, 0, 0, 0);
}

struct sched_lock *__wrap_vgModuleLocal_create_sched_lock(void)
{
    reset();
    return (struct sched_lock *)&baton;
}

void __wrap_vgModuleLocal_destroy_sched_lock(struct sched_lock *lock)
{
}

int __wrap_vgModuleLocal_get_sched_lock_owner(struct sched_lock *lock)
{
    return baton.holder == NONE ? 0 : runners[baton.holder].lwp;
}

/* Sets the running thread's transaction. Who gets the baton does that at once: the core may deliver
 * a signal before it comes to translated code. */
static void find_transaction(void)
{
    struct transaction *mine;

    if (transactions == NULL) /* the core takes the baton before the options are known, too */
        return;
    mine = &transactions[schedule_cpu()];
    transaction_running = mine->active ? mine : NULL;
}

void __wrap_vgModuleLocal_acquire_sched_lock(struct sched_lock *lock)
{
    Int lwp = VG_(gettid)();

    guard_lock();
    Int i = runner_of(lwp);
    struct runner *me = &runners[i];
    if (i == baton.holder && me->keeps) {
        guard_unlock();
        return;
    }
    if (me->granted == 0 && !me->ready) {
        me->ready = True;
        baton.arrivals++;
        place(me);
        if (baton.holder == NONE) {
            Int next = choose();
            hand_over(next, next == i);
        }
    }
    guard_unlock();
    sleep_until_granted(me);
    me->granted = 0;
    stretch = 0;
    find_transaction();
}

void __wrap_vgModuleLocal_release_sched_lock(struct sched_lock *lock)
{
    guard_lock();
    struct runner *me = &runners[baton.holder];
    Int i = baton.holder;
    if (me->in_call && me->keeps) {
        guard_unlock();
        return;
    }
    processors[me->cpu].slice_used += stretch;
    baton.holder = NONE;
    if (me->exits)
        me->lwp = 0;
    else if (!me->in_call)
        me->ready = True; /* only its turn is over: it asks for the baton again at once */
    if (!me->ready)
        fill(me->cpu);
    Int next = choose();
    hand_over(next, next == i);
    guard_unlock();
}

static Bool alone(void)
{
    Int threads = 0;

    for (Int i = 0; i < runners_used; i++)
        threads += runners[i].lwp != 0;
    return threads == 1;
}

static void limit_counter(Guest *guest, UInt most)
{
    if (guest->host_EvC_COUNTER > most)
        guest->host_EvC_COUNTER = most;
}

/* The event counter counts blocks down and stands at -1 when it made the thread leave. */
static UInt counter_of(const Guest *guest)
{
    return (Int)guest->host_EvC_COUNTER < 0 ? 0 : guest->host_EvC_COUNTER;
}

static void draw_interrupt(void)
{
    interrupt_due = (Int)random_around(&chance, (UInt)options.interrupt_rate);
}

/* Makes the thread come back here when the interrupt is due. */
static void limit_to_interrupt(Guest *guest)
{
    if (options.interrupt_rate == 0)
        return;
    limit_counter(guest, interrupt_due > 0 ? (UInt)interrupt_due : 0);
    counted_from = counter_of(guest);
}

Bool schedule_enter(Guest *guest)
{
    runners[baton.holder].in_call = False;
    runners[baton.holder].keeps = False;
    find_transaction();
    if (transaction_running != NULL && options.interrupt_rate != 0 && interrupt_due <= 0) {
        struct abort_event event = {.cause = ABORT_INTERRUPT};
        transaction_abort(transaction_running, &event);
        draw_interrupt();
        return False;
    }
    if (stretch == 0 && !alone()) {
        Int mean = transactions_active != 0 ? options.switch_inside : options.switch_outside;
        stretch = random_around(&chance, (UInt)mean);
        limit_counter(guest, stretch);
    }
    if (transaction_running != NULL)
        limit_to_interrupt(guest);
    return True;
}

void schedule_leave(const Guest *guest)
{
    if (transaction_running != NULL)
        schedule_count_blocks(guest);
}

void schedule_count_blocks(const Guest *guest)
{
    if (options.interrupt_rate == 0)
        return;
    interrupt_due -= (Int)(counted_from - counter_of(guest));
    counted_from = counter_of(guest);
}

void schedule_transaction_begun(Guest *guest)
{
    if (transaction_running->defeats >= DEFEATS_MOST) {
        favoured = transaction_running->cpu;
        favours_left = FAVOURS_MOST;
    } else if (!alone()) {
        limit_counter(guest, random_around(&chance, (UInt)options.switch_inside));
    }
    limit_to_interrupt(guest);
}

Int schedule_cpu(void)
{
    return runners[baton.holder].cpu;
}

void schedule_system_call(Bool begins, Bool returns_at_once)
{
    runners[baton.holder].in_call = begins;
    runners[baton.holder].keeps = begins && returns_at_once;
}

ULong schedule_arrivals(void)
{
    return __atomic_load_n(&baton.arrivals, __ATOMIC_ACQUIRE);
}

void schedule_await(ULong arrivals)
{
    enum { PATIENCE = 2000 };

    for (UInt tries = 0; tries < PATIENCE && schedule_arrivals() < arrivals; tries++)
        (void)VG_(do_syscall)(__NR_sched_yield, 0, 0, 0, 0, 0, 0, 0, 0);
}

void schedule_thread_exits(void)
{
    runners[baton.holder].exits = True;
}

void schedule_yields(void)
{
    processors[schedule_cpu()].slice_used = (UInt)options.timeslice;
}

void schedule_set_affinity(ULong cpus)
{
    struct runner *me = &runners[baton.holder];

    me->affinity = cpus;
    if ((cpus & all_cpus()) == 0 || (cpus >> me->cpu & 1))
        return;
    place(me);
    /* It goes on there at once, in the place of whoever was there. */
    if (transactions[me->cpu].active) {
        struct abort_event event = {.cause = ABORT_CONTEXT_SWITCH};
        transaction_abort(&transactions[me->cpu], &event);
    }
    processors[me->cpu] = (struct processor){.current = baton.holder};
}
