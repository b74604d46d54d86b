/*
 * SPDX-License-Identifier: MIT
 *
 * Numerical kernels for the simulated machine, of the kinds that the NAS benchmarks have: how their
 * threads share memory is what matters, and each checks its result. A region of interest is marked
 * (mplace_trace.h) after the first iteration, which warms caches up.
 *
 *   cg   conjugate gradients, sparse matrix with random columns: all threads read one vector
 *   mg   V-cycles of a Poisson problem in three dimensions: neighbours read each other's planes
 *   ft   Fourier transform of a square: each thread transforms rows, then reads all others' columns
 *   is   counting sort: each thread writes its keys between those of all others
 */
#include "harness/options.h"
#include "harness/random.h"
#include "mplace_trace.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_WRONG = 1, EXIT_BAD_ARGUMENT = 2 };
enum { THREADS_MOST = 64, PAIRS = 6, LEVELS_MOST = 8, LEAST_EDGE = 4, DIGIT_BITS = 9 };
enum { BUCKETS = 1 << DIGIT_BITS };

static struct choices {
    const char *kernel;
    uint64_t size, threads, iterations, seed;
} choices = {.threads = 16, .seed = 1};

/* clang-format off */
static const struct command_option options[] = {
    {.name = "kernel", .kind = OPTION_TEXT, .value_name = "NAME", .required = true,
     .target = &choices.kernel, .help = "cg, mg, ft or is"},
    {.name = "size", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 16, .greatest = 1 << 22, .target = &choices.size,
     .help = "rows (cg, default 8192), points of an edge (mg 48, ft 256), keys (is 131072)"},
    {.name = "threads", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 1, .greatest = THREADS_MOST, .target = &choices.threads,
     .help = "threads (default 16)"},
    {.name = "iterations", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 2, .greatest = 1000000, .target = &choices.iterations,
     .help = "iterations, the first of which is outside the region of interest (default cg 6, mg\n"
             "                     and ft 2, is 4)"},
    {.name = "seed", .kind = OPTION_NUMBER, .value_name = "N",
     .least = 0, .greatest = UINT64_MAX, .target = &choices.seed,
     .help = "of the matrix, the field or the keys (default 1)"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

static const char summary[] =
    "Runs a numerical kernel with threads that share its data, and checks the result. It marks a\n"
    "region of interest for mplace trace. Exit status: 0 the result is right, 1 it is not or memory\n"
    "ran out, 2 bad arguments.";
/* clang-format on */

static pthread_barrier_t barrier;
static size_t size;      /* choices.size, or the kernel's own */
static unsigned threads; /* choices.threads */
static struct partial {  /* of each thread, in blocks of their own */
    _Alignas(64) double sum;
} partials[THREADS_MOST];

/* The part of `count` that is a thread's. */
static size_t begin_of(unsigned thread, size_t count)
{
    return count * thread / threads;
}

static void gather(void)
{
    pthread_barrier_wait(&barrier);
}

/* The sum of what all threads give; for all threads. */
static double sum_of(unsigned thread, double own)
{
    double sum = 0;

    partials[thread].sum = own;
    gather();
    for (unsigned t = 0; t < threads; t++)
        sum += partials[t].sum;
    gather();
    return sum;
}

static void *zeroed(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (memory == NULL) {
        fprintf(stderr, "kernels: out of memory\n");
        exit(EXIT_WRONG);
    }
    return memory;
}

/* Between iterations; for all threads. */
static void after_iteration(unsigned thread, uint64_t iteration)
{
    gather();
    if (thread == 0 && iteration == 0)
        mplace_trace_begin();
    if (thread == 0 && iteration == choices.iterations - 1)
        mplace_trace_end();
    gather();
}

/* --- cg: the matrix has a constant diagonal and pairs of other diagonals, far from it --- */

static struct {
    uint32_t *column;
    double *value, *x, *r, *p, *q;
} cg;
enum { NONZEROS = 1 + 2 * PAIRS };

static void cg_prepare(uint64_t *random)
{
    uint64_t distance[PAIRS];

    cg.column = zeroed(size * NONZEROS, sizeof *cg.column);
    cg.value = zeroed(size * NONZEROS, sizeof *cg.value);
    cg.x = zeroed(size, sizeof *cg.x);
    cg.r = zeroed(size, sizeof *cg.r);
    cg.p = zeroed(size, sizeof *cg.p);
    cg.q = zeroed(size, sizeof *cg.q);
    for (int k = 0; k < PAIRS; k++)
        distance[k] = 1 + random_below(random, size - 1);
    for (size_t i = 0; i < size; i++) {
        uint32_t *column = &cg.column[i * NONZEROS];
        double *value = &cg.value[i * NONZEROS];

        column[0] = (uint32_t)i;
        value[0] = 2 * PAIRS + 1;
        for (int k = 0; k < PAIRS; k++) {
            column[1 + 2 * k] = (uint32_t)((i + distance[k]) % size);
            column[2 + 2 * k] = (uint32_t)((i + size - distance[k]) % size);
            value[1 + 2 * k] = value[2 + 2 * k] = -1;
        }
        cg.r[i] = cg.p[i] = (double)random_below(random, 1000) / 1000;
    }
}

static bool cg_run(unsigned thread)
{
    size_t begin = begin_of(thread, size), end = begin_of(thread + 1, size);
    double rr = 0, first;

    for (size_t i = begin; i < end; i++)
        rr += cg.r[i] * cg.r[i];
    first = rr = sum_of(thread, rr);
    for (uint64_t iteration = 0; iteration < choices.iterations; iteration++) {
        double pq = 0, rest = 0, step;

        for (size_t i = begin; i < end; i++) {
            double sum = 0;

            for (size_t k = i * NONZEROS; k < (i + 1) * NONZEROS; k++)
                sum += cg.value[k] * cg.p[cg.column[k]];
            cg.q[i] = sum;
            pq += cg.p[i] * sum;
        }
        step = rr / sum_of(thread, pq);
        for (size_t i = begin; i < end; i++) {
            cg.x[i] += step * cg.p[i];
            cg.r[i] -= step * cg.q[i];
            rest += cg.r[i] * cg.r[i];
        }
        rest = sum_of(thread, rest);
        for (size_t i = begin; i < end; i++)
            cg.p[i] = cg.r[i] + rest / rr * cg.p[i];
        rr = rest;
        after_iteration(thread, iteration);
    }
    return rr < first / 2;
}

/* --- mg: cells of a cube with a border of zeros; a coarse cell is eight fine ones --- */

static struct level {
    size_t edge; /* without the border */
    double *u, *f, *r;
} levels[LEVELS_MOST];
static size_t level_count;

static size_t cell(const struct level *level, size_t z, size_t y, size_t x)
{
    return (z * (level->edge + 2) + y) * (level->edge + 2) + x;
}

static void mg_prepare(uint64_t *random)
{
    for (size_t edge = size; level_count < LEVELS_MOST && edge >= LEAST_EDGE; edge /= 2) {
        struct level *level = &levels[level_count++];
        size_t cells = (edge + 2) * (edge + 2) * (edge + 2);

        level->edge = edge;
        level->u = zeroed(cells, sizeof *level->u);
        level->f = zeroed(cells, sizeof *level->f);
        level->r = zeroed(cells, sizeof *level->r);
        if (edge % 2 != 0)
            break;
    }
    for (int i = 0; i < 20; i++) {
        size_t z = random_below(random, size), y = random_below(random, size);

        levels[0].f[cell(&levels[0], z + 1, y + 1, 1 + random_below(random, size))] =
            i % 2 ? 1 : -1;
    }
}

/* r = f - A u in a thread's planes; gives the sum of its squares. */
static double mg_residual(const struct level *level, unsigned thread)
{
    size_t row = level->edge + 2, plane = row * row;
    double sum = 0;

    for (size_t z = 1 + begin_of(thread, level->edge); z <= begin_of(thread + 1, level->edge); z++)
        for (size_t y = 1; y <= level->edge; y++)
            for (size_t x = 1; x <= level->edge; x++) {
                size_t i = cell(level, z, y, x);
                const double *u = &level->u[i];

                level->r[i] = level->f[i] - 6 * u[0] + u[-1] + u[1] + *(u - row) + u[row] +
                              *(u - plane) + u[plane];
                sum += level->r[i] * level->r[i];
            }
    gather();
    return sum;
}

static void mg_smooth(const struct level *level, unsigned thread)
{
    mg_residual(level, thread);
    for (size_t z = 1 + begin_of(thread, level->edge); z <= begin_of(thread + 1, level->edge); z++)
        for (size_t y = 1; y <= level->edge; y++)
            for (size_t x = 1; x <= level->edge; x++)
                level->u[cell(level, z, y, x)] += level->r[cell(level, z, y, x)] / 7;
    gather();
}

/* Eight fine cells to each coarse one, or a coarse one to each of its eight. */
static void mg_between(const struct level *fine, const struct level *coarse, unsigned thread,
                       bool up)
{
    size_t end = begin_of(thread + 1, coarse->edge);

    for (size_t z = 1 + begin_of(thread, coarse->edge); z <= end; z++)
        for (size_t y = 1; y <= coarse->edge; y++)
            for (size_t x = 1; x <= coarse->edge; x++) {
                size_t to = cell(coarse, z, y, x);
                double sum = 0;

                for (int k = 0; k < 8; k++) {
                    size_t from =
                        cell(fine, 2 * z - (k >> 2 & 1), 2 * y - (k >> 1 & 1), 2 * x - (k & 1));

                    if (up)
                        fine->u[from] += coarse->u[to];
                    else
                        sum += fine->r[from];
                }
                if (!up) {
                    coarse->f[to] = sum / 2; /* the mean, for cells of twice the width */
                    coarse->u[to] = 0;
                }
            }
    gather();
}

static bool mg_run(unsigned thread)
{
    double first = sum_of(thread, mg_residual(&levels[0], thread));

    for (uint64_t iteration = 0; iteration < choices.iterations; iteration++) {
        for (size_t l = 0; l + 1 < level_count; l++) {
            mg_smooth(&levels[l], thread);
            mg_residual(&levels[l], thread);
            mg_between(&levels[l], &levels[l + 1], thread, false);
        }
        for (size_t l = level_count; l-- > 0;) {
            if (l + 1 < level_count)
                mg_between(&levels[l], &levels[l + 1], thread, true);
            mg_smooth(&levels[l], thread);
        }
        after_iteration(thread, iteration);
    }
    return sum_of(thread, mg_residual(&levels[0], thread)) < first / 2;
}

/* --- ft: iterations go forth and back, so that an even number gives the first values --- */

static double complex *ft_from, *ft_to, *ft_roots;

static void ft_prepare(uint64_t *random)
{
    ft_from = zeroed(size * size, sizeof *ft_from);
    ft_to = zeroed(size * size, sizeof *ft_to);
    ft_roots = zeroed(size / 2, sizeof *ft_roots);
    for (size_t i = 0; i < size / 2; i++)
        ft_roots[i] = cexp(-2 * I * acos(-1) * (double)i / (double)size);
    for (size_t i = 0; i < size * size; i++)
        ft_from[i] = (double)random_below(random, 1000) / 1000;
}

static void ft_row(double complex *row, bool back)
{
    for (size_t i = 1, j = 0; i < size; i++) {
        size_t bit = size / 2;

        for (; j & bit; bit /= 2)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex swap = row[i];

            row[i] = row[j];
            row[j] = swap;
        }
    }
    for (size_t half = 1; half < size; half *= 2)
        for (size_t at = 0; at < size; at += 2 * half)
            for (size_t k = 0; k < half; k++) {
                double complex root = ft_roots[k * (size / 2 / half)];
                double complex odd = row[at + half + k] * (back ? conj(root) : root);

                row[at + half + k] = row[at + k] - odd;
                row[at + k] += odd;
            }
}

static bool ft_run(unsigned thread)
{
    size_t begin = begin_of(thread, size), end = begin_of(thread + 1, size);
    double energy[2] = {0};

    for (uint64_t iteration = 0; iteration < choices.iterations; iteration++) {
        for (int half = 0; half < 2; half++) {
            double complex *from = half ? ft_to : ft_from, *to = half ? ft_from : ft_to;

            for (size_t i = begin; i < end; i++)
                ft_row(&from[i * size], iteration % 2 != 0);
            gather();
            for (size_t i = begin; i < end; i++)
                for (size_t j = 0; j < size; j++)
                    to[i * size + j] = from[j * size + i] / (double)size;
            gather();
        }
        if (iteration < 2) {
            for (size_t i = begin * size; i < end * size; i++)
                energy[iteration] += creal(ft_from[i] * conj(ft_from[i]));
            energy[iteration] = sum_of(thread, energy[iteration]);
        }
        after_iteration(thread, iteration);
    }
    /* Parseval: the squares of the values are those of the transform. */
    return fabs(energy[0] / energy[1] - (double)size * (double)size) < 1e-6 * (double)(size * size);
}

/* --- is: an iteration sorts by one of two digits, the lower one first --- */

static uint32_t *is_from, *is_to, (*is_counts)[BUCKETS];
static uint64_t is_sum;

static void is_prepare(uint64_t *random)
{
    is_from = zeroed(size, sizeof *is_from);
    is_to = zeroed(size, sizeof *is_to);
    is_counts = zeroed(threads, sizeof *is_counts);
    for (size_t i = 0; i < size; i++)
        is_sum += is_from[i] = (uint32_t)random_below(random, 1u << 2 * DIGIT_BITS);
}

static bool is_run(unsigned thread)
{
    size_t begin = begin_of(thread, size), end = begin_of(thread + 1, size);
    uint32_t *from = is_from, *to = is_to;

    for (uint64_t iteration = 0; iteration < choices.iterations; iteration++) {
        unsigned shift = iteration % 2 * DIGIT_BITS;
        uint32_t place[BUCKETS], *swap = from, before = 0;

        memset(is_counts[thread], 0, sizeof is_counts[thread]);
        for (size_t i = begin; i < end; i++)
            is_counts[thread][from[i] >> shift & (BUCKETS - 1)]++;
        gather();
        for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
            for (unsigned t = 0; t < threads; t++) {
                if (t == thread)
                    place[bucket] = before;
                before += is_counts[t][bucket];
            }
        for (size_t i = begin; i < end; i++)
            to[place[from[i] >> shift & (BUCKETS - 1)]++] = from[i];
        from = to;
        to = swap;
        after_iteration(thread, iteration);
    }
    if (thread != 0)
        return true;
    for (size_t i = 0; i < size; i++) {
        is_sum -= from[i];
        if (i > 0 && choices.iterations % 2 == 0 && from[i - 1] > from[i])
            return false;
    }
    return is_sum == 0;
}

/* --- the threads --- */

static const struct kernel {
    const char *name;
    size_t size;
    uint64_t iterations;
    void (*prepare)(uint64_t *random);
    bool (*run)(unsigned thread); /* by each thread; whether the result is right */
} kernels[] = {
    {"cg", 8192, 6, cg_prepare, cg_run},
    {"mg", 48, 2, mg_prepare, mg_run},
    {"ft", 256, 2, ft_prepare, ft_run},
    {"is", 131072, 4, is_prepare, is_run},
};
static const struct kernel *kernel;

static void *work(void *argument)
{
    return kernel->run((unsigned)(uintptr_t)argument) ? argument : &barrier;
}

static int complain(int status, const char *text)
{
    fprintf(stderr, "kernels: %s\n", text);
    return status;
}

int main(int argc, char **argv)
{
    int status;
    pthread_t others[THREADS_MOST];
    bool right;
    uint64_t random;
    void *result;

    if (!options_read("kernels", summary, options, OPTION_COUNT, argc, argv, &status))
        return status;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, choices.kernel) == 0)
            kernel = &kernels[i];
    if (kernel == NULL)
        return complain(EXIT_BAD_ARGUMENT, "--kernel: cg, mg, ft or is");
    size = choices.size != 0 ? choices.size : kernel->size;
    choices.iterations = choices.iterations != 0 ? choices.iterations : kernel->iterations;
    if (kernel->run == ft_run && ((size & (size - 1)) != 0 || size > 4096))
        return complain(EXIT_BAD_ARGUMENT, "--size: a power of two up to 4096 for ft");
    if (kernel->run == mg_run && size > 512)
        return complain(EXIT_BAD_ARGUMENT, "--size: up to 512 for mg");
    threads = (unsigned)choices.threads;
    random = choices.seed;
    kernel->prepare(&random);
    if (pthread_barrier_init(&barrier, NULL, threads) != 0)
        return complain(EXIT_WRONG, "there is no barrier for so many threads");
    for (unsigned t = 1; t < threads; t++)
        if (pthread_create(&others[t], NULL, work, (void *)(uintptr_t)t) != 0)
            return complain(EXIT_WRONG, "a thread cannot be made");
    right = work(NULL) == NULL;
    for (unsigned t = 1; t < threads; t++) {
        pthread_join(others[t], &result);
        right = right && result != &barrier;
    }
    printf("%s: the result is %s\n", kernel->name, right ? "right" : "wrong");
    return options_end("kernels", right ? EXIT_SUCCESS : EXIT_WRONG);
}
