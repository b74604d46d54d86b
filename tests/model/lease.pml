/*
 * SPDX-License-Identifier: MIT
 *
 * Leases, as src/cia_malloc/lease.h and lease.c grant them, take them away and step under them, on a
 * machine that delays stores as x86 does: each thread's go into a queue and reach memory some time
 * later, in order; the thread itself sees them at once. Two threads work on one CPU's magazines, a
 * number that each use increases by one: one that is lost shows that two were at it together. A
 * signal handler may come in the middle of a step and allocate as well.
 *
 *   MAGAZINES   the number
 *   LOCK        the sub-heap's
 *   LEASE       whose lease it is, plus 1; 0: nobody's
 *   STOPPED     the lease leads nowhere already
 *   BUSY + t    thread t is in a step
 *   TAKE + t    1: thread t's lease leads to the magazines
 *
 * A rule taken out: -DNO_FENCE, -DBUSY_LATER, -DNO_LOOK_AT_BUSY, -DHANDLER_STEPS,
 * -DHANDLER_WITHDRAWS.
 */
#include "reached.pml"

#define THREADS 2
#define USES    4
#define QUEUE   8

#define MAGAZINES 0
#define LOCK      1
#define LEASE     2
#define STOPPED   3
#define BUSY      4
#define TAKE      6

byte memory[8];
byte uses, ended;

typedef queue {
    byte address[QUEUE];
    byte value[QUEUE];
    byte length
};
queue stores[THREADS];

inline load(address_, into)
{
    d_step {
        into = memory[address_];
        i = 0;
        do
        :: i < stores[me].length ->
           if
           :: stores[me].address[i] == address_ -> into = stores[me].value[i]
           :: else
           fi;
           i++
        :: else -> break
        od;
        i = 0
    }
}

inline store(address_, value_)
{
    d_step { /* a full queue stops the thread */
        stores[me].length < QUEUE ->
        stores[me].address[stores[me].length] = address_;
        stores[me].value[stores[me].length] = value_;
        stores[me].length++
    }
}

/* A locked instruction waits for the queue. */
inline exchange(address_, value_, into)
{
    atomic {
        stores[me].length == 0 ->
            into = memory[address_];
            memory[address_] = value_
    }
}

inline fence_everywhere()
{
    stores[me].length == 0;
    stores[1 - me].length == 0
}

/* The oldest store of a thread reaches memory, at any time. */
proctype memory_system(byte thread)
{
    byte i;

end:
    do
    :: d_step {
           stores[thread].length > 0 ->
               memory[stores[thread].address[0]] = stores[thread].value[0];
               stores[thread].length--;
               i = 0;
               do
               :: i < stores[thread].length ->
                  stores[thread].address[i] = stores[thread].address[i + 1];
                  stores[thread].value[i] = stores[thread].value[i + 1];
                  i++
               :: else -> break
               od;
               stores[thread].address[i] = 0;
               stores[thread].value[i] = 0;
               i = 0
       }
    od
}

/* The step proper: a malloc or a free. */
inline use()
{
    load(MAGAZINES, number);
    store(MAGAZINES, number + 1);
    d_step { number = 0; uses++ }
}

/* alone: whether the holder of the lock has the magazines. */
inline withdraw()
{
    load(LEASE, whose);
    if
    :: whose == 0 -> alone = true
    :: whose == me + 1 ->
       load(BUSY + me, seen);
       if
#ifdef HANDLER_WITHDRAWS
       :: seen < 2 ->
#else
       :: seen == 0 ->
#endif
          store(TAKE + me, 0);
          store(LEASE, 0);
          store(STOPPED, 0);
          alone = true
       :: else -> alone = false; REACHED("a handler left the step below it alone")
       fi
    :: else ->
       load(STOPPED, seen);
       if
       :: seen == 0 ->
          store(TAKE + 1 - me, 0);
#ifndef NO_FENCE
          fence_everywhere();
#endif
          store(STOPPED, 1)
       :: else
       fi;
       load(BUSY + 1 - me, seen);
       if
#ifdef NO_LOOK_AT_BUSY
       :: seen < 2 ->
#else
       :: seen == 0 ->
#endif
          store(LEASE, 0);
          store(STOPPED, 0);
          alone = true;
          REACHED("a lease was taken away")
       :: else -> alone = false; REACHED("a lease could not be taken away from a step")
       fi
    fi;
    d_step { whose = 0; seen = 0 }
}

inline grant()
{
    load(BUSY + me, seen);
    if
    :: seen == 0 ->
       store(BUSY + me, 1);
       store(LEASE, me + 1);
       store(TAKE + me, 1);
       store(BUSY + me, 0)
    :: else
    fi;
    seen = 0
}

inline slow()
{
    exchange(LOCK, 1, seen);
    if
    :: seen == 0 ->
       seen = 0;
       withdraw();
       if
       :: alone ->
          use();
          if
          :: grant(); REACHED("a lease was granted")
          :: skip /* one was taken away a moment ago */
          fi
       :: else
       fi;
       alone = false;
       store(LOCK, 0)
    :: else -> seen = 0
    fi
}

/* Interrupts a step. */
inline handler()
{
    load(BUSY + me, seen);
    if
#ifdef HANDLER_STEPS
    :: seen < 2 ->
       seen = 0;
       use()
#endif
    :: seen == 1 ->
       seen = 0;
       slow()
    fi
}

proctype thread(byte me; bool interrupted)
{
    byte i, round, number, leads, seen, whose;
    bool alone;

    do
    :: round < USES ->
       round++;
#ifdef BUSY_LATER
       load(TAKE + me, leads);
       store(BUSY + me, 1);
#else
       store(BUSY + me, 1);
       load(TAKE + me, leads);
#endif
       if
       :: leads == 1 ->
          load(MAGAZINES, number);
          if
          :: interrupted && round == USES ->
             byte before = number;
             number = 0;
             handler();
             number = before;
             before = 0
          :: else
          fi;
          store(MAGAZINES, number + 1);
          d_step { number = 0; uses++ };
          REACHED("a step under a lease")
       :: else
       fi;
       store(BUSY + me, 0);
       if
       :: leads == 0 -> slow()
       :: else
       fi;
       leads = 0
    :: else -> break
    od;
    ended++
}

/* All that was stored has come to memory, and no use was lost. */
proctype last()
{
    ended == THREADS && stores[0].length == 0 && stores[1].length == 0;
    assert(memory[MAGAZINES] == uses);
    assert(memory[LOCK] == 0);
    REACHED("no use was lost")
}

init {
    atomic {
        run memory_system(0);
        run memory_system(1);
        run thread(0, true);
        run thread(1, false);
        run last()
    }
}
