/*
 * SPDX-License-Identifier: MIT
 *
 * Random transactions against an oracle. usage: tm_random FIRST_SEED SEEDS
 *
 * Threads read and write bytes of shared arenas in pieces of any size and place, in transactions
 * with nested ones of which some are cancelled. Each transaction draws a number in its arena, and
 * notes what it read. Afterwards the transactions are done once more, one after the other in the
 * order of their numbers, on a model: each must read there what it has read. The number is drawn
 * first, last, or read first and written last.
 *
 * Meanwhile blocks are published, read, filled, replaced, freed, and taken out and written to
 * without a transaction. A block's bytes are equal whenever a transaction can see it; one that sees
 * others, though it may never commit, is an error. And what a transaction has for itself, a new
 * block and locals, must be what it wrote there.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENAS = 2,
    ARENA = 192,
    OPS = 12,
    TRANSACTIONS = 40,
    THREADS_MOST = 8,
    PIECE_MOST = 24,
    SLOTS = 4,
    BLOCK = 96,
    WAYS_MOST = 100, /* without aborts at most 13 */
};

enum kind { READ, WRITE, COPY, SET, YIELD, NEST, NEST_CANCELLED, KINDS };

struct op {
    enum kind kind;
    unsigned offset, from, size; /* NEST: size is the number of operations inside */
    uint64_t value;
};

/* When a transaction draws its number: any moment will do. */
enum drawing { FIRST, LAST, READ_FIRST_WRITTEN_LAST, DRAWINGS };

struct transaction {
    unsigned arena;
    enum drawing drawing;
    uint64_t number;
    struct op ops[OPS];
    unsigned char seen[OPS][PIECE_MOST]; /* of READ */
};

struct arena {
    uint64_t next; /* number */
    unsigned char bytes[ARENA];
};

static struct arena arenas[ARENAS];
static unsigned char *slots[SLOTS];
static struct transaction (*plans)[TRANSACTIONS];
static unsigned threads;
static pthread_barrier_t everybody;
static uint64_t seed;
static int failed;
static __thread unsigned ways_given; /* in aborted attempts, too */

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static unsigned below(uint64_t *state, unsigned bound)
{
    return (unsigned)(draw(state) % bound);
}

/* ---- what transactions do ---- */

__attribute__((transaction_pure)) static void note(unsigned char *seen, unsigned at, uint64_t value,
                                                   unsigned size)
{
    memcpy(seen + at, &value, size);
}

__attribute__((transaction_pure)) static void complain(const char *what)
{
    if (__atomic_exchange_n(&failed, 1, __ATOMIC_RELAXED) == 0)
        fprintf(stderr, "seed %lu: %s\n", seed, what);
}

/*
 * Another thread may run here. Not without bound: threads of one processor that yield at the same
 * places each time may abort each other for ever, where no contention manager ends it.
 */
__attribute__((transaction_pure)) static void give_way(void)
{
    if (ways_given == WAYS_MOST)
        return;
    ways_given++;
    sched_yield();
}

typedef uint16_t any_16 __attribute__((aligned(1), may_alias));
typedef uint32_t any_32 __attribute__((aligned(1), may_alias));
typedef uint64_t any_64 __attribute__((aligned(1), may_alias));

__attribute__((transaction_safe)) static void read_piece(const unsigned char *from, unsigned size,
                                                         unsigned char *seen)
{
    unsigned at = 0;

    while (size - at >= 8) {
        note(seen, at, *(const any_64 *)(from + at), 8);
        at += 8;
    }
    if (size - at >= 4) {
        note(seen, at, *(const any_32 *)(from + at), 4);
        at += 4;
    }
    if (size - at >= 2) {
        note(seen, at, *(const any_16 *)(from + at), 2);
        at += 2;
    }
    if (size - at >= 1)
        note(seen, at, from[at], 1);
}

__attribute__((transaction_safe)) static void write_piece(unsigned char *to, unsigned size,
                                                          uint64_t value)
{
    switch (size) {
    case 1:
        *to = (unsigned char)value;
        break;
    case 2:
        *(any_16 *)to = (uint16_t)value;
        break;
    case 4:
        *(any_32 *)to = (uint32_t)value;
        break;
    default:
        *(any_64 *)to = value;
    }
}

__attribute__((transaction_safe)) static void do_ops(struct arena *arena, struct transaction *plan,
                                                     unsigned from, unsigned to);

__attribute__((transaction_safe)) static void
do_nested(struct arena *arena, struct transaction *plan, unsigned from, unsigned to, int cancel)
{
    __transaction_atomic
    {
        do_ops(arena, plan, from, to);
        if (cancel)
            __transaction_cancel;
    }
}

__attribute__((transaction_safe)) static void do_ops(struct arena *arena, struct transaction *plan,
                                                     unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        const struct op *op = &plan->ops[i];
        unsigned char *at = arena->bytes + op->offset;

        switch (op->kind) {
        case READ:
            read_piece(at, op->size, plan->seen[i]);
            break;
        case WRITE:
            write_piece(at, op->size, op->value);
            break;
        case COPY:
            memmove(at, arena->bytes + op->from, op->size);
            break;
        case SET:
            memset(at, (int)op->value, op->size);
            break;
        case YIELD:
            give_way();
            break;
        default:
            do_nested(arena, plan, i + 1, i + 1 + op->size, op->kind == NEST_CANCELLED);
            i += op->size;
        }
    }
}

