/*
 * SPDX-License-Identifier: MIT
 *
 * Random programs on mutexes of all kinds, of which an oracle keeps account: threads lock, try and
 * wait with deadlines, nest in every order that cannot deadlock, walk hand over hand, lock again
 * what they hold, ask for what must be refused, wait for tokens on condition variables and are
 * cancelled there. Nobody is inside with another, nothing added is lost, no wake-up is missed, each
 * refusal is the right one, and in the end every mutex is as it was when it was made.
 *
 *   lock_random THREADS STEPS [SEED [SEEDS [WORK]]]
 *
 * One round for each seed from SEED on. Under the emulator a seed decides how the threads
 * interleave and WORK, another seed, what they do; chance has a say besides, for
 * threads sleep. WORK 0: each round's seed decides the work as well; so it is natively, where
 * nobody can choose an interleaving. The last line says how many different interleavings the rounds
 * were, by who was in each cell in which order.
 */
#include "lock_random_cell.h"

#include "rtmgrind/rtmgrind.h"

enum { MEMBERS_MOST = 64, SEEDS_MOST = 1000000, VICTIMS = 3 };

static struct cell cells[CELLS];
static struct member members[MEMBERS_MOST + 1]; /* [0] is unused; the last is the giver */
static unsigned member_count = 4;
static int steps = 200;
static uint64_t seed = 1;
static unsigned finished; /* members that have done their work */

static void tell(const struct member *me)
{
    if (me->wrong == NULL)
        return;
    dprintf(STDERR_FILENO, "seed %lu, thread %u: %s\n", (unsigned long)seed, me->number, me->wrong);
    _exit(1);
}

static unsigned pick(struct member *me)
{
    return (unsigned)(next_random(&me->random) % CELLS);
}

/* ---- what members do ---- */

static void be_inside_once(struct member *me)
{
    unsigned index = pick(me);

    if (!lock_somehow(me, &cells[index]))
        return;
    enter(me, &cells[index]);
    change(me, &cells[index], index);
    leave(me, &cells[index]);
    NOTE(me, either_unlock(&cells[index].lock) == 0);
}

static void only_look(struct member *me)
{
    struct cell *cell = &cells[pick(me)];

    if (!lock_somehow(me, cell))
        return;
    look(me, cell);
    NOTE(me, either_unlock(&cell->lock) == 0);
}

/* Several cells, in ascending order and so without deadlock; released in any order. */
static void hold_several(struct member *me)
{
    unsigned held[HOLDS_MOST], count = 0, sparse = 2 + (unsigned)(next_random(&me->random) % 6);

    for (unsigned i = 0; i < CELLS; i++) {
        if (next_random(&me->random) % sparse != 0)
            continue;
        if (!lock_somehow(me, &cells[i]))
            break;
        enter(me, &cells[i]);
        held[count++] = i;
    }
    for (unsigned i = 0; i < count; i++)
        change(me, &cells[held[i]], held[i]);
    while (count > 0) {
        unsigned at = (unsigned)(next_random(&me->random) % count);
        struct cell *cell = &cells[held[at]];

        held[at] = held[--count];
        leave(me, cell);
        NOTE(me, either_unlock(&cell->lock) == 0);
    }
}

/* At any time one cell is held, and for a moment the next one besides. */
static void walk_hand_over_hand(struct member *me)
{
    unsigned at = pick(me);

    NOTE(me, either_lock(&cells[at].lock) == 0);
    enter(me, &cells[at]);
    for (;;) {
        unsigned next = at + 1 + (unsigned)(next_random(&me->random) % 3);
        bool goes_on = next < CELLS && lock_somehow(me, &cells[next]);

        if (goes_on)
            enter(me, &cells[next]);
        change(me, &cells[at], at);
        leave(me, &cells[at]);
        NOTE(me, either_unlock(&cells[at].lock) == 0);
        if (!goes_on)
            return;
        at = next;
    }
}

