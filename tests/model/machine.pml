/*
 * SPDX-License-Identifier: MIT
 *
 * The machine under the lock protocol: memory, transactions, futexes. Nothing here knows a lock.
 *
 * Memory is a row of named bytes; each access is one indivisible step, and steps of the threads
 * interleave in any order (sequential consistency: the code takes and frees the word by locked
 * instructions, and a transaction commits as one of those, so x86 shows no other order).
 *
 * A transaction is what RTM makes of it:
 *   - what it writes waits in a buffer of its own, and the commit publishes all of it in one step;
 *   - it remembers which locations it read and wrote. A write by anybody else to one of either
 *     sort, or a read of one that it wrote, aborts it in that very step: the requester wins, and
 *     code outside of transactions counts like any other (strong isolation);
 *   - an aborted transaction never takes another step. Its thread goes on at its outermost begin:
 *     every section is a block with an escape (`unless`), which comes before any statement of it;
 *   - nesting is flat: a begin inside only counts, and the status tells that it was inside.
 * The process `processor` aborts any transaction at any time, for no reason that the program can
 * see: interrupts, evictions, false sharing, a holder of the line that does not yield.
 *
 * A futex wait compares and goes to sleep in one step. It may also return at once for no reason;
 * once asleep, only a wake or a deadline ends it, so that a lost wake-up shows as a thread that
 * can never go on.
 *
 * A loop that spins is a statement that blocks until it would succeed: who would spin for ever is
 * then found like one who sleeps for ever.
 */
#define THREADS 3

/* Locations; a mutex is A or B. */
#define A 0
#define B 1
#define WORD(mutex)  (mutex)
#define OWNER(mutex) (2 + (mutex))
#define X         4 /* the data that A guards: equal whenever nobody is inside */
#define Y         5
#define PREDICATE 6
#define WAITERS   7 /* libc's condition variable */
#define SEQUENCE  8
#define LOCATIONS 9

/* What the word of a lock may be when a section that elided it commits. */
#ifndef reads_free
#define reads_free(word) ((word) == 0)
#endif

byte memory[LOCATIONS];

/* Where a transaction stands. */
#define NONE    0
#define RUNNING 1
#define ABORTED 2

/* Why it was aborted: the bits of the status that the retry policy looks at. */
#define CONFLICT 1
#define BUSY     2 /* HTM_CODE_BUSY */
#define PHYSICAL 3 /* HTM_CODE_PHYSICAL */
#define OTHER    4 /* capacity, system call, interrupt, ... */

typedef transaction {
    byte stands;
    byte depth;
    byte begun_at;          /* the mutex of the outermost begin */
    byte cause;
    bool nested;            /* HTM_NESTED */
    byte elided;            /* bit per mutex that it elided */
    short reads, writes;    /* bit per location */
    byte buffer[LOCATIONS];
};

transaction tx[THREADS];

byte asleep[THREADS]; /* 1 + the location, or 0 */
byte finished;        /* threads that have ended */

/* Scratch of single steps, no part of the state. */
hidden byte other;
hidden byte place;

#include "reached.pml"

/* ---- transactions ---- */

#define in_transaction (tx[me].stands == RUNNING)

/* Requires to be inside a d_step. */
inline kill(victim, why)
{
    tx[victim].stands = ABORTED;
    tx[victim].cause = why;
    tx[victim].nested = tx[victim].depth > 1;
    tx[victim].depth = 0;
    tx[victim].elided = 0;
    tx[victim].reads = 0;
    tx[victim].writes = 0;
    place = 0;
    do
    :: place < LOCATIONS -> tx[victim].buffer[place] = 0; place++
    :: else -> break
    od
}

/* What an access does to the others' transactions. Requires to be inside a d_step. */
inline claim(location, writing)
{
    assert(tx[me].stands != ABORTED);
    other = 0;
    do
    :: other < THREADS ->
        if
        :: other != me && tx[other].stands == RUNNING &&
           ((tx[other].writes >> location) & 1 || (writing && (tx[other].reads >> location) & 1)) ->
            kill(other, CONFLICT)
        :: else
        fi;
        other++
    :: else -> break
    od
}

/* The two below require a claim before them. */
inline fetch(location, into)
{
    if
    :: in_transaction && (tx[me].writes >> location) & 1 -> into = tx[me].buffer[location]
    :: in_transaction && !((tx[me].writes >> location) & 1) ->
        tx[me].reads = tx[me].reads | (1 << location);
        into = memory[location]
    :: else -> into = memory[location]
    fi
}

inline put(location, new)
{
    if
    :: in_transaction ->
        tx[me].writes = tx[me].writes | (1 << location);
        tx[me].buffer[location] = new
    :: else -> memory[location] = new
    fi
}

inline load(location, into)
{
    d_step { claim(location, false); fetch(location, into) }
}

