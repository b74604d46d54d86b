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

#include <threads.h>

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
    union {
        pthread_mutex_t posix;
        mtx_t c11;
    } mutex;
    union {
        pthread_cond_t posix;
        cnd_t c11;
    } condition;

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

static inline bool is_c11(const struct cell *cell)
{
    return cell->kind >= CELL_C11;
}

static inline bool is_recursive(const struct cell *cell)
{
    return cell->kind == CELL_RECURSIVE || cell->kind == CELL_C11_RECURSIVE;
}

static inline void make_cell(struct cell *cell, enum cell_kind kind)
{
    static const int types[] = {
        [CELL_NORMAL] = PTHREAD_MUTEX_DEFAULT,         [CELL_EXPLICIT] = PTHREAD_MUTEX_NORMAL,
        [CELL_ADAPTIVE] = PTHREAD_MUTEX_ADAPTIVE_NP,   [CELL_RECURSIVE] = PTHREAD_MUTEX_RECURSIVE,
        [CELL_ERROR_CHECK] = PTHREAD_MUTEX_ERRORCHECK,
    };

    memset(cell, 0, sizeof *cell);
    cell->kind = kind;
    if (is_c11(cell)) {
        int type = kind == CELL_C11_RECURSIVE ? mtx_timed | mtx_recursive : mtx_timed;

        CHECK_EQUAL(mtx_init(&cell->mutex.c11, type), thrd_success);
        CHECK_EQUAL(cnd_init(&cell->condition.c11), thrd_success);
    } else if (kind == CELL_NORMAL) {
        CHECK_EQUAL(pthread_mutex_init(&cell->mutex.posix, NULL), 0);
        CHECK_EQUAL(pthread_cond_init(&cell->condition.posix, NULL), 0);
    } else {
        make_mutex(&cell->mutex.posix, types[kind]);
        CHECK_EQUAL(pthread_cond_init(&cell->condition.posix, NULL), 0);
    }
}

/* ---- the families as one: 0, EBUSY, ETIMEDOUT, or whatever else POSIX's functions say ---- */

static inline int posix_answer(int c11)
{
    return c11 == thrd_success    ? 0
           : c11 == thrd_busy     ? EBUSY
           : c11 == thrd_timedout ? ETIMEDOUT
                                  : -1;
}

static inline int lock(struct cell *cell)
{
    return is_c11(cell) ? posix_answer(mtx_lock(&cell->mutex.c11))
                        : pthread_mutex_lock(&cell->mutex.posix);
}

static inline int try_lock(struct cell *cell)
{
    return is_c11(cell) ? posix_answer(mtx_trylock(&cell->mutex.c11))
                        : pthread_mutex_trylock(&cell->mutex.posix);
}

static inline int unlock(struct cell *cell)
{
    return is_c11(cell) ? posix_answer(mtx_unlock(&cell->mutex.c11))
                        : pthread_mutex_unlock(&cell->mutex.posix);
}

/* C11 has only the one clock. */
static inline int lock_until(struct cell *cell, clockid_t clock, const struct timespec *deadline)
{
    if (is_c11(cell))
        return posix_answer(mtx_timedlock(&cell->mutex.c11, deadline));
    if (clock == CLOCK_REALTIME)
        return pthread_mutex_timedlock(&cell->mutex.posix, deadline);
    return pthread_mutex_clocklock(&cell->mutex.posix, clock, deadline);
}

static inline int wait_in(struct cell *cell)
{
    return is_c11(cell) ? posix_answer(cnd_wait(&cell->condition.c11, &cell->mutex.c11))
                        : pthread_cond_wait(&cell->condition.posix, &cell->mutex.posix);
}

static inline int wait_in_until(struct cell *cell, clockid_t clock, const struct timespec *deadline)
{
    if (is_c11(cell))
        return posix_answer(cnd_timedwait(&cell->condition.c11, &cell->mutex.c11, deadline));
    if (clock == CLOCK_REALTIME)
        return pthread_cond_timedwait(&cell->condition.posix, &cell->mutex.posix, deadline);
    return pthread_cond_clockwait(&cell->condition.posix, &cell->mutex.posix, clock, deadline);
}

static inline void wake(struct cell *cell, bool all)
{
    if (is_c11(cell))
        CHECK_EQUAL((all ? cnd_broadcast : cnd_signal)(&cell->condition.c11), thrd_success);
    else
        CHECK_EQUAL((all ? pthread_cond_broadcast : pthread_cond_signal)(&cell->condition.posix),
                    0);
}

static inline clockid_t clock_for(const struct cell *cell, uint64_t draw)
{
    return is_c11(cell) || draw % 2 == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
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
        answer = try_lock(cell);
        NOTE(me, answer == 0 || answer == EBUSY);
        return answer == 0;
    case 2:
        deadline = time_from_now(clock, (long)(draw >> 8) % 2);
        /* fall through */
    case 3:
        answer = lock_until(cell, clock, &deadline);
        NOTE(me, answer == 0 || (answer == ETIMEDOUT && time_has_come(clock, &deadline)));
        return answer == 0;
    default:
        NOTE(me, lock(cell) == 0);
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
    CHECK_EQUAL(cell->mutex.posix.__data.__lock, 0);
    CHECK_EQUAL(cell->mutex.posix.__data.__owner, 0);
    CHECK_EQUAL(cell->mutex.posix.__data.__nusers, 0);
    CHECK_EQUAL(try_lock(cell), 0);
    CHECK_EQUAL(unlock(cell), 0);
    if (is_c11(cell)) {
        cnd_destroy(&cell->condition.c11);
        mtx_destroy(&cell->mutex.c11);
    } else {
        CHECK_EQUAL(pthread_cond_destroy(&cell->condition.posix), 0);
        CHECK_EQUAL(pthread_mutex_destroy(&cell->mutex.posix), 0);
    }
}

#endif