/* Whatever way a recursive mutex is locked again, it must be granted, and counted. */
static void lock_again(struct member *me)
{
    unsigned index = next_random(&me->random) % 2 ? CELL_RECURSIVE : CELL_C11_RECURSIVE;
    struct cell *cell = &cells[index];
    unsigned times = 1 + (unsigned)(next_random(&me->random) % 4);

    if (!lock_somehow(me, cell))
        return;
    enter(me, cell);
    for (unsigned i = 0; i < times; i++) {
        NOTE(me, lock_somehow(me, cell));
        cell->depth++;
    }
    change(me, cell, index);
    for (unsigned i = 0; i < times; i++) {
        NOTE(me, cell->holder == me->number && cell->depth == 1 + times - i);
        cell->depth--;
        NOTE(me, either_unlock(&cell->lock) == 0);
    }
    leave(me, cell);
    NOTE(me, either_unlock(&cell->lock) == 0);
}

/* One thing that must be refused while this thread holds the cell; one, for the answer may be found
 * in another way if something else was asked before. */
static void ask_for_the_impossible(struct member *me)
{
    static const enum cell_kind kinds[] = {CELL_NORMAL,    CELL_EXPLICIT,    CELL_ADAPTIVE,
                                           CELL_RECURSIVE, CELL_ERROR_CHECK, CELL_C11};
    struct cell *cell = &cells[kinds[next_random(&me->random) % 6]];
    clockid_t clock = clock_for(cell, next_random(&me->random));
    bool knows_owner = cell->kind == CELL_RECURSIVE || cell->kind == CELL_ERROR_CHECK;

    if (knows_owner)
        NOTE(me, either_unlock(&cell->lock) == EPERM);
    if (!lock_somehow(me, cell))
        return;
    enter(me, cell);
    switch (next_random(&me->random) % 4) {
    case 0:
        if (cell->kind == CELL_ERROR_CHECK)
            NOTE(me, either_lock(&cell->lock) == EDEADLK);
        break;
    case 1:
        if (cell->kind != CELL_RECURSIVE)
            NOTE(me, either_lock_until(&cell->lock, clock, &long_ago) ==
                         (cell->kind == CELL_ERROR_CHECK ? EDEADLK : ETIMEDOUT));
        break;
    case 2:
        if (cell->kind != CELL_RECURSIVE)
            NOTE(me, either_trylock(&cell->lock) == EBUSY);
        break;
    case 3:
        if (!cell->lock.is_c11)
            NOTE(me, pthread_mutex_destroy(&cell->lock.mutex.posix) == EBUSY);
        break;
    }
    leave(me, cell);
    NOTE(me, either_unlock(&cell->lock) == 0);
    if (knows_owner)
        NOTE(me, either_unlock(&cell->lock) == EPERM);
}

/* Takes a token, waiting for it as long as it takes or until a deadline. */
static void take_token(struct member *me)
{
    unsigned index = pick(me);
    struct cell *cell = &cells[index];
    uint64_t draw = next_random(&me->random);
    clockid_t clock = clock_for(cell, draw >> 16);
    struct timespec deadline = long_ago;
    int answer = 0;

    if (draw % 4 == 1)
        deadline = time_from_now(clock, (long)(draw >> 8) % 3);
    NOTE(me, either_lock(&cell->lock) == 0);
    enter(me, cell);
    cell->waiting++;
    while (cell->tokens == 0 && answer == 0) {
        leave(me, cell);
        answer = draw % 4 < 2 ? either_wait_until(&cell->lock, clock, &deadline)
                              : either_wait(&cell->lock);
        enter(me, cell);
        NOTE(me, answer == 0 || (answer == ETIMEDOUT && draw % 4 < 2));
        NOTE(me, answer == 0 || time_has_come(clock, &deadline));
        tell(me);
    }
    cell->waiting--;
    if (cell->tokens > 0) {
        cell->tokens--;
        change(me, cell, index);
    }
    leave(me, cell);
    NOTE(me, either_unlock(&cell->lock) == 0);
}

