/*
 * SPDX-License-Identifier: MIT
 *
 * STREAM: copy, scale, add and triad over three arrays of doubles, of which each worker has its
 * part. As there, a kernel's bandwidth is that of its best round, and the arrays are checked
 * against the same operations on one number.
 */
#include "workload.h"

#include <omp.h>

enum { DOUBLES = PAGE_BYTES / sizeof(double), KERNELS = 4, ARRAYS = 3 };

static const double scalar = 3;
static const struct {
    const char *name;
    unsigned arrays; /* that it reads or writes */
} kernels[KERNELS] = {{"copy", 2}, {"scale", 2}, {"add", 3}, {"triad", 3}};

static struct part {
    _Alignas(64) struct pages a, b, c;
    size_t count; /* doubles */
} parts[TEAM_MOST];
static double best[KERNELS]; /* seconds */

static bool check(const struct plan *plan)
{
    return plan->size % sizeof(double) == 0 && plan->size >= sizeof(double) * plan->team->workers;
}

static double *page_of(const struct pages *pages, size_t page)
{
    return (double *)(void *)pages->page[page];
}

static bool allocate(const struct plan *plan, const struct worker *worker)
{
    struct part *part = &parts[worker->number];
    size_t doubles = plan->size / sizeof(double), pages;

    part->count =
        share_begin(plan, worker->number + 1, doubles) - share_begin(plan, worker->number, doubles);
    pages = pages_for(part->count * sizeof(double));
    if (!pages_take(&part->a, plan, worker, 0, pages) ||
        !pages_take(&part->b, plan, worker, pages, pages) ||
        !pages_take(&part->c, plan, worker, 2 * pages, pages))
        return false;
    for (size_t i = 0; i < part->count; i++) {
        page_of(&part->a, i / DOUBLES)[i % DOUBLES] = 1;
        page_of(&part->b, i / DOUBLES)[i % DOUBLES] = 2;
        page_of(&part->c, i / DOUBLES)[i % DOUBLES] = 0;
    }
    return true;
}

static void run_kernel(const struct part *part, unsigned kernel)
{
    for (size_t page = 0, left = part->count; left > 0; page++) {
        double *a = page_of(&part->a, page), *b = page_of(&part->b, page),
               *c = page_of(&part->c, page);
        size_t now = left < DOUBLES ? left : DOUBLES;

        left -= now;
        switch (kernel) {
        case 0:
            for (size_t i = 0; i < now; i++)
                c[i] = a[i];
            break;
        case 1:
            for (size_t i = 0; i < now; i++)
                b[i] = scalar * c[i];
            break;
        case 2:
            for (size_t i = 0; i < now; i++)
                c[i] = a[i] + b[i];
            break;
        default:
            for (size_t i = 0; i < now; i++)
                a[i] = b[i] + scalar * c[i];
        }
    }
}

static void round_of(const struct plan *plan, const struct worker *worker, uint64_t number)
{
    for (unsigned kernel = 0; kernel < KERNELS; kernel++) {
        double begun = omp_get_wtime(), passed;

        run_kernel(&parts[worker->number], kernel);
        team_gather(plan->team, worker);
        passed = omp_get_wtime() - begun;
        if (worker->number == 0 && number >= plan->warm &&
            (number == plan->warm || passed < best[kernel]))
            best[kernel] = passed;
    }
}

static bool is_about(double value, double expected)
{
    double off = value > expected ? value - expected : expected - value;

    return off <= 1e-13 * expected;
}

static bool part_is_right(const struct part *part, const double *expected)
{
    for (size_t i = 0; i < part->count; i++) {
        if (!is_about(page_of(&part->a, i / DOUBLES)[i % DOUBLES], expected[0]) ||
            !is_about(page_of(&part->b, i / DOUBLES)[i % DOUBLES], expected[1]) ||
            !is_about(page_of(&part->c, i / DOUBLES)[i % DOUBLES], expected[2]))
            return false;
    }
    return true;
}

static bool verify(const struct plan *plan, struct outcome *outcome)
{
    double expected[ARRAYS] = {1, 2, 0};
    bool right = true;
    int written = 0;

    for (uint64_t i = 0; i < plan->warm + plan->rounds; i++) {
        expected[2] = expected[0];
        expected[1] = scalar * expected[2];
        expected[2] = expected[0] + expected[1];
        expected[0] = expected[1] + scalar * expected[2];
    }
    for (unsigned i = 0; i < plan->team->workers; i++)
        right = right && part_is_right(&parts[i], expected);
    for (unsigned i = 0; i < KERNELS; i++) {
        double rate = 1e-6 * kernels[i].arrays * (double)plan->size / best[i];

        written += snprintf(outcome->details + written, sizeof outcome->details - (size_t)written,
                            "%s%s=%.1f", i == 0 ? "" : ";", kernels[i].name, rate);
        if (i == 2)
            outcome->rate = rate;
    }
    outcome->nodes = plan->size / sizeof(double);
    return right;
}

static void print(const struct worker *worker, FILE *file)
{
    pages_print(&parts[worker->number].a, worker, file);
    pages_print(&parts[worker->number].b, worker, file);
    pages_print(&parts[worker->number].c, worker, file);
}

const struct workload stream = {
    .name = "stream",
    .unit = "MB/s",
    .size = 16 << 20,
    .rounds = 10,
    .check = check,
    .allocate = allocate,
    .round = round_of,
    .verify = verify,
    .print = print,
};
