/*
 * SPDX-License-Identifier: MIT
 *
 * One rwlock and three threads. Each reads or writes once: two of them by our functions, elided or
 * not, the third past the library, by libc's own. KIND is the lock's: PREFER_READERS, PREFER_WRITERS, or
 * READERS_YIELD, to which readers may not come twice. Inlines with our functions' names mirror
 *
 *   tts_rwlock_try_read_any, begin_read_phase, tts_rwlock_try_write,
 *   tts_rwlock_end_read, tts_rwlock_end_write      src/tts_lock/tts_rwlock.c, tts_rwlock.h
 *   pthread_rwlock_rdlock, wrlock, unlock          src/mutex/rwlock/rwlock.c
 *   elision_enter_rwlock                           src/ttstle_lock/elision/elision.c
 *
 * and those that begin with libc its algorithm since 2.25, with its order of accesses: what
 * deadlines and too many readers undo is left out. A wait before libc's function is called may be
 * of any length, so it is not there.
 *
 * The rules can be taken out one by one:
 *   NO_SUBSCRIPTION       a transaction never reads the state
 *   ELIDES_BESIDE_READERS a lock that readers have physically is elided, too
 *   KEEPS_THE_PHASE       the last reader goes without handing over to a writer that waits
 *   FORGETS_THE_FUTEX     who begins the read phase does not say so to those that sleep
 *   FORGETS_SLEEPERS      a writer goes without waking another
 *   FORGETS_READERS       a writer goes though readers wait for it
 */
#define reads_free(word) (((word) & 254) == 0)
#include "ttstle.pml"

#define PREFER_READERS 0
#define PREFER_WRITERS 1
#define READERS_YIELD  2
#ifndef KIND
#define KIND PREFER_READERS
#endif

/* __readers, and what the rest of the lock is kept in. */
#define STATE         A
#define WRPHASE_FUTEX B
#define CUR_WRITER    OWNER(A)
#define WRITERS_FUTEX PREDICATE
#define WRITERS       WAITERS

#define WRITE_PHASE  1
#define HAS_WRITER   2
#define READERS_WAIT 4
#define READER       8
#define WRITTEN      3
#define readers(state) ((state) >> 3)

#define SLEEPERS  2   /* in the futex words: 3 is 1, and somebody may sleep */
#define HAND_OVER 128 /* in WRITERS */

byte writes; /* sections that wrote and ended */

/* ---- libc's ---- */

inline begun_read_phase()
{
    exchange(WRPHASE_FUTEX, 0, value);
    if
    :: value & SLEEPERS -> REACHED("readers were told of their phase"); futex_wake_all(WRPHASE_FUTEX)
    :: else
    fi
}

/* Waits until the futex says so, and then for the state, and looks once more: explicit hand-over. */
inline libc_await_phase(writing)
{
    do
    :: load(WRPHASE_FUTEX, value);
        if
        :: (value & 1) == writing && ready -> break
        :: (value & 1) == writing && !ready ->
            load(STATE, value);
            ready = ((value & WRITE_PHASE) == writing)
        :: (value & 1) != writing && (value & SLEEPERS) -> futex_wait(WRPHASE_FUTEX, (3 - writing))
        :: (value & 1) != writing && !(value & SLEEPERS) ->
            compare_exchange(WRPHASE_FUTEX, (1 - writing), (3 - writing), done);
            if
            :: done -> done = 0; futex_wait(WRPHASE_FUTEX, (3 - writing))
            :: else
            fi
        fi
    od;
    ready = false;
    REACHED("a phase was handed over")
}

inline libc_rdlock()
{
#if KIND == READERS_YIELD
    do
    :: load(STATE, value);
        if
        :: (value & WRITTEN) == HAS_WRITER && readers(value) > 0 ->
            compare_exchange(STATE, value, value | READERS_WAIT, done);
            if
            :: done ->
                done = 0;
                do
                :: load(STATE, value);
                    if
                    :: value & READERS_WAIT -> REACHED("a reader let a writer go first"); futex_wait(STATE, value)
                    :: else -> break
                    fi
                od
            :: else
            fi
        :: else -> break
        fi
    od;
#endif
    exchange(STATE, value + READER, value);
    value = value + READER;
    if
    :: !(value & WRITE_PHASE)
    :: else ->
        do
        :: (value & WRITTEN) == WRITE_PHASE ->
            compare_exchange(STATE, value, value ^ WRITE_PHASE, done);
            if
            :: done -> done = 0; begun_read_phase(); break
            :: else -> load(STATE, value)
            fi
        :: else -> libc_await_phase(0); break
        od
    fi;
    value = 0
}