static void give_token(struct member *me, struct cell *cell)
{
    bool all = next_random(&me->random) % 4 == 0, outside = next_random(&me->random) % 2;
    bool given;

    NOTE(me, either_lock(&cell->lock) == 0);
    enter(me, cell);
    /* One for each waiter and one call for each: a wake-up that is lost is not made up for. */
    given = cell->waiting > cell->tokens;
    if (given)
        cell->tokens++;
    if (given && !outside)
        wake(cell, all);
    leave(me, cell);
    NOTE(me, either_unlock(&cell->lock) == 0);
    if (given && outside)
        wake(cell, all);
}

static void take_a_step(struct member *me)
{
    switch (next_random(&me->random) % 16) {
    case 0:
        take_token(me);
        break;
    case 1:
        give_token(me, &cells[pick(me)]);
        break;
    case 2:
    case 3:
        walk_hand_over_hand(me);
        break;
    case 4:
        lock_again(me);
        break;
    case 5:
        ask_for_the_impossible(me);
        break;
    case 6:
    case 7:
    case 8:
        hold_several(me);
        break;
    case 9:
    case 10:
    case 11:
        only_look(me);
        break;
    default:
        be_inside_once(me);
        break;
    }
    tell(me);
}

static void *live(void *argument)
{
    struct member *me = argument;

    for (int i = 0; i < steps; i++)
        take_a_step(me);
    __atomic_fetch_add(&finished, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) != member_count)
        sched_yield();
    return NULL;
}

/* ---- cancellation: threads that wait for ever, in cells whose waits are cancellation points ----
 */

struct victim {
    struct member member;
    unsigned index;
    bool waits; /* written in the cell */
    bool cleaned;
};

static void clean_up(void *argument)
{
    struct victim *victim = argument;
    struct cell *cell = &cells[victim->index];

    enter(&victim->member, cell);
    change(&victim->member, cell, victim->index);
    cell->waiting--;
    /* If the wake-up for a token was mine, somebody else has to have it. */
    if (cell->tokens > 0)
        wake(cell, true);
    victim->cleaned = true;
    leave(&victim->member, cell);
    NOTE(&victim->member, either_unlock(&cell->lock) == 0);
}

static void *wait_for_ever(void *argument)
{
    struct victim *victim = argument;
    struct cell *cell = &cells[victim->index];
    const struct timespec never = {.tv_sec = 1l << 40};

    NOTE(&victim->member, either_lock(&cell->lock) == 0);
    cell->waiting++;
    victim->waits = true;
    pthread_cleanup_push(clean_up, victim);
    for (;;) {
        if (next_random(&victim->member.random) % 2)
            NOTE(&victim->member, either_wait(&cell->lock) == 0);
        else
            NOTE(&victim->member,
                 either_wait_until(&cell->lock, clock_for(cell, victim->index), &never) == 0);
        look(&victim->member, cell);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancel_some(struct member *me)
{
    struct victim victims[VICTIMS];
    pthread_t threads[VICTIMS];

    memset(victims, 0, sizeof victims);
    for (unsigned i = 0; i < VICTIMS; i++) {
        victims[i].index = pick(me);
        victims[i].member.number = MEMBERS_MOST + 2 + i;
        victims[i].member.random = next_random(&me->random);
        threads[i] = start_thread(wait_for_ever, &victims[i]);
    }
    for (unsigned i = 0; i < VICTIMS; i++) {
        struct cell *cell = &cells[victims[i].index];
        bool waits;

        do { /* before that, nothing there can be cancelled */
            NOTE(me, either_lock(&cell->lock) == 0);
            waits = victims[i].waits;
            NOTE(me, either_unlock(&cell->lock) == 0);
        } while (!waits && sched_yield() == 0);
        if (next_random(&me->random) % 2)
            wake(cell, true); /* a wake-up and the cancellation meet */
        CHECK_EQUAL(pthread_cancel(threads[i]), 0);
    }
    for (unsigned i = 0; i < VICTIMS; i++) {
        CHECK(end_thread(threads[i]) == PTHREAD_CANCELED);
        CHECK(victims[i].cleaned);
        tell(&victims[i].member);
        me->added[victims[i].index] += victims[i].member.added[victims[i].index];
    }
}

/* Sees to it that every waiter gets a token some day, and that some threads are cancelled. */
static void *give(void *argument)
{
    struct member *me = argument;
    int rounds = 0;

    while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) != member_count) {
        for (unsigned i = 0; i < CELLS; i++)
            give_token(me, &cells[i]);
        if (rounds++ % 64 == 0)
            cancel_some(me);
        tell(me);
        sched_yield();
    }
    return NULL;
}

