/*
 * SPDX-License-Identifier: MIT
 *
 * Remote frees and the hand-over of a sub-heap's inbox, as
 * src/cia_malloc/heap/remote_free/inbox.c does them. Two spans of one sub-heap, four blocks, three threads that free them from other CPUs, and
 * two that try the sub-heap's lock and drain: the owner, and whoever finds the inbox full. A block
 * that was returned may be taken and freed once more, so that a span comes onto the inbox again
 * while an earlier drain is not over; or all of its span is free, and the span is unmapped.
 *
 *   word[s]    the span's remote word: a bit for each block that was freed from afar. Written by
 *              who frees, by an atomic or, and by the holder of the lock, by an exchange with 0.
 *   next[s]    the span's link. Written by the one thread that found word[s] 0.
 *   inbox      the newest span on it, plus 1; 0: none. Written by who pushes, by compare-and-swap,
 *              and by the holder of the lock, by an exchange with 0.
 *   home[s]    blocks that are free. The holder's.
 *
 * Each access is one step, and steps interleave in any order. Weaker orders are argued where they
 * are used: every step that hands something over is a locked instruction on x86, and carries
 * release and acquire in the source.
 *
 * A rule taken out: -DZERO_FIRST, -DEVERYBODY_PUSHES, -DPLAIN_OR, -DTOUCH_AFTER.
 */
#include "reached.pml"

#define SPANS    2
#define FREERS   3
#define DRAINERS 2
#define NONE     0
#define BOTH     3

byte word[SPANS], next[SPANS], home[SPANS], inbox;
bool unmapped[SPANS];
bit lock;
byte ended, again; /* threads that ended; blocks that were freed twice */


/* Whoever touches a span from afar may not find it unmapped. */
#define touch(span) assert(!unmapped[span])

inline push(span)
{
    head = inbox;
    do
    :: atomic { touch(span); next[span] = head };
       if
       :: atomic { inbox == head -> inbox = span + 1; break }
       :: atomic { inbox != head -> head = inbox; REACHED("a push met another") }
       fi
    od
}

inline free_remotely(span, bits)
{
#ifdef PLAIN_OR
    before = word[span];
    word[span] = before | bits;
#else
    atomic { touch(span); before = word[span]; word[span] = before | bits };
#endif
#ifdef EVERYBODY_PUSHES
    push(span)
#else
    if
    :: before == 0 -> push(span)
    :: atomic { else -> REACHED("a block joined others in its span's word") }
#ifdef TOUCH_AFTER
       ; touch(span)
#endif
    fi
#endif
}

/* Has one block, in the program's hands, and frees it; then perhaps is given it again. */
proctype freer(byte span; byte bits; bool twice)
{
    byte before, head;

    free_remotely(span, bits);
    if
    :: atomic { twice && (home[span] & bits) != 0 && !unmapped[span] && lock == 0 ->
           /* malloc, under the lock, in one step */
           home[span] = home[span] & ~bits;
           again++
       };
       free_remotely(span, bits)
    :: skip
    fi;
    atomic { before = 0; head = 0; ended++ }
}

/* A span whose blocks are all free may be unmapped. */
inline settle(span)
{
    if
    :: home[span] == BOTH && !unmapped[span] -> unmapped[span] = true; REACHED("a span was unmapped")
    :: skip
    fi
}

/* What word held goes home: the holder's own step, but for the word. */
inline take_home(span)
{
    atomic {
        bits = word[span];
        word[span] = 0;
        assert(bits != 0);                 /* a span on the list has blocks: it is there once */
        assert((home[span] & bits) == 0);  /* and none of them is free already */
        home[span] = home[span] | bits;
        bits = 0;
        settle(span)
    }
}

inline drain()
{
    atomic { list = inbox; inbox = NONE };
    do
    :: list == NONE -> break
    :: else ->
#ifdef ZERO_FIRST
       take_home(list - 1);
       atomic { link = next[list - 1]; list = link }
#else
       link = next[list - 1];
       atomic { take_home(list - 1); list = link }
#endif
    od;
    atomic { list = NONE; link = NONE }
}

/* The lock is only tried. */
proctype drainer()
{
    byte list, link, bits;

    if
    :: atomic { lock == 0 -> lock = 1 };
       drain();
       lock = 0
    :: atomic { lock == 1 -> REACHED("the lock was taken: nobody waits for it") }
    fi;
    ended++
}

/* The drain that comes some day: nothing may be lost to it. */
proctype last()
{
    byte list, link, bits;

    ended == FREERS + DRAINERS;
    drain();
    assert(home[0] == BOTH && home[1] == BOTH);
    assert(word[0] == 0 && word[1] == 0 && inbox == NONE);
    if
    :: again > 0 -> REACHED("all blocks were returned, one of them twice")
    :: else -> REACHED("all blocks were returned")
    fi
}

init {
    atomic {
        home[1] = 2; /* its other block is free from the start */
        run freer(0, 1, true);
        run freer(0, 2, false);
        run freer(1, 1, false);
        run drainer();
        run drainer();
        run last()
    }
}
