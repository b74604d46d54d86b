/*
 * SPDX-License-Identifier: MIT
 *
 * See gate.h.
 */
#include "tm_runtime/gate.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/spin.h"

#include <errno.h>
#include <linux/membarrier.h>

enum {
    SPINS = 200, /* between two yields of the processor */
    EXIT_SPIN_LIMIT = 100 * SPINS,
    FORK_SPIN_LIMIT = 10000 * SPINS,
    FORK_WAIT_NS = 500000000,
    FENCE_WAIT_NS = 1000000,
};

struct gate gate = {.word = GATE_FENCE, .forks = 1};

/* Whether the kernel fences other threads of this process for us. Any thread makes it false, the
 * first one that is refused; it stays so. */
static bool has_membarrier;

/* The process in which this thread has begun a fork; 0: it has not. */
static __thread int fork_parent __attribute__((tls_model("initial-exec")));
static __thread void (*put_child_right)(void) __attribute__((tls_model("initial-exec")));

/* gate.forks when this thread had waited for a fork long enough: it waits once for each. */
static __thread uint32_t passed_fork __attribute__((tls_model("initial-exec")));

static bool membarrier_register(void)
{
    return system_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, NULL, 0) == 0;
}

/* A fence in every thread of the process, this one among it. The caller has set GATE_CLOSED or
 * added GATE_FORK, which stop begins, and found no GATE_FENCE. */
static void fence_all(void)
{
    struct timespec wait = {.tv_nsec = FENCE_WAIT_NS};

    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (system_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, NULL, 0) == 0)
        return;
    /* A seccomp filter that came later: from now on each begin has a fence. No processor keeps a
     * store back for as long as this wait, so the begins without one are seen after it. */
    __atomic_store_n(&has_membarrier, false, __ATOMIC_RELAXED);
    while (system_call_6(SYS_nanosleep, (long)&wait, (long)&wait, 0, 0, 0, 0) == -EINTR)
        ;
    __atomic_fetch_or(&gate.word, GATE_FENCE, __ATOMIC_SEQ_CST);
}

void gate_start(bool count_running)
{
    gate.counts = count_running;
}

void gate_start_fences(void)
{
    has_membarrier = membarrier_register();
}

static int process(void)
{
    return (int)system_call(SYS_getpid, 0, NULL, 0);
}

/* Between two looks at what another thread writes. */
static void pause_or_yield(unsigned *looks)
{
    if (++*looks % SPINS != 0)
        spin_pause();
    else
        (void)system_call(SYS_sched_yield, 0, NULL, 0);
}

/* ---- beginning ---- */

static void announce_count(struct tm_thread *self)
{
    if (!self->counted) {
        self->counted = true;
        __atomic_fetch_add(&gate.running, 1, __ATOMIC_SEQ_CST);
    }
}

/* Whether this thread has to wait for threads that fork. */
static bool forks_stop(uint32_t word)
{
    return word >= GATE_FORK && fork_parent == 0 &&
           passed_fork != __atomic_load_n(&gate.forks, __ATOMIC_RELAXED);
}

static bool is_open_for(const struct tm_thread *self, uint32_t word)
{
    if (word & GATE_CLOSED || forks_stop(word))
        return false;
    return !(word & GATE_HOURGLASS) || (self != NULL && self->holds_hourglass);
}

/* Whether this thread has forked and the child is not put right yet. */
static bool is_child_of_fork(void)
{
    return fork_parent != 0 && fork_parent != process();
}

/*
 * In the child of a fork, a handler that runs before ours begins a transaction: what the parent's
 * other threads left is put right now.
 */
static void finish_fork(void)
{
    if (is_child_of_fork())
        put_child_right();
}