/* ---- rounds ---- */

static void start_round(uint64_t random)
{
    finished = 0;
    memset(members, 0, sizeof members);
    for (unsigned i = 0; i < CELLS; i++)
        make_cell(&cells[i], (enum cell_kind)(i % CELL_KINDS));
    for (unsigned i = 0; i <= MEMBERS_MOST; i++)
        members[i] = (struct member){.number = i + 1, .random = next_random(&random)};
}

/* What is returned tells this interleaving from others. */
static uint64_t end_round(void)
{
    uint64_t digest = 0;

    for (unsigned i = 0; i < CELLS; i++) {
        long added = 0;

        for (unsigned m = 0; m <= MEMBERS_MOST; m++)
            added += members[m].added[i];
        if (added != cells[i].left) {
            dprintf(STDERR_FILENO,
                    "lock_random: seed %lu: cell %u was entered %ld times, not %ld\n",
                    (unsigned long)seed, i, cells[i].left, added);
            _exit(1);
        }
        digest = (digest ^ cells[i].history) * 0x9e3779b97f4a7c15u;
        expect_at_rest(&cells[i]);
    }
    return digest;
}

static uint64_t do_round(uint64_t work_seed)
{
    pthread_t threads[MEMBERS_MOST], giver;

    start_round(work_seed);
    giver = start_thread(give, &members[MEMBERS_MOST]);
    for (unsigned i = 0; i < member_count; i++)
        threads[i] = start_thread(live, &members[i]);
    for (unsigned i = 0; i < member_count; i++)
        end_thread(threads[i]);
    end_thread(giver);
    return end_round();
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

int main(int count, char **arguments)
{
    static uint64_t digests[SEEDS_MOST];
    uint64_t work_seed = count > 5 ? strtoull(arguments[5], NULL, 0) : 0;
    unsigned seeds = count > 4 ? (unsigned)strtoul(arguments[4], NULL, 0) : 1, different = 0;

    CHECK(count > 2);
    member_count = (unsigned)strtoul(arguments[1], NULL, 0);
    steps = atoi(arguments[2]);
    if (count > 3)
        seed = strtoull(arguments[3], NULL, 0);
    CHECK(member_count >= 1 && member_count <= MEMBERS_MOST && seeds >= 1 && seeds <= SEEDS_MOST);
    printf("seeds %lu to %lu\n", (unsigned long)seed, (unsigned long)(seed + seeds - 1));
    fflush(stdout);
    RTMGRIND_SEED(0); /* once for nothing: code and pages are there when the first seed counts */
    do_round(1);
    for (unsigned i = 0; i < seeds; i++, seed++) {
        RTMGRIND_SEED(seed);
        digests[i] = do_round(work_seed != 0 ? work_seed : seed);
    }
    qsort(digests, seeds, sizeof digests[0], compare);
    for (unsigned i = 0; i < seeds; i++)
        different += i == 0 || digests[i] != digests[i - 1];
    printf("%u seeds, %u different interleavings\n", seeds, different);
    return 0;
}