/* ---- blocks ---- */

__attribute__((transaction_safe)) static void look_at(const unsigned char *block)
{
    unsigned char first = block[0];

    if (first & 1)
        give_way();
    for (unsigned i = 1; i < BLOCK; i += 7) {
        if (block[i] != first)
            complain("a transaction saw a block that was not as any commit had left it");
    }
}

static void replace(unsigned slot, unsigned char byte)
{
    __transaction_atomic
    {
        unsigned char *old = slots[slot];
        unsigned char *new = malloc(BLOCK);

        for (unsigned i = 0; i < BLOCK; i++)
            new[i] = byte;
        if (old != NULL)
            look_at(old);
        slots[slot] = new;
        free(old);
    }
}

static void look(unsigned slot)
{
    __transaction_atomic
    {
        if (slots[slot] != NULL)
            look_at(slots[slot]);
    }
}

/* In place: half of it can be seen only where a read looks at no lock. */
static void fill(unsigned slot, unsigned char byte)
{
    __transaction_atomic
    {
        unsigned char *block = slots[slot];

        for (unsigned i = 0; block != NULL && i < BLOCK; i++) {
            block[i] = byte;
            if (i == BLOCK / 2 && byte & 1)
                give_way();
        }
    }
}

static void take_out_and_put_back(unsigned slot, unsigned char byte)
{
    unsigned char *mine = NULL;

    __transaction_atomic
    {
        mine = slots[slot];
        slots[slot] = NULL;
    }
    if (mine == NULL)
        return;
    for (unsigned i = 1; i < BLOCK; i++)
        ((volatile unsigned char *)mine)[i] = (unsigned char)(byte + i);
    memset(mine, byte, BLOCK);
    __transaction_atomic
    {
        unsigned char *other = slots[slot];

        slots[slot] = mine;
        free(other);
    }
}

/* Reads it by one transaction and uses it after: others must not write to it any more. */
static void take_out_and_look(unsigned slot)
{
    unsigned char *mine = NULL;

    __transaction_atomic
    {
        mine = slots[slot];
        slots[slot] = NULL;
    }
    if (mine == NULL)
        return;
    for (unsigned i = 1; i < BLOCK; i++) {
        if (((volatile unsigned char *)mine)[i] != mine[0])
            complain("a block changed after it was taken out");
    }
    free(mine);
}

/* ---- memory of the transaction's own ---- */

/* gcc knows that it keeps no pointer, so the caller uses no barriers for its block, as long as that
 * goes to no other function: it is not freed, and use_own_memory is not inlined. */
__attribute__((transaction_safe, noinline)) static void add(unsigned char *to, unsigned char value)
{
    *to = (unsigned char)(*to + value);
}

/* In frames that are gone when another such call writes to the same ones. */
__attribute__((transaction_safe, noinline)) static unsigned char in_a_frame(unsigned char byte)
{
    unsigned char local[BLOCK];

    memset(local, byte, BLOCK);
    for (unsigned i = 0; i < BLOCK; i += 11)
        add(&local[i], 1);
    return (unsigned char)(local[0] + local[1]);
}

__attribute__((noinline)) static void use_own_memory(unsigned slot, unsigned char byte)
{
    unsigned char got = 0, local = byte;

    __transaction_atomic
    {
        unsigned char *block = malloc(BLOCK);

        *block = byte;
        add(block, 1);
        got = *block;
        *block = (unsigned char)(got + 1);
        add(block, in_a_frame(byte));
        got = *block;
    }
    __transaction_atomic
    {
        add(&local, in_a_frame(byte));
        if (slots[slot] != NULL)
            look_at(slots[slot]);
        add(&local, in_a_frame(0));
    }
    if (got != (unsigned char)(3 * byte + 3) || local != (unsigned char)(3 * byte + 2))
        complain("a transaction did not find in its own memory what it had written");
}

/* ---- flags ---- */

static struct {
    int up __attribute__((aligned(128)));
} flags[2];

/* Each is put up only while the other is down: two transactions that do it at once read what the
 * other writes, and write what it does not. */
static void put_up_one(unsigned which)
{
    __transaction_atomic
    {
        int other = flags[!which].up;

        give_way();
        if (!other)
            flags[which].up = 1;
    }
    __transaction_atomic
    {
        if (flags[0].up && flags[1].up)
            complain("two flags are up, of which each transaction puts up one");
    }
    __transaction_atomic
    {
        flags[which].up = 0;
    }
}

/* ---- threads ---- */

