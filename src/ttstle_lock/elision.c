/*
 * SPDX-License-Identifier: MIT
 *
 * The elided path; see elision.h. Inside a transaction nothing here spins, pauses, calls the system
 * or writes a line that other threads read, with one exception explained at memory_reset().
 */
#include "ttstle_lock/elision.h"

#include "base/probes.h"
#include "base/settings.h"
#include "base/spin.h"
#include "mutex/statistics/statistics.h"
#include "mutex/thread_id.h"
#include "tts_lock/tts.h"
#include "tts_lock/tts_rwlock.h"
#include "tts_lock/tts_spin_lock.h"

static const char *const policy_names[] = {
    [POLICY_PAPER] = "paper",
    [POLICY_ADAPTIVE] = "adaptive",
};

enum retry_policy elision_policy = POLICY_ADAPTIVE;

void elision_read_settings(void)
{
    elision_policy = (enum retry_policy)setting_choice("TTSTLE_POLICY", policy_names,
                                                       sizeof policy_names / sizeof policy_names[0],
                                                       POLICY_ADAPTIVE);
}

const char *elision_policy_name(void)
{
    return policy_names[elision_policy];
}

/*
 * The lock at hand. Each entry point below makes one of constants and of its argument, and is
 * compiled with all of this inlined: what is for the other kinds costs it nothing.
 */
struct subject {
    enum lock_kind kind;
    const void *key;  /* for the statistics */
    uint32_t record;  /* for the list of what this thread elides */
    uint16_t *memory; /* retry_policy.h's */
    union {
        pthread_mutex_t *mutex;
        pthread_rwlock_t *rwlock;
        pthread_spinlock_t *spin_lock;
    };
    enum rwlock_side side; /* of a rwlock */
};

#define SUBJECT_INLINE inline __attribute__((always_inline))

static SUBJECT_INLINE bool is_free(const struct subject *lock)
{
    switch (lock->kind) {
    case LOCK_RWLOCK:
        return rwlock_is_free(lock->rwlock);
    case LOCK_SPIN:
        return spin_lock_is_free(lock->spin_lock);
    default:
        return mutex_is_free(lock->mutex);
    }
}

/* memory: the lock's, as it was when this acquisition began. */
static SUBJECT_INLINE bool wait_until_free(const struct subject *lock, uint16_t memory)
{
    switch (lock->kind) {
    case LOCK_RWLOCK:
        return tts_rwlock_wait_until_free(lock->rwlock, lock->side,
                                          elision_policy == POLICY_PAPER || memory == MEMORY_CLEAR);
    case LOCK_SPIN:
        return tts_spin_lock_wait_until_free(lock->spin_lock, elision_policy == POLICY_PAPER);
    default:
        return tts_wait_until_free(lock->mutex, elision_policy == POLICY_PAPER);
    }
}

/*
 * A spin lock has no room for a memory. The thread remembers the last one that failed, and forgets
 * it when another one fails.
 */
static __thread struct {
    uint32_t record;
    uint16_t memory;
} failing_spin_lock;

/*
 * The lock's memory is a hint that threads read and write without order, and each value is a valid
 * one. It is changed only from what it was judged by: a thread that comes late must not write back
 * thousands of skips that a commit has cleared meanwhile. Its own update is lost then, which costs
 * one attempt too many or too few.
 */
static SUBJECT_INLINE uint16_t memory_load(const struct subject *lock)
{
    if (lock->kind == LOCK_SPIN && failing_spin_lock.record != lock->record)
        return MEMORY_CLEAR;
    return __atomic_load_n(lock->memory, __ATOMIC_RELAXED);
}

static SUBJECT_INLINE void memory_update(const struct subject *lock, uint16_t before,
                                         uint16_t after)
{
    if (lock->kind == LOCK_SPIN) {
        failing_spin_lock.record = lock->record;
        failing_spin_lock.memory = after;
    } else {
        (void)__atomic_compare_exchange_n(lock->memory, &before, after, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED);
    }
}

/*
 * A commit, or what will be one if all goes well, clears the lock's memory from inside the
 * transaction: so that is undone if the transaction aborts after all, and nothing touches the lock
 * after the commit, when another thread may already have destroyed it. It puts the lock's line into
 * the write set, against the rule above, but only in the first transaction after a failure: the
 * memory is read again here, so that of several threads that try only one writes.
 */
static SUBJECT_INLINE void memory_reset(const struct subject *lock)
{
    if (elision_policy == POLICY_ADAPTIVE && memory_load(lock) != MEMORY_CLEAR)
        __atomic_store_n(lock->memory, MEMORY_CLEAR, __ATOMIC_RELAXED);
}

