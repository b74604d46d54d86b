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

enum { SPINS = 200, QUICK_LOOKS = 2000000, QUICK_SECONDS = 1 };

struct gate gate = {.word = GATE_FENCE};

/* Whether the kernel fences other threads of this process for us. */
static bool has_membarrier;

static bool membarrier_register(void)
{
    return system_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, NULL, 0) == 0;
}

/* A fence in every thread of the process, this one among it. */
static void fence_all(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!has_membarrier)
        return;
    while (system_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, NULL, 0) != 0) {
        if (!membarrier_register())
            tm_fatal("the kernel takes membarrier back");
    }
}

void gate_start(bool count_running)
{
    gate.counts = count_running;
    has_membarrier = membarrier_register();
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

uint32_t gate_enter(struct tm_thread *self, const uint64_t *clock)
{
    for (;;) {
        uint32_t word;

        __atomic_store_n(&self->state, __atomic_load_n(clock, __ATOMIC_ACQUIRE), __ATOMIC_RELAXED);
        if (__builtin_expect(gate.counts, 0))
            announce_count(self);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        /* Without GATE_FENCE the store above needs no fence here: the thread that sets GATE_FENCE
         * issues a membarrier after it, and that fences the store of a begin which read the word
         * before. */
        word = __atomic_load_n(&gate.word, __ATOMIC_ACQUIRE);
        if (word & GATE_FENCE) {
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
            word = __atomic_load_n(&gate.word, __ATOMIC_ACQUIRE);
        }
        if (__builtin_expect((word & (GATE_CLOSED | GATE_HOURGLASS)) == 0, 1))
            return word;
        if (!(word & GATE_CLOSED) && self->holds_hourglass)
            return word;
        gate_leave(self);
        gate_wait(self);
    }
}

static bool is_open_for(const struct tm_thread *self, uint32_t word)
{
    if (word & GATE_CLOSED)
        return false;
    return !(word & GATE_HOURGLASS) || (self != NULL && self->holds_hourglass);
}

void gate_wait(const struct tm_thread *self)
{
    uint32_t word;

    for (unsigned look = 0; look < SPINS; look++) {
        if (is_open_for(self, __atomic_load_n(&gate.word, __ATOMIC_RELAXED)))
            return;
        spin_pause();
    }
    /* Sequentially consistent: pairs with open_bits, which clears the bit and then looks for
     * sleepers. */
    __atomic_fetch_add(&gate.sleepers, 1, __ATOMIC_SEQ_CST);
    while (!is_open_for(self, word = __atomic_load_n(&gate.word, __ATOMIC_SEQ_CST)))
        futex_wait((int *)&gate.word, (int)word);
    __atomic_fetch_sub(&gate.sleepers, 1, __ATOMIC_RELAXED);
}

static void open_bits(uint32_t bits)
{
    __atomic_fetch_and(&gate.word, ~bits, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&gate.sleepers, __ATOMIC_SEQ_CST) != 0)
        futex_wake_all((int *)&gate.word);
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

/* Waits without end if looks_most is 0. False: some still run. */
static bool stop_others(struct tm_thread *self, unsigned looks_most)
{
    uint32_t before = __atomic_fetch_or(&gate.word, GATE_CLOSED, __ATOMIC_SEQ_CST);
    unsigned looks = 0;

    if (!(before & GATE_FENCE))
        fence_all();
    gate.serial_owner = self;
    if (gate.counts) {
        uint64_t own = self != NULL && self->counted;

        while (__atomic_load_n(&gate.running, __ATOMIC_ACQUIRE) != own) {
            pause_or_yield(&looks);
            if (looks == looks_most)
                return false;
        }
    }
    for (struct tm_thread *other = thread_first(); other != NULL; other = other->next) {
        while (other != self && __atomic_load_n(&other->state, __ATOMIC_ACQUIRE) != TM_INACTIVE) {
            pause_or_yield(&looks);
            if (looks == looks_most)
                return false;
        }
    }
    return true;
}

void gate_close(struct tm_thread *self)
{
    lock_serial();
    (void)stop_others(self, 0);
}

bool gate_close_from_within(struct tm_thread *self)
{
    if (!try_serial())
        return false;
    return stop_others(self, 0);
}

bool gate_close_if_quick(struct tm_thread *self)
{
    struct timespec deadline;

    clock_read(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += QUICK_SECONDS;
    while (__atomic_exchange_n(&gate.serial, 2, __ATOMIC_ACQUIRE) != 0) {
        if (futex_wait_until(&gate.serial, 2, CLOCK_MONOTONIC, &deadline) == -ETIMEDOUT)
            return false;
    }
    if (stop_others(self, QUICK_LOOKS))
        return true;
    gate_open(self);
    return false;
}

void gate_open(struct tm_thread *self)
{
    (void)self;
    gate.serial_owner = NULL;
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

/* ---- threads ---- */

void gate_count_threads(int change)
{
    uint32_t set = GATE_FENCE, clear = GATE_ALONE;

    gate.threads += (uint32_t)change;
    if (gate.threads == 1) {
        set = GATE_ALONE | (has_membarrier ? 0 : GATE_FENCE);
        clear = has_membarrier ? GATE_FENCE : 0;
    }
    __atomic_fetch_or(&gate.word, set, __ATOMIC_SEQ_CST);
    __atomic_fetch_and(&gate.word, ~clear, __ATOMIC_SEQ_CST);
}

void gate_after_fork_in_child(struct tm_thread *self)
{
    bool stays_closed = self != NULL && self->holds_serial;

    has_membarrier = has_membarrier && membarrier_register();
    gate.running = self != NULL && self->counted;
    gate.serial = stays_closed;
    gate.serial_owner = stays_closed ? self : NULL;
    gate.hourglass_owner = self != NULL && self->holds_hourglass ? self : NULL;
    gate.sleepers = 0;
    gate.threads = self != NULL;
    gate.word = GATE_FENCE | (self != NULL ? GATE_ALONE : 0) | (stays_closed ? GATE_CLOSED : 0) |
                (gate.hourglass_owner != NULL ? GATE_HOURGLASS : 0);
}