inline libc_become_primary()
{
    exchange(STATE, value | HAS_WRITER, value);
    if
    :: value & HAS_WRITER ->
#if KIND != PREFER_READERS
        exchange(WRITERS, done + 1, done);
        done = 0;
#endif
        do
        :: !(value & HAS_WRITER) ->
            compare_exchange(STATE, value, value | HAS_WRITER, done);
            if
            :: done ->
                done = 0;
#if KIND != PREFER_READERS
                exchange(WRITERS, done - 1, done);
                done = 0;
#endif
                break
            :: else -> load(STATE, value)
            fi
        :: value & HAS_WRITER ->
#if KIND != PREFER_READERS
            load(WRITERS, word);
            if
            :: word & HAND_OVER ->
                compare_exchange(WRITERS, word, word - HAND_OVER - 1, done);
                word = 0;
                if
                :: done ->
                    done = 0;
                    load(STATE, value);
                    REACHED("a writer got the lock from another");
                    break
                :: else
                fi
            :: else -> word = 0
            fi;
#endif
            load(WRITERS_FUTEX, word);
            if
            :: word == 1 -> compare_exchange(WRITERS_FUTEX, 1, 3, done)
            :: word == 3 -> done = 1
            :: else -> done = 0
            fi;
            word = 0;
            if
            :: done -> done = 0; may_share = true; futex_wait(WRITERS_FUTEX, 3)
            :: else
            fi;
            load(STATE, value)
        od;
        value = value | HAS_WRITER
    :: else -> value = value | HAS_WRITER
    fi
}

inline libc_wrlock()
{
    libc_become_primary();
    store(WRITERS_FUTEX, 1 + 2 * may_share);
    may_share = false;
    do
    :: value & WRITE_PHASE -> break
    :: !(value & WRITE_PHASE) && readers(value) == 0 ->
        compare_exchange(STATE, value, value | WRITE_PHASE, done);
        if
        :: done -> done = 0; store(WRPHASE_FUTEX, 1); break
        :: else -> load(STATE, value)
        fi
    :: !(value & WRITE_PHASE) && readers(value) > 0 -> libc_await_phase(1); break
    od;
    value = 0;
    store(CUR_WRITER, me + 1)
}

inline libc_wrunlock()
{
    store(CUR_WRITER, 0);
    exchange(WRITERS_FUTEX, 0, word);
    done = 0;
#if KIND != PREFER_READERS
    do
    :: load(WRITERS, value);
        if
        :: value == 0 -> break
        :: else ->
            compare_exchange(WRITERS, value, value | HAND_OVER, done);
            if
            :: done -> break
            :: else
            fi
        fi
    od;
#endif
    if
    :: done -> done = 0
    :: else ->
        do
        :: load(STATE, value);
            next = value ^ HAS_WRITER;
            if
            :: readers(value) != 0 -> next = next ^ WRITE_PHASE
            :: else
            fi;
            compare_exchange(STATE, value, next, done);
            next = 0;
            if
            :: done -> done = 0; break
            :: else
            fi
        od;
        if
        :: readers(value) != 0 -> begun_read_phase()
        :: else
        fi
    fi;
    value = 0;
    if
    :: word & SLEEPERS -> word = 0; futex_wake_one(WRITERS_FUTEX)
    :: else -> word = 0
    fi
}

inline libc_rdunlock()
{
    do
    :: load(STATE, value);
        next = value - READER;
        if /* the last reader begins the write phase for a writer that waits */
        :: readers(next) == 0 && (next & HAS_WRITER) -> next = WRITTEN
        :: readers(next) == 0 && !(next & HAS_WRITER) -> next = next & WRITE_PHASE
        :: else
        fi;
        compare_exchange(STATE, value, next, done);
        next = 0;
        if
        :: done -> done = 0; break
        :: else
        fi
    od;
    if
    :: readers(value) == 1 && (value & HAS_WRITER) ->
        exchange(WRPHASE_FUTEX, 1, word);
        if
        :: word & SLEEPERS -> word = 0; futex_wake_all(WRPHASE_FUTEX)
        :: else -> word = 0
        fi
    :: else
    fi;
    if
    :: readers(value) == 1 && (value & READERS_WAIT) -> value = 0; futex_wake_all(STATE)
    :: else -> value = 0
    fi
}

inline libc_unlock()
{
    load(CUR_WRITER, value);
    if
    :: value == me + 1 -> value = 0; libc_wrunlock()
    :: else -> value = 0; libc_rdunlock()
    fi
}

/* ---- ours ---- */

/* done: the lock is held. */
inline tts_rwlock_try_read_any()
{
    do
    :: load(STATE, value);
        if
        :: value == WRITE_PHASE ->
            compare_exchange(STATE, value, READER, done);
            if
            :: done ->
#ifndef FORGETS_THE_FUTEX
                begun_read_phase();
#endif
                REACHED("a read phase was begun by a reader of ours");
                break
            :: else
            fi
        :: !(value & WRITE_PHASE) && (!(value & HAS_WRITER) || KIND != READERS_YIELD) ->
            compare_exchange(STATE, value, value + READER, done);
            if
            :: done -> break
            :: else
            fi
        :: else -> done = 0; break
        fi
    od;
    value = 0
}

inline tts_rwlock_try_write()
{
    load(STATE, value);
    if
    :: reads_free(value) ->
        compare_exchange(STATE, value, WRITTEN, done);
        if
        :: done ->
            store(WRITERS_FUTEX, 1);
            if
            :: !(value & WRITE_PHASE) -> store(WRPHASE_FUTEX, 1)
            :: else
            fi;
            store(CUR_WRITER, me + 1)
        :: else
        fi
    :: else -> done = 0
    fi;
    value = 0
}

