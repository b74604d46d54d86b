/*
 * SPDX-License-Identifier: MIT
 *
 * The elided path; see elision.h. Inside a transaction nothing here spins, pauses, calls the system
 * or writes a line that other threads read, with one exception explained at memory_reset().
 */
#include "ttstle_lock/elision/elision.h"

#include "base/probes.h"
#include "base/settings.h"
#include "base/spin.h"
#include "mutex/statistics/statistics.h"
#include "mutex/thread_id.h"
#include "ttstle_lock/elision/deferred.h"
#include "ttstle_lock/elision/hourglass.h"
#include "ttstle_lock/elision/subject.h"

static const char *const policy_names[] = {
    [POLICY_PAPER] = "paper",         [POLICY_ADAPTIVE] = "adaptive",
    [POLICY_BACKOFF] = "backoff",     [POLICY_HOURGLASS] = "hourglass",
    [POLICY_SERIALISE] = "serialise",
};
static_assert(sizeof policy_names / sizeof policy_names[0] == RETRY_POLICIES, "a name each");

enum retry_policy elision_policy = POLICY_ADAPTIVE;

void elision_read_settings(void)
{
    elision_policy = (enum retry_policy)setting_choice("TTSTLE_POLICY", policy_names,
                                                       RETRY_POLICIES, POLICY_ADAPTIVE);
}

