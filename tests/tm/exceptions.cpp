/*
 * SPDX-License-Identifier: MIT
 *
 * Random C++ exceptions in transactions against a model. usage: tm_exceptions FIRST_SEED SEEDS
 *
 * Each thread has cells of its own, in blocks that lie between those of the other threads and freed
 * ones that exceptions take. Its transactions add to cells, throw and catch small and large
 * exceptions, throw one while another is handled, and do it again in nested transactions, of which
 * some are cancelled and some left by an exception. Afterwards every cell must have what the same
 * steps leave in an array, and no exception may be on its way.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <pthread.h>

namespace
{

enum { THREADS = 2, CELLS = 6, STEPS = 10, TRANSACTIONS = 30, SMALL = 72, LARGE = 1872 };

/* What __cxa_allocate_exception puts before the object. */
enum { HEADER = 128 };

enum step_kind {
    ADD,
    THROW_SMALL,
    THROW_LARGE,
    THROW_TWICE,
    NEST,
    NEST_CANCELLED,
    NEST_LEFT,
    KINDS
};

struct step {
    step_kind kind;
    unsigned cell, inside; /* of NEST: so many of the next steps are inside */
    long value;
};

struct small {
    char bytes[SMALL];
    long value;
};
struct large {
    char bytes[LARGE];
    long value;
};

struct worker {
    long *cells[CELLS];
    uint64_t random;
    bool failed;
};

uint64_t draw(uint64_t &state)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- transactions ---- */

__attribute__((transaction_safe, noinline)) void add(long *cell, long value)
{
    *cell += value;
}

__attribute__((transaction_safe, noinline)) void throw_one(bool is_large)
{
    if (is_large)
        throw large();
    throw small();
}

/* gcc 12 cannot compile handlers of a type in transactions. */
__attribute__((transaction_safe, noinline)) void catch_one(long *cell, long value, bool is_large)
{
    try {
        add(cell, value);
        throw_one(is_large);
    } catch (...) {
        add(cell, 1);
    }
}

__attribute__((transaction_safe, noinline)) void catch_two(long *cell, long value)
{
    try {
        throw_one(false);
    } catch (...) {
        catch_one(cell, value, true);
        add(cell, 2);
    }
}

__attribute__((transaction_safe)) void do_steps(long **cells, const step *steps, unsigned count);

__attribute__((transaction_safe, noinline)) void nest(long **cells, const step *steps,
                                                      unsigned count, bool cancel)
{
    __transaction_atomic
    {
        do_steps(cells, steps, count);
        if (cancel)
            __transaction_cancel;
    }
}

__attribute__((transaction_safe, noinline)) void leave(long **cells, const step *steps,
                                                       unsigned count, long *cell)
{
    try {
        __transaction_atomic
        {
            do_steps(cells, steps, count);
            throw_one(true);
        }
    } catch (...) {
        add(cell, 3);
    }
}

__attribute__((transaction_safe)) void do_steps(long **cells, const step *steps, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const step *now = &steps[i];
        long *cell = cells[now->cell];

        switch (now->kind) {
        case ADD:
            add(cell, now->value);
            break;
        case THROW_SMALL:
            catch_one(cell, now->value, false);
            break;
        case THROW_LARGE:
            catch_one(cell, now->value, true);
            break;
        case THROW_TWICE:
            catch_two(cell, now->value);
            break;
        case NEST_LEFT:
            leave(cells, now + 1, now->inside, cell);
            break;
        default:
            nest(cells, now + 1, now->inside, now->kind == NEST_CANCELLED);
        }
        i += now->inside;
    }
}

/* ---- the model ---- */

void model(long *cells, const step *steps, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const step &now = steps[i];
        long before[CELLS];

        memcpy(before, cells, sizeof before);
        if (now.kind < NEST)
            cells[now.cell] += now.value;
        else
            model(cells, steps + i + 1, now.inside);
        if (now.kind == NEST_CANCELLED)
            memcpy(cells, before, sizeof before);
        cells[now.cell] += now.kind == NEST_LEFT || now.kind == THROW_TWICE
                               ? 3
                               : now.kind == THROW_SMALL || now.kind == THROW_LARGE;
        i += now.inside;
    }
}

void plan(uint64_t &random, step *steps, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        step &now = steps[i];

        now.kind = static_cast<step_kind>(draw(random) % KINDS);
        now.cell = draw(random) % CELLS;
        now.value = static_cast<long>(draw(random) % 1000);
        now.inside = now.kind < NEST ? 0 : draw(random) % (count - i);
        plan(random, &now + 1, now.inside);
        i += now.inside;
    }
}

void *work(void *argument)
{
    worker *self = static_cast<worker *>(argument);
    long expected[CELLS] = {0};
    step steps[STEPS];

    for (unsigned turn = 0; turn < TRANSACTIONS; turn++) {
        bool cancel = draw(self->random) % 4 == 0;

        plan(self->random, steps, STEPS);
        __transaction_atomic
        {
            do_steps(self->cells, steps, STEPS);
            if (cancel)
                __transaction_cancel;
        }
        if (!cancel)
            model(expected, steps, STEPS);
        for (unsigned i = 0; i < CELLS; i++)
            self->failed |= *self->cells[i] != expected[i];
        self->failed |= std::uncaught_exceptions() != 0 || std::current_exception() != nullptr;
    }
    return nullptr;
}

bool one_seed(uint64_t seed)
{
    static worker workers[THREADS];
    pthread_t threads[THREADS];
    void *spare[THREADS * CELLS];
    unsigned used = 0;
    bool failed = false;

    for (unsigned cell = 0; cell < CELLS; cell++) {
        for (worker &one : workers) {
            one.cells[cell] = static_cast<long *>(calloc(1, sizeof(long)));
            spare[used] = malloc(HEADER + (used % 2 == 0 ? sizeof(small) : sizeof(large)));
            used++;
        }
    }
    while (used > 0)
        free(spare[--used]);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].random = seed * THREADS + i;
        workers[i].failed = false;
    }
    /* The first one alone before the others, for its blocks are in its thread's cache. */
    work(&workers[0]);
    for (unsigned i = 1; i < THREADS; i++)
        pthread_create(&threads[i], nullptr, work, &workers[i]);
    for (long *cell : workers[0].cells)
        *cell = 0;
    work(&workers[0]);
    for (unsigned i = 1; i < THREADS; i++)
        pthread_join(threads[i], nullptr);
    for (worker &one : workers) {
        failed |= one.failed;
        for (long *cell : one.cells)
            free(cell);
    }
    return !failed;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: tm_exceptions FIRST_SEED SEEDS\n");
        return 2;
    }
    uint64_t first = strtoul(argv[1], nullptr, 10), count = strtoul(argv[2], nullptr, 10);
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (!one_seed(seed)) {
            fprintf(stderr, "seed %lu: a cell has not what the steps left\n", seed);
            return 1;
        }
    }
    return 0;
}