/* done: the section is over. */
inline tts_rwlock_end_read()
{
    do
    :: load(STATE, value);
        if
#ifndef KEEPS_THE_PHASE
        :: readers(value) == 1 && (value & 7) -> done = 0; break
#endif
        :: else ->
            compare_exchange(STATE, value, value - READER, done);
            if
            :: done -> break
            :: else
            fi
        fi
    od;
    value = 0
}

inline tts_rwlock_end_write()
{
#ifdef FORGETS_SLEEPERS
    store(WRITERS_FUTEX, 0);
    done = 1;
#else
    compare_exchange(WRITERS_FUTEX, 1, 0, done);
#endif
#if KIND != PREFER_READERS
    if
    :: done ->
        load(WRITERS, value);
        done = (value == 0);
        value = 0
    :: else
    fi;
#endif
    if
    :: done ->
        store(CUR_WRITER, 0);
#ifdef FORGETS_READERS
        exchange(STATE, value ^ HAS_WRITER, value);
        value = 0
#else
        compare_exchange(STATE, WRITTEN, WRITE_PHASE, done)
#endif
    :: else
    fi
}

inline elision_enter_rwlock()
{
    if
    :: take -> take = false; failures = 0
    :: !take && failures == 0 /* its memory, or a wait in vain */
    :: !take ->
        load(STATE, value);
        if
        :: reads_free(value) ->
            begin(A);
#ifndef NO_SUBSCRIPTION
            load(STATE, value);
            if
#ifdef ELIDES_BESIDE_READERS
            :: !(value & HAS_WRITER)
#else
            :: reads_free(value)
#endif
            :: else -> value = 0; REACHED("a lock was busy inside the transaction"); abort(BUSY)
            fi;
#endif
            value = 0
        :: else -> value = 0
        fi
    fi
}

inline pthread_rwlock_rdlock()
{
    elision_enter_rwlock();
    if
    :: in_transaction -> REACHED("a reader elided")
    :: else ->
        tts_rwlock_try_read_any();
        if
        :: done -> done = 0
        :: else -> libc_rdlock()
        fi
    fi
}

inline pthread_rwlock_wrlock()
{
    elision_enter_rwlock();
    if
    :: in_transaction -> REACHED("a writer elided")
    :: else ->
        tts_rwlock_try_write();
        if
        :: done -> done = 0
        :: else -> libc_wrlock()
        fi
    fi
}

/* What an unlock would have to know by other means if others could have an elided lock. */
#ifdef ELIDES_BESIDE_READERS
#define elided_beside_readers in_transaction
#else
#define elided_beside_readers false
#endif

inline pthread_rwlock_unlock()
{
#ifdef NO_SUBSCRIPTION
    if
    :: in_transaction -> value = 0
    :: else -> load(STATE, value)
    fi;
#else
    load(STATE, value);
#endif
    if
    :: (value & WRITTEN) == WRITTEN ->
        d_step { value = 0; assert(!in_transaction) };
        tts_rwlock_end_write();
        if
        :: done -> done = 0
        :: else -> store(CUR_WRITER, me + 1); libc_unlock()
        fi
    :: !(value & WRITE_PHASE) && readers(value) > 0 && !elided_beside_readers ->
        value = 0;
        tts_rwlock_end_read();
        if
        :: done -> done = 0
        :: else -> libc_unlock()
        fi
    :: else -> value = 0; end()
    fi
}

/* ---- three threads ---- */

inline read_both()
{
    load(X, value);
    d_step { claim(Y, false); fetch(Y, other); assert(value == other); value = 0 }
}

proctype thread(byte me; bool past_us; bool may_read; bool may_write)
{
    LOCALS;
    byte done, word, next;
    bool ready, may_share, writing;

    if
    :: may_write -> writing = true
    :: may_read
    fi;
    if
    :: past_us && writing -> libc_wrlock(); update(); libc_unlock()
    :: past_us && !writing -> libc_rdlock(); read_both(); libc_unlock()
    :: !past_us ->
section:
        {
            if
            :: writing -> pthread_rwlock_wrlock(); update()
            :: else -> pthread_rwlock_rdlock(); read_both()
            fi;
            pthread_rwlock_unlock()
        } unless { aborted_at(A); retry_policy_after_abort(); goto section }
    fi;
    d_step {
        if
        :: writing -> writes++
        :: else
        fi;
        finished++
    }
}

init {
    atomic {
        run thread(0, false, true, KIND == PREFER_READERS);
        run thread(1, false, false, true);
        run thread(2, true, true, true);
        run processor()
    };
    finished == THREADS;
    REACHED("every thread ended");
    assert(memory[X] == writes && memory[Y] == writes);
    assert(reads_free(memory[STATE]) && memory[WRPHASE_FUTEX] % 2 == memory[STATE]);
    assert(memory[WRITERS] == 0 && memory[WRITERS_FUTEX] == 0 && memory[CUR_WRITER] == 0)
}