const char *elision_policy_name(void)
{
    return policy_names[elision_policy];
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
 * Which locks this thread elides, by their records. Only an unlock of one of them may end a
 * transaction: to unlock a free mutex is harmless outside, and must not end another lock's section.
 * The outermost is written before its transaction begins, and nested ones inside, so that the
 * commonest transaction reads this line and writes none of ours. Entries mean something only inside
 * a transaction. Records are short, because thread-local storage is scarce for a library that
 * somebody loads late.
 */
enum { NESTING_MOST = 7 }; /* one more begin aborts */
static __thread struct {
    uint8_t count;
    bool outermost; /* the transaction that runs was begun by enter; kept right if deferred_on */
    uint16_t list;  /* elision_list_of_thread's */
    uint32_t lock[NESTING_MOST];
} elided __attribute__((aligned(32)));
static_assert(sizeof elided == 32, "within one line of the transaction's read set");

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

static inline bool is_elided(uint32_t record)
{
    for (unsigned at = 0; at < elided.count; at++) {
        if (elided.lock[at] == record)
            return true;
    }
    return false;
}

/*
 * A trylock inside a transaction may answer that the lock is held: its word has been read, so the
 * transaction commits only if the answer is still true then. But a lock that this thread elides
 * reads as free. Under a policy without memory the transaction is left: sections that try locks are
 * long ones, whose conflicts it would retry again and again.
 */
static SUBJECT_INLINE bool trylock_answers_busy(const struct subject *lock)
{
    if (!retry_policy_remembers(elision_policy) || is_elided(lock->record))
        htm_abort_physical();
    return !is_free(lock);
}

/*
 * Inside a transaction already: one level deeper, flat. A busy inner lock aborts everything, for
 * waiting here is not possible; the status then carries the busy code and the nested bit, and the
 * outermost section is run physically. A lock's memory is not asked: the outermost lock decides.
 */
static SUBJECT_INLINE bool enter_nested(const struct subject *lock, enum elision_waiting waiting,
                                        const void *caller)
{
    if (waiting == ELISION_NEVER_WAIT && trylock_answers_busy(lock))
        return false;
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

static void back_off(enum retry_policy policy, unsigned failures)
{
    unsigned thread = (unsigned)thread_id();
    unsigned pauses =
        policy == POLICY_BACKOFF
            ? retry_policy_random_back_off(failures, thread, failing_spin_lock.back_offs++)
            : retry_policy_back_off(failures, thread);

    while (pauses-- != 0)
        spin_pause();
}

/* Before a transaction: there, nothing can be claimed. */
static __attribute__((noinline)) void prepare_list(void)
{
    elided.list = (uint16_t)deferred_list_of_thread(elided.list);
    if (elided.list != 0)
        deferred_drain(elided.list);
}

unsigned elision_list_in_transaction(void)
{
    return elided.outermost ? elided.list : 0;
}

unsigned elision_list_of_thread(void)
{
    return elided.list;
}

static inline void give_up_hourglass(void)
{
    if (elision_policy == POLICY_HOURGLASS)
        hourglass_open();
}

/* After the lock was waited for and did not come free: readers that never all go at once keep a
 * reader from eliding for good, and each wait for that costs it what joining them would not. */
static SUBJECT_INLINE void record_failed_wait(const struct subject *lock, uint16_t memory)
{
    if (lock->kind == LOCK_RWLOCK && lock->side == RWLOCK_READ &&
        retry_policy_remembers(elision_policy))
        memory_update(lock, memory, memory_after_failure(memory));
}

/*
 * Waits until an attempt may begin; false: it is given up. The lock must be free: a thread that
 * tried while one slow holder is inside would abort, take the lock in turn and so make the next one
 * do the same, long after the cause is gone (the lemming effect). The holder may be waiting at the
 * hourglass, so that is opened before the lock is waited for.
 */
static SUBJECT_INLINE bool wait_to_begin(const struct subject *lock, enum elision_waiting waiting,
                                         uint16_t memory, bool alone)
{
    for (;;) {
        bool lock_is_free = is_free(lock);

        if (lock_is_free && (elision_policy != POLICY_HOURGLASS || hourglass_admits(alone)))
            return true;
        if (waiting == ELISION_NEVER_WAIT)
            return false;
        if (statistics_on())
            statistics_wait_begins(lock->key);
        if (lock_is_free) {
            hourglass_wait();
            continue;
        }
        give_up_hourglass();
        if (!wait_until_free(lock, memory)) {
            record_failed_wait(lock, memory);
            return false;
        }
    }
}

/* Attempts and waits until the section is entered or given up. */
static SUBJECT_INLINE bool enter(const struct subject *lock, enum elision_waiting waiting,
                                 const void *caller)
{
    if (htm_active())
        return enter_nested(lock, waiting, caller);
    if (waiting == ELISION_NEVER_WAIT && !is_free(lock))
        return false; /* before the memory: polling a held lock must not write to its line */

    /* Who has a deadline, or will not wait, cannot retry conflicts without bound. */
    enum retry_policy policy = waiting == ELISION_NEVER_WAIT ? POLICY_ADAPTIVE : elision_policy;
    uint16_t memory = memory_load(lock);
    if (retry_policy_remembers(elision_policy) && memory_skips_left(memory) != 0) {
        memory_update(lock, memory, memory_after_skip(memory));
        return false;
    }

    if (__builtin_expect(deferred_on, 0))
        prepare_list();
    bool alone = false;
    for (unsigned failures = 1;; failures++) {
        if (!wait_to_begin(lock, waiting, memory, alone))
            return false;

        if (statistics_on())
            statistics_attempt(lock->key, caller);
        elided.count = 1;
        elided.outermost = true;
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

        elided.outermost = false;
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
            back_off(policy, failures);
            break;
        case RETRY_ALONE:
            alone = true;
            break;
        case TAKE_AND_REMEMBER:
            give_up_hourglass();
            if (retry_policy_remembers(elision_policy))
                memory_update(lock, memory, memory_after_failure(memory));
            return false;
        case TAKE_THIS_TIME:
            give_up_hourglass();
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

/* Of the outermost transaction. */
static __attribute__((noinline)) void after_commit(void)
{
    elided.outermost = false;
    if (elided.list != 0)
        deferred_drain(elided.list);
    give_up_hourglass();
    if (statistics_on())
        statistics_committed();
}

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
    if ((statistics_on() || elision_policy == POLICY_HOURGLASS || deferred_on) && !htm_active())
        after_commit();
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