static void *run(void *argument)
{
    struct transaction *plan = *(struct transaction(*)[TRANSACTIONS])argument;
    uint64_t state = seed * 64 + (uint64_t)(plan - plans[0]);

    pthread_barrier_wait(&everybody);
    for (unsigned i = 0; i < TRANSACTIONS; i++) {
        struct transaction *now = &plan[i];
        struct arena *arena = &arenas[now->arena];
        uint64_t number = 0;
        unsigned slot = below(&state, SLOTS);

        ways_given = 0;
        __transaction_atomic
        {
            if (now->drawing != LAST)
                number = arena->next;
            if (now->drawing == FIRST)
                arena->next = number + 1;
            do_ops(arena, now, 0, OPS);
            if (now->drawing == LAST)
                number = arena->next;
            if (now->drawing != FIRST)
                arena->next = number + 1;
        }
        now->number = number;
        switch (below(&state, 7)) {
        case 0:
            replace(slot, (unsigned char)draw(&state));
            break;
        case 1:
            take_out_and_put_back(slot, (unsigned char)draw(&state));
            break;
        case 2:
            take_out_and_look(slot);
            break;
        case 3:
            fill(slot, (unsigned char)draw(&state));
            break;
        case 4:
            put_up_one(slot % 2);
            break;
        case 5:
            use_own_memory(slot, (unsigned char)draw(&state));
            break;
        default:
            look(slot);
        }
    }
    return NULL;
}

/* ---- the plan and the model ---- */

static void plan_ops(uint64_t *state, struct op *ops, unsigned count)
{
    static const unsigned sizes[] = {1, 2, 4, 8};

    for (unsigned i = 0; i < count; i++) {
        struct op *op = &ops[i];

        op->kind = (enum kind)below(state, KINDS);
        op->value = draw(state);
        if (op->kind >= NEST) {
            op->size = below(state, count - i);
            plan_ops(state, op + 1, op->size);
            i += op->size;
            continue;
        }
        op->size = op->kind == WRITE ? sizes[below(state, 4)] : 1 + below(state, PIECE_MOST);
        op->offset = below(state, ARENA - op->size);
        op->from = below(state, ARENA - op->size);
    }
}

static int model_ops(unsigned char *bytes, const struct transaction *plan, unsigned from,
                     unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        const struct op *op = &plan->ops[i];
        unsigned char before[ARENA];

        switch (op->kind) {
        case READ:
            if (memcmp(bytes + op->offset, plan->seen[i], op->size) != 0)
                return 0;
            break;
        case WRITE:
            memcpy(bytes + op->offset, &op->value, op->size);
            break;
        case COPY:
            memmove(bytes + op->offset, bytes + op->from, op->size);
            break;
        case SET:
            memset(bytes + op->offset, (int)op->value, op->size);
            break;
        case YIELD:
            break;
        default:
            memcpy(before, bytes, ARENA);
            if (!model_ops(bytes, plan, i + 1, i + 1 + op->size))
                return 0;
            if (op->kind == NEST_CANCELLED)
                memcpy(bytes, before, ARENA);
            i += op->size;
        }
    }
    return 1;
}

static const struct transaction *find(unsigned arena, uint64_t number)
{
    for (unsigned t = 0; t < threads; t++) {
        for (unsigned i = 0; i < TRANSACTIONS; i++) {
            if (plans[t][i].arena == arena && plans[t][i].number == number)
                return &plans[t][i];
        }
    }
    return NULL;
}

static void check(void)
{
    for (unsigned a = 0; a < ARENAS; a++) {
        unsigned char bytes[ARENA] = {0};

        for (uint64_t number = 0; number < arenas[a].next; number++) {
            const struct transaction *plan = find(a, number);

            if (plan == NULL)
                complain("two transactions drew one number");
            else if (!model_ops(bytes, plan, 0, OPS))
                complain("a transaction read what no order of transactions explains");
        }
        if (memcmp(bytes, arenas[a].bytes, ARENA) != 0)
            complain("memory is not what the transactions left");
    }
}

static void one_seed(void)
{
    uint64_t state = seed;
    pthread_t ids[THREADS_MOST];

    threads = 2 + below(&state, THREADS_MOST - 1);
    plans = calloc(threads, sizeof *plans);
    memset(arenas, 0, sizeof arenas);
    for (unsigned t = 0; t < threads; t++) {
        for (unsigned i = 0; i < TRANSACTIONS; i++) {
            plans[t][i].arena = below(&state, ARENAS);
            plans[t][i].drawing = (enum drawing)below(&state, DRAWINGS);
            plan_ops(&state, plans[t][i].ops, OPS);
        }
    }
    pthread_barrier_init(&everybody, NULL, threads);
    for (unsigned t = 0; t < threads; t++)
        pthread_create(&ids[t], NULL, run, &plans[t]);
    for (unsigned t = 0; t < threads; t++)
        pthread_join(ids[t], NULL);
    pthread_barrier_destroy(&everybody);
    check();
    free(plans);
    for (unsigned s = 0; s < SLOTS; s++) {
        free(slots[s]);
        slots[s] = NULL;
    }
}

int main(int argc, char **argv)
{
    uint64_t first, count;

    if (argc != 3) {
        fprintf(stderr, "usage: tm_random FIRST_SEED SEEDS\n");
        return 2;
    }
    first = strtoul(argv[1], NULL, 10);
    count = strtoul(argv[2], NULL, 10);
    for (seed = first; seed < first + count && !failed; seed++)
        one_seed();
    return failed;
}
