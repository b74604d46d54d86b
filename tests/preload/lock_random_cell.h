/*
 * SPDX-License-Identifier: MIT
 *
 * What lock_random.c locks: cells, each of them a mutex of one kind with a condition variable and
 * what they protect, and an oracle that says at any time what must be true of it. Everything in a
 * cell but the mutex and the condition variable is written by its holder only.
 *
 * What a section finds wrong is kept in the thread's own memory and told after the
 * outermost unlock: a message inside a transaction would abort it, and what it saw would be gone. A
 * section that aborts takes back what it noted with everything else.
 */
#ifndef MPLACE_LOCK_RANDOM_CELL_H
#define MPLACE_LOCK_RANDOM_CELL_H

#include "elision_check.h"

#include "lock_families.h"

enum { CELLS = 12, HOLDS_MOST = CELLS };

enum cell_kind {
    CELL_NORMAL,      /* as PTHREAD_MUTEX_INITIALIZER makes it */
    CELL_EXPLICIT,    /* PTHREAD_MUTEX_NORMAL asked for: not to be elided */
    CELL_ADAPTIVE,    /* looks before it sleeps, says glibc */
    CELL_RECURSIVE,   /* knows its owner and its depth */
    CELL_ERROR_CHECK, /* knows its owner */
    CELL_C11,         /* mtx_timed */
    CELL_C11_RECURSIVE,
    CELL_KINDS
};

struct cell {
    enum cell_kind kind;
    struct either lock;

    unsigned holder;  /* who is inside, 0 nobody; only sections that write say so */
    unsigned depth;   /* how often the holder has locked it */
    long left, right; /* equal whenever nobody is inside */
    long tokens;      /* put here by signallers, taken by waiters */
    long waiting;     /* threads that wait for a token */
    uint64_t history; /* who was inside, one after the other */
} __attribute__((aligned(128)));

struct member {
    unsigned number; /* from 1 */
    uint64_t random;
    const char *wrong; /* the first thing found wrong; NULL none */
    long added[CELLS];
};

#define NOTE_TEXT(line)    NOTE_TEXT_OF(line)
#define NOTE_TEXT_OF(line) #line
#define NOTE(member, condition)                                                                    \
    do {                                                                                           \
        if (!(condition) && (member)->wrong == NULL)                                               \
            (member)->wrong = __FILE__ ":" NOTE_TEXT(__LINE__) ": does not hold: " #condition;     \
    } while (0)

static const struct timespec long_ago = {.tv_sec = 1};

static inline void make_cell(struct cell *cell, enum cell_kind kind)
{
    static const int types[] = {
        [CELL_NORMAL] = PTHREAD_MUTEX_DEFAULT,         [CELL_EXPLICIT] = PTHREAD_MUTEX_NORMAL,
        [CELL_ADAPTIVE] = PTHREAD_MUTEX_ADAPTIVE_NP,   [CELL_RECURSIVE] = PTHREAD_MUTEX_RECURSIVE,
        [CELL_ERROR_CHECK] = PTHREAD_MUTEX_ERRORCHECK,
    };

    memset(cell, 0, sizeof *cell);
    cell->kind = kind;
    cell->lock.is_c11 = kind >= CELL_C11;
    if (cell->lock.is_c11) {
        int type = kind == CELL_C11_RECURSIVE ? mtx_timed | mtx_recursive : mtx_timed;

        CHECK_EQUAL(mtx_init(&cell->lock.mutex.c11, type), thrd_success);
        CHECK_EQUAL(cnd_init(&cell->lock.condition.c11), thrd_success);
    } else if (kind == CELL_NORMAL) {
        CHECK_EQUAL(pthread_mutex_init(&cell->lock.mutex.posix, NULL), 0);
        CHECK_EQUAL(pthread_cond_init(&cell->lock.condition.posix, NULL), 0);
    } else {
        make_mutex(&cell->lock.mutex.posix, types[kind]);
        CHECK_EQUAL(pthread_cond_init(&cell->lock.condition.posix, NULL), 0);
    }
}

static inline void wake(struct cell *cell, bool all)
{
    CHECK_EQUAL(all ? either_broadcast(&cell->lock) : either_signal(&cell->lock), 0);
}

static inline clockid_t clock_for(const struct cell *cell, uint64_t draw)
{
    return cell->lock.is_c11 || draw % 2 == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

/*
 * One of the ways to lock, chosen at random; false: it was one that may fail, and did. A deadline
 * that was missed must have passed.
 */
static inline bool lock_somehow(struct member *me, struct cell *cell)
{
    uint64_t draw = next_random(&me->random);
    clockid_t clock = clock_for(cell, draw >> 32);
    struct timespec deadline = long_ago;
    int answer;

    switch (draw % 8) {
    case 0:
    case 1:
        answer = either_trylock(&cell->lock);
        NOTE(me, answer == 0 || answer == EBUSY);
        return answer == 0;
    case 2:
        deadline = time_from_now(clock, (long)(draw >> 8) % 2);
        /* fall through */
    case 3:
        answer = either_lock_until(&cell->lock, clock, &deadline);
        NOTE(me, answer == 0 || (answer == ETIMEDOUT && time_has_come(clock, &deadline)));
        return answer == 0;
    default:
        NOTE(me, either_lock(&cell->lock) == 0);
        return true;
    }
}

/* ---- the oracle; the caller holds the cell's mutex ---- */

static inline void enter(struct member *me, struct cell *cell)
{
    NOTE(me, cell->holder == 0 && cell->depth == 0);
    NOTE(me, cell->left == cell->right);
    cell->holder = me->number;
    cell->depth = 1;
}

/* Between enter and leave; for a while the cell is as nobody else may see it. */
static inline void change(struct member *me, struct cell *cell, unsigned index)
{
    cell->left++;
    work((unsigned)(next_random(&me->random) % 8));
    cell->right++;
    me->added[index]++;
    cell->history = cell->history * 31 + me->number;
}

static inline void leave(struct member *me, struct cell *cell)
{
    NOTE(me, cell->holder == me->number && cell->depth == 1);
    NOTE(me, cell->left == cell->right);
    cell->depth = 0;
    cell->holder = 0;
}

/* For a section that writes nothing, so that several may run at once where they are elided. */
static inline void look(struct member *me, const struct cell *cell)
{
    NOTE(me, cell->holder == 0 && cell->depth == 0 && cell->left == cell->right);
}

/* Nobody uses the cell any more: its mutex is free in all that libc keeps there, and as good as
 * new. */
static inline void expect_at_rest(struct cell *cell)
{
    CHECK_EQUAL(cell->holder, 0);
    CHECK_EQUAL(cell->waiting, 0);
    CHECK_EQUAL(cell->left, cell->right);
    CHECK_EQUAL(cell->lock.mutex.posix.__data.__lock, 0);
    CHECK_EQUAL(cell->lock.mutex.posix.__data.__owner, 0);
    CHECK_EQUAL(cell->lock.mutex.posix.__data.__nusers, 0);
    CHECK_EQUAL(either_trylock(&cell->lock), 0);
    CHECK_EQUAL(either_unlock(&cell->lock), 0);
    if (cell->lock.is_c11) {
        cnd_destroy(&cell->lock.condition.c11);
        mtx_destroy(&cell->lock.mutex.c11);
    } else {
        CHECK_EQUAL(pthread_cond_destroy(&cell->lock.condition.posix), 0);
        CHECK_EQUAL(pthread_mutex_destroy(&cell->lock.mutex.posix), 0);
    }
}

#endif
