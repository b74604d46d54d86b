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
 * The lock's memory is a hint that threads read and write without order, and each value is a valid
 * one. It is changed only from what it was judged by: a thread that comes late must not write back
 * thousands of skips that a commit has cleared meanwhile. Its own update is lost then, which costs
 * one attempt too many or too few.
 */
static uint16_t memory_load(pthread_mutex_t *mutex)
{
    return (uint16_t)__atomic_load_n(&mutex->__data.__elision, __ATOMIC_RELAXED);
}

static void memory_update(pthread_mutex_t *mutex, uint16_t before, uint16_t after)
{
    short expected = (short)before;

    (void)__atomic_compare_exchange_n(&mutex->__data.__elision, &expected, (short)after, false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/*
 * A commit, or what will be one if all goes well, clears the lock's memory from inside the
 * transaction: so that is undone if the transaction aborts after all, and nothing touches the mutex
 * after the commit, when another thread may already have destroyed it. It puts the lock's line into
 * the write set, against the rule above, but only in the first transaction after a failure: the
 * memory is read again here, so that of several threads that try only one writes.
 */
static void memory_reset(pthread_mutex_t *mutex)
{
    if (elision_policy == POLICY_ADAPTIVE && memory_load(mutex) != MEMORY_CLEAR)
        __atomic_store_n(&mutex->__data.__elision, MEMORY_CLEAR, __ATOMIC_RELAXED);
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
 * Half an address is enough to tell a mistake from an elided lock: mutexes are 8 bytes aligned, so
 * two with the same half lie 32 GiB apart or a multiple of that. Thread-local storage is scarce for
 * a library that somebody loads late.
 */
enum { NESTING_MOST = 7 }; /* one more begin aborts */
static __thread struct {
    uint32_t count;
    uint32_t lock[NESTING_MOST];
} elided __attribute__((aligned(32)));
static_assert(sizeof elided == 32, "within one line of the transaction's read set");

static inline uint32_t half_address(const pthread_mutex_t *mutex)
{
    return (uint32_t)((uintptr_t)mutex >> 3);
}

/*
 * Inside a transaction already: one level deeper, flat. A busy inner lock aborts everything, for
 * waiting here is not possible; the status then carries the busy code and the nested bit, and the
 * outermost section is run physically. A lock's memory is not asked: the outermost lock decides.
 */
static bool enter_nested(pthread_mutex_t *mutex, const void *caller)
{
    if (htm_begin() != HTM_STARTED)
        return false; /* not reached by hardware: aborts come back at the outermost begin */
    if (!mutex_is_free(mutex))
        htm_abort_busy();
    if (elided.count == NESTING_MOST)
        htm_abort_physical();
    elided.lock[elided.count++] = half_address(mutex);
    if (statistics_on())
        statistics_elided_nested(mutex, caller);
    return true;
}

static void back_off(unsigned failures)
{
    for (unsigned n = retry_policy_back_off(failures, (unsigned)thread_id()); n != 0; n--)
        spin_pause();
}

/*
 * Attempts and waits until the section is entered or given up. Before each attempt the word must be
 * free: a thread that tried while one slow holder is inside would abort, take the lock in turn and
 * so make the next one do the same, long after the cause is gone (the lemming effect).
 */
bool elision_enter(pthread_mutex_t *mutex, enum elision_waiting waiting, const void *caller)
{
    if (htm_active())
        return enter_nested(mutex, caller);
    if (waiting == ELISION_NEVER_WAIT && !mutex_is_free(mutex))
        return false; /* before the memory: polling a held lock must not write to its line */

    /* Who has a deadline, or will not wait, cannot retry conflicts without bound. */
    enum retry_policy policy = waiting == ELISION_NEVER_WAIT ? POLICY_ADAPTIVE : elision_policy;
    uint16_t memory = memory_load(mutex);
    if (elision_policy == POLICY_ADAPTIVE && memory_skips_left(memory) != 0) {
        memory_update(mutex, memory, memory_after_skip(memory));
        return false;
    }

    for (unsigned failures = 1;; failures++) {
        if (!mutex_is_free(mutex)) {
            if (waiting == ELISION_NEVER_WAIT)
                return false;
            if (statistics_on())
                statistics_wait_begins(mutex);
            if (!tts_wait_until_free(mutex, elision_policy == POLICY_PAPER))
                return false;
        }

        if (statistics_on())
            statistics_attempt(mutex, caller);
        elided.count = 1;
        elided.lock[0] = half_address(mutex);
        unsigned status = htm_begin();
        if (status == HTM_STARTED) {
            /* Subscribe first: from this read on, a physical holder aborts us at once. Reading the
             * word only at the end would let the section run on a half-changed state. */
            if (!mutex_is_free(mutex))
                htm_abort_busy();
            /* A signal handler that elided since we wrote it has left its own lock there. */
            if (elided.lock[0] != half_address(mutex))
                htm_abort_busy();
            memory_reset(mutex);
            return true;
        }

        PROBE3(elision_abort, mutex, caller, status);
        if (statistics_on()) {
            statistics_aborted(mutex, caller, cause_of(status));
            if (waiting == ELISION_MAY_WAIT)
                statistics_wait_begins(mutex);
        }
        switch (retry_policy_after_abort(policy, status, failures)) {
        case RETRY_ONCE_FREE:
            break;
        case RETRY_AFTER_BACK_OFF:
            back_off(failures);
            break;
        case TAKE_AND_REMEMBER:
            if (elision_policy == POLICY_ADAPTIVE)
                memory_update(mutex, memory, memory_after_failure(memory));
            return false;
        case TAKE_THIS_TIME:
            return false;
        }
    }
}

bool elision_leave(const pthread_mutex_t *mutex)
{
    unsigned at = elided.count;

    while (at != 0 && elided.lock[at - 1] != half_address(mutex))
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