/* Each abort has one cause. Nesting tells where it happened and not why, so it comes last. */
static enum statistics_abort cause_of(unsigned status)
{
    if (status & HTM_EXPLICIT)
        return ABORT_EXPLICIT;
    if (status & HTM_CAPACITY)
        return ABORT_CAPACITY;
    if (status & HTM_CONFLICT)
        return ABORT_CONFLICT;
    if (status & HTM_DEBUG)
        return ABORT_DEBUG;
    if (status & HTM_NESTED)
        return ABORT_NESTED;
    return ABORT_OTHER;
}

/*
 * Which locks this thread elides. Only an unlock of one of them may end a transaction: to unlock a
 * free mutex is harmless outside, and must not end another lock's section. The outermost is written
 * before its transaction begins, and nested ones inside, so that the commonest transaction reads
 * this line and writes none of ours. Entries mean something only inside a transaction.
 *
 * A part of the address is enough to tell a mistake from an elided lock: locks are 4 bytes aligned,
 * so two with the same part lie 16 GiB apart or a multiple of that. Thread-local storage is scarce
 * for a library that somebody loads late. Rwlocks are 8 bytes aligned, which leaves bit 0 to say
 * that one was entered for writing.
 */
enum { NESTING_MOST = 7 }; /* one more begin aborts */
static __thread struct {
    uint32_t count;
    uint32_t lock[NESTING_MOST];
} elided __attribute__((aligned(32)));
static_assert(sizeof elided == 32, "within one line of the transaction's read set");

enum { RECORD_WRITER = 1 };
static_assert(_Alignof(pthread_rwlock_t) >= 8, "bit 0 of its record is free");

static inline uint32_t record_of(const volatile void *lock)
{
    return (uint32_t)((uintptr_t)lock >> 2);
}

static SUBJECT_INLINE struct subject subject_mutex(pthread_mutex_t *mutex)
{
    return (struct subject){.kind = LOCK_MUTEX,
                            .key = mutex,
                            .record = record_of(mutex),
                            .memory = (uint16_t *)&mutex->__data.__elision,
                            .mutex = mutex};
}

static SUBJECT_INLINE struct subject subject_rwlock(pthread_rwlock_t *rwlock, enum rwlock_side side)
{
    return (struct subject){.kind = LOCK_RWLOCK,
                            .key = lock_key(rwlock, LOCK_RWLOCK),
                            .record =
                                record_of(rwlock) | (side == RWLOCK_WRITE ? RECORD_WRITER : 0),
                            .memory = rwlock_elision(rwlock, side),
                            .rwlock = rwlock,
                            .side = side};
}

static SUBJECT_INLINE struct subject subject_spin_lock(pthread_spinlock_t *spin_lock)
{
    return (struct subject){.kind = LOCK_SPIN,
                            .key = lock_key(spin_lock, LOCK_SPIN),
                            .record = record_of(spin_lock),
                            .memory = &failing_spin_lock.memory,
                            .spin_lock = spin_lock};
}

/* ---- entering ---- */

/*
 * A rwlock that this thread elides reads as free, though it is not free to this thread: it would
 * wait for itself, or get EDEADLK. Only reading twice is no harm.
 */
static inline bool may_enter_again(uint32_t record)
{
    for (unsigned at = 0; at < elided.count; at++) {
        if ((elided.lock[at] ^ record) <= RECORD_WRITER &&
            ((elided.lock[at] | record) & RECORD_WRITER))
            return false;
    }
    return true;
}

/*
 * Inside a transaction already: one level deeper, flat. A busy inner lock aborts everything, for
 * waiting here is not possible; the status then carries the busy code and the nested bit, and the
 * outermost section is run physically. A lock's memory is not asked: the outermost lock decides.
 */
static SUBJECT_INLINE bool enter_nested(const struct subject *lock, const void *caller)
{
    if (htm_begin() != HTM_STARTED)
        return false; /* not reached by hardware: aborts come back at the outermost begin */
    if (!is_free(lock))
        htm_abort_busy();
    if (elided.count == NESTING_MOST)
        htm_abort_physical();
    if (lock->kind == LOCK_RWLOCK && !may_enter_again(lock->record))
        htm_abort_physical();
    elided.lock[elided.count++] = lock->record;
    if (statistics_on())
        statistics_elided_nested(lock->key, caller);
    return true;
}

static void back_off(unsigned failures)
{
    for (unsigned n = retry_policy_back_off(failures, (unsigned)thread_id()); n != 0; n--)
        spin_pause();
}

/* After the lock was waited for and did not come free: readers that never all go at once keep a
 * reader from eliding for good, and each wait for that costs it what joining them would not. */