/* Sleeps until the gate may be open for this thread. */
static void wait_until_open(const struct tm_thread *self)
{
    struct timespec deadline;
    uint32_t word;

    finish_fork();
    for (unsigned look = 0; look < SPINS; look++) {
        if (is_open_for(self, __atomic_load_n(&gate.word, __ATOMIC_RELAXED)))
            return;
        spin_pause();
    }
    clock_read(CLOCK_MONOTONIC, &deadline);
    deadline.tv_nsec += FORK_WAIT_NS;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    /* Sequentially consistent: pairs with wake_sleepers, whose caller has opened the gate. */
    __atomic_fetch_add(&gate.sleepers, 1, __ATOMIC_SEQ_CST);
    while (!is_open_for(self, word = __atomic_load_n(&gate.word, __ATOMIC_SEQ_CST))) {
        if (!forks_stop(word))
            futex_wait((int *)&gate.word, (int)word);
        else if (futex_wait_until((int *)&gate.word, (int)word, CLOCK_MONOTONIC, &deadline) ==
                 -ETIMEDOUT)
            passed_fork = __atomic_load_n(&gate.forks, __ATOMIC_RELAXED);
    }
    __atomic_fetch_sub(&gate.sleepers, 1, __ATOMIC_RELAXED);
}

uint32_t gate_enter(struct tm_thread *self, const uint64_t *clock)
{
    for (;;) {
        uint32_t word;

        __atomic_store_n(&self->state, __atomic_load_n(clock, __ATOMIC_ACQUIRE), __ATOMIC_RELAXED);
        if (__builtin_expect(gate.counts, 0))
            announce_count(self);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        /* Without GATE_FENCE the store above needs no fence here: a thread that stops begins and
         * finds no GATE_FENCE calls fence_all, after which it sees the store of a begin which read
         * the word before. */
        word = __atomic_load_n(&gate.word, __ATOMIC_ACQUIRE);
        if (word & GATE_FENCE) {
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
            word = __atomic_load_n(&gate.word, __ATOMIC_ACQUIRE);
        }
        if (__builtin_expect((word & GATE_STOPS) == 0, 1))
            return word;
        if (is_open_for(self, word) && !is_child_of_fork())
            return word;
        gate_leave(self);
        wait_until_open(self);
    }
}

static void wake_sleepers(void)
{
    if (__atomic_load_n(&gate.sleepers, __ATOMIC_SEQ_CST) != 0)
        futex_wake_all((int *)&gate.word);
}

static void open_bits(uint32_t bits)
{
    __atomic_fetch_and(&gate.word, ~bits, __ATOMIC_SEQ_CST);
    wake_sleepers();
}

/* ---- closing ---- */