inline store(location, new)
{
    d_step { claim(location, true); put(location, new) }
}

inline exchange(location, new, before)
{
    d_step { claim(location, true); fetch(location, before); put(location, new) }
}

/* A failing compare-and-exchange claims the line as one that succeeds does. */
inline compare_exchange(location, expected, new, done)
{
    d_step {
        claim(location, true);
        fetch(location, done);
        if
        :: done == expected -> put(location, new); done = true
        :: else -> done = false
        fi
    }
}

/* htm_begin, to elide a mutex; inside a transaction it only counts */
inline begin(mutex)
{
    d_step {
        if
        :: in_transaction
        :: else ->
            assert(tx[me].stands == NONE);
            tx[me].stands = RUNNING;
            tx[me].begun_at = mutex
        fi;
        tx[me].depth++;
        tx[me].elided = tx[me].elided | (1 << mutex)
    }
}

/* htm_end: the outermost publishes. No mutex that was elided may then be held by another. */
inline end()
{
    d_step {
        assert(in_transaction);
        tx[me].depth--;
        if
        :: tx[me].depth == 0 ->
            assert(!(tx[me].elided & 1) || reads_free(memory[WORD(A)]));
            assert(!(tx[me].elided & 2) || reads_free(memory[WORD(B)]));
            place = 0;
            do
            :: place < LOCATIONS ->
                if
                :: (tx[me].writes >> place) & 1 -> memory[place] = tx[me].buffer[place]
                :: else
                fi;
                tx[me].buffer[place] = 0;
                place++
            :: else -> break
            od;
            tx[me].stands = NONE;
            tx[me].begun_at = 0;
            tx[me].elided = 0;
            tx[me].reads = 0;
            tx[me].writes = 0;
            failures = 0; /* the attempts of this section are over */
            REACHED("a section committed")
        :: else -> REACHED("a nested section ended")
        fi
    }
}

/* htm_abort_busy, htm_abort_physical, or an instruction that no transaction survives. The last
 * line does not return: the section's escape is the only way on. */
inline abort(why)
{
    d_step { assert(in_transaction); kill(me, why) };
    false
}

#define aborted_at(mutex) (tx[me].stands == ABORTED && tx[me].begun_at == mutex)

/*
 * While runs are to end, it gives only reasons that end the attempts at once: under the paper's
 * policy conflicts without end are retried without end.
 */
proctype processor()
{
    byte victim, why;

end_idle:
    do
    :: atomic {
        if
        :: tx[0].stands == RUNNING -> victim = 0
        :: tx[1].stands == RUNNING -> victim = 1
        :: tx[2].stands == RUNNING -> victim = 2
        fi;
        if
        :: why = OTHER
#ifndef RUNS_END
        :: why = CONFLICT
#endif
        fi;
        kill(victim, why);
        victim = 0;
        why = 0
    }
    od
}

/* ---- futexes ---- */

/* Goes to sleep if the location still holds the value. */
inline queue(location, value)
{
    d_step {
        assert(tx[me].stands == NONE);
        claim(location, false);
        if
        :: memory[location] == value -> asleep[me] = location + 1; REACHED("a thread slept")
        :: else
        fi
    }
}

/* futex_wait */
inline futex_wait(location, value)
{
    if
    :: queue(location, value); asleep[me] == 0
#ifndef RUNS_END
    :: true /* a signal, or no reason at all */
#endif
    fi
}

/* futex_wait_until; the deadline passes at any time, but not for a thread that was woken. */
inline futex_wait_until(location, value, timed_out)
{
    queue(location, value);
    if
    :: asleep[me] == 0
    :: atomic { asleep[me] != 0 -> asleep[me] = 0; timed_out = true; REACHED("a deadline passed") }
    fi
}

/* futex_wake_one: a system call, so no transaction survives it. */
inline futex_wake_one(location)
{
    if
    :: in_transaction -> abort(OTHER)
    :: else ->
        atomic {
            if
            :: asleep[0] == location + 1 -> asleep[0] = 0
            :: asleep[1] == location + 1 -> asleep[1] = 0
            :: asleep[2] == location + 1 -> asleep[2] = 0
            :: else
            fi;
            if
            :: asleep[0] == location + 1 || asleep[1] == location + 1 || asleep[2] == location + 1 ->
                REACHED("one sleeper was woken and another slept on")
            :: else
            fi
        }
    fi
}

inline futex_wake_all(location)
{
    if
    :: in_transaction -> abort(OTHER)
    :: else ->
        d_step {
            other = 0;
            do
            :: other < THREADS ->
                if
                :: asleep[other] == location + 1 -> asleep[other] = 0
                :: else
                fi;
                other++
            :: else -> break
            od;
            other = 0
        }
    fi
}