static SUBJECT_INLINE void remember_wait_in_vain(const struct subject *lock, uint16_t memory)
{
    if (lock->kind == LOCK_RWLOCK && lock->side == RWLOCK_READ && elision_policy == POLICY_ADAPTIVE)
        memory_update(lock, memory, memory_after_failure(memory));
}

/*
 * Attempts and waits until the section is entered or given up. Before each attempt the lock must be
 * free: a thread that tried while one slow holder is inside would abort, take the lock in turn and
 * so make the next one do the same, long after the cause is gone (the lemming effect).
 */
static SUBJECT_INLINE bool enter(const struct subject *lock, enum elision_waiting waiting,
                                 const void *caller)
{
    if (htm_active())
        return enter_nested(lock, caller);
    if (waiting == ELISION_NEVER_WAIT && !is_free(lock))
        return false; /* before the memory: polling a held lock must not write to its line */

    /* Who has a deadline, or will not wait, cannot retry conflicts without bound. */
    enum retry_policy policy = waiting == ELISION_NEVER_WAIT ? POLICY_ADAPTIVE : elision_policy;
    uint16_t memory = memory_load(lock);
    if (elision_policy == POLICY_ADAPTIVE && memory_skips_left(memory) != 0) {
        memory_update(lock, memory, memory_after_skip(memory));
        return false;
    }

    for (unsigned failures = 1;; failures++) {
        if (!is_free(lock)) {
            if (waiting == ELISION_NEVER_WAIT)
                return false;
            if (statistics_on())
                statistics_wait_begins(lock->key);
            if (!wait_until_free(lock, memory)) {
                remember_wait_in_vain(lock, memory);
                return false;
            }
        }

        if (statistics_on())
            statistics_attempt(lock->key, caller);
        elided.count = 1;
        elided.lock[0] = lock->record;
        unsigned status = htm_begin();
        if (status == HTM_STARTED) {
            /* Subscribe first: from this read on, a physical holder aborts us at once. Reading the
             * word only at the end would let the section run on a half-changed state. */
            if (!is_free(lock))
                htm_abort_busy();
            /* A signal handler that elided since we wrote it has left its own lock there. */
            if (elided.lock[0] != lock->record)
                htm_abort_busy();
            memory_reset(lock);
            return true;
        }

        PROBE3(elision_abort, lock_key_address(lock->key), caller, status);
        if (statistics_on()) {
            statistics_aborted(lock->key, caller, cause_of(status));
            if (waiting == ELISION_MAY_WAIT)
                statistics_wait_begins(lock->key);
        }
        switch (retry_policy_after_abort(policy, status, failures)) {
        case RETRY_ONCE_FREE:
            break;
        case RETRY_AFTER_BACK_OFF:
            back_off(failures);
            break;
        case TAKE_AND_REMEMBER:
            if (elision_policy == POLICY_ADAPTIVE)
                memory_update(lock, memory, memory_after_failure(memory));
            return false;
        case TAKE_THIS_TIME:
            return false;
        }
    }
}

bool elision_enter(pthread_mutex_t *mutex, enum elision_waiting waiting, const void *caller)
{
    const struct subject lock = subject_mutex(mutex);

    return enter(&lock, waiting, caller);
}

bool elision_enter_rwlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                          enum elision_waiting waiting, const void *caller)
{
    const struct subject lock = subject_rwlock(rwlock, side);

    return enter(&lock, waiting, caller);
}

bool elision_enter_spin_lock(pthread_spinlock_t *spin_lock, enum elision_waiting waiting,
                             const void *caller)
{
    const struct subject lock = subject_spin_lock(spin_lock);

    return enter(&lock, waiting, caller);
}

/* ---- leaving ---- */

/* ignored: bits of the record that need not agree. */
static SUBJECT_INLINE bool leave(uint32_t record, uint32_t ignored)
{
    unsigned at = elided.count;

    while (at != 0 && ((elided.lock[at - 1] ^ record) & ~ignored) != 0)
        at--;
    if (at == 0)
        return false;
    if (elided.count != 1) /* the commonest transaction writes nothing here */
        elided.lock[at - 1] = elided.lock[--elided.count];
    htm_end();
    if (statistics_on() && !htm_active())
        statistics_committed();
    return true;
}

bool elision_leave(const pthread_mutex_t *mutex)
{
    return leave(record_of(mutex), 0);
}

bool elision_leave_rwlock(pthread_rwlock_t *rwlock)
{
    return leave(record_of(rwlock), RECORD_WRITER);
}

bool elision_leave_spin_lock(pthread_spinlock_t *spin_lock)
{
    return leave(record_of(spin_lock), 0);
}