static bool try_serial(void)
{
    int expected = 0;

    return __atomic_compare_exchange_n(&gate.serial, &expected, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void lock_serial(void)
{
    for (unsigned look = 0; look < SPINS; look++) {
        if (try_serial())
            return;
        spin_pause();
    }
    while (__atomic_exchange_n(&gate.serial, 2, __ATOMIC_ACQUIRE) != 0)
        futex_wait(&gate.serial, 2);
}

static void unlock_serial(void)
{
    if (__atomic_exchange_n(&gate.serial, 0, __ATOMIC_RELEASE) == 2)
        futex_wake_one(&gate.serial);
}

/* Without end, looks comes to be 0 again. */
static bool is_spun_out(unsigned looks, unsigned spin_limit)
{
    return spin_limit != 0 && looks == spin_limit;
}

/* Waits until no other thread is in a transaction; without end if spin_limit is 0. False: some
 * still run. */
static bool wait_for_others(const struct tm_thread *self, unsigned spin_limit)
{
    unsigned looks = 0;

    if (gate.counts) {
        uint64_t own = self != NULL && self->counted;

        while (__atomic_load_n(&gate.running, __ATOMIC_ACQUIRE) != own) {
            pause_or_yield(&looks);
            if (is_spun_out(looks, spin_limit))
                return false;
        }
    }
    for (struct tm_thread *other = thread_first(); other != NULL; other = other->next) {
        while (other != self && __atomic_load_n(&other->state, __ATOMIC_ACQUIRE) != TM_INACTIVE) {
            pause_or_yield(&looks);
            if (is_spun_out(looks, spin_limit))
                return false;
        }
    }
    return true;
}

static bool stop_others(struct tm_thread *self, unsigned spin_limit)
{
    uint32_t before = __atomic_fetch_or(&gate.word, GATE_CLOSED, __ATOMIC_SEQ_CST);

    if (!(before & GATE_FENCE))
        fence_all();
    return wait_for_others(self, spin_limit);
}

/* The gate's word says who was first, this one or a thread that forks: each changes it by an atomic
 * operation, and the later one waits. */
void gate_close(struct tm_thread *self)
{
    finish_fork();
    lock_serial();
    while (forks_stop(__atomic_or_fetch(&gate.word, GATE_CLOSED, __ATOMIC_SEQ_CST))) {
        gate_open();
        wait_until_open(self);
        lock_serial();
    }
    (void)stop_others(self, 0);
}

bool gate_close_from_within(struct tm_thread *self)
{
    if (!try_serial())
        return false;
    return stop_others(self, 0);
}

bool gate_try_close(void)
{
    if (!try_serial())
        return false;
    if (stop_others(NULL, EXIT_SPIN_LIMIT))
        return true;
    gate_open();
    return false;
}

void gate_open(void)
{
    open_bits(GATE_CLOSED);
    unlock_serial();
}

void gate_quiesce(const struct tm_thread *self, uint64_t time)
{
    unsigned looks = 0;

    for (struct tm_thread *other = thread_first(); other != NULL; other = other->next) {
        while (other != self && __atomic_load_n(&other->state, __ATOMIC_ACQUIRE) < time)
            pause_or_yield(&looks);
    }
}

/* ---- the hourglass ---- */

bool gate_take_hourglass(struct tm_thread *self)
{
    struct tm_thread *nobody = NULL;

    if (!__atomic_compare_exchange_n(&gate.hourglass_owner, &nobody, self, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    self->holds_hourglass = true;
    __atomic_fetch_or(&gate.word, GATE_HOURGLASS, __ATOMIC_SEQ_CST);
    return true;
}

void gate_release_hourglass(struct tm_thread *self)
{
    self->holds_hourglass = false;
    open_bits(GATE_HOURGLASS);
    __atomic_store_n(&gate.hourglass_owner, NULL, __ATOMIC_RELEASE);
}

/* ---- threads and forks ---- */

void gate_begin_fork(const struct tm_thread *self, void (*in_child)(void))
{
    uint32_t before = __atomic_fetch_add(&gate.word, GATE_FORK, __ATOMIC_SEQ_CST);
    unsigned looks = 0;

    fork_parent = process();
    put_child_right = in_child;
    if (!(before & GATE_FENCE))
        fence_all();
    while (__atomic_load_n(&gate.word, __ATOMIC_ACQUIRE) & GATE_CLOSED && looks < FORK_SPIN_LIMIT)
        pause_or_yield(&looks);
    (void)wait_for_others(self, FORK_SPIN_LIMIT);
}

void gate_end_fork(void)
{
    if (fork_parent == 0)
        return;
    fork_parent = 0;
    __atomic_fetch_add(&gate.forks, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&gate.word, GATE_FORK, __ATOMIC_SEQ_CST);
    wake_sleepers();
}

void gate_count_threads(int change)
{
    bool may_fence_others = __atomic_load_n(&has_membarrier, __ATOMIC_RELAXED);
    uint32_t set = GATE_FENCE, clear = GATE_ALONE;

    gate.threads += (uint32_t)change;
    if (gate.threads == 1) {
        set = GATE_ALONE | (may_fence_others ? 0 : GATE_FENCE);
        clear = may_fence_others ? GATE_FENCE : 0;
    }
    __atomic_fetch_or(&gate.word, set, __ATOMIC_SEQ_CST);
    __atomic_fetch_and(&gate.word, ~clear, __ATOMIC_SEQ_CST);
}

void gate_after_fork_in_child(struct tm_thread *self)
{
    bool stays_closed = self != NULL && self->holds_serial;

    fork_parent = 0;
    has_membarrier = has_membarrier && membarrier_register();
    gate.running = self != NULL && self->counted;
    gate.serial = stays_closed;
    gate.hourglass_owner = self != NULL && self->holds_hourglass ? self : NULL;
    gate.sleepers = 0;
    gate.threads = self != NULL;
    gate.word = GATE_FENCE | (self != NULL ? GATE_ALONE : 0) | (stays_closed ? GATE_CLOSED : 0) |
                (gate.hourglass_owner != NULL ? GATE_HOURGLASS : 0);
}
