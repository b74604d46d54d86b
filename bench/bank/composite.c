/*
 * SPDX-License-Identifier: MIT
 *
 * The composite benchmark: each worker has an array of its own and sorts it with bubble sort, as
 * bsort100 of the Maelardalen suite does. A round is a pass: it moves the greatest number that is
 * not in its place there. After so many passes the end of the array is sorted, and nothing before
 * it is greater.
 */
#include "workload.h"

#include "harness/random.h"

#include <limits.h>
#include <stdlib.h>

enum { NUMBERS = PAGE_BYTES / sizeof(int) };

static struct part {
    _Alignas(64) struct pages array;
    uint64_t sum;
} parts[TEAM_MOST];

static size_t numbers_of(const struct plan *plan)
{
    return plan->size / sizeof(int);
}

static bool check(const struct plan *plan)
{
    return plan->size % PAGE_BYTES == 0;
}

static bool allocate(const struct plan *plan, const struct worker *worker)
{
    struct part *part = &parts[worker->number];
    uint64_t random = plan->seed + worker->number;

    if (!pages_take(&part->array, plan, worker, 0, plan->size / PAGE_BYTES))
        return false;
    part->sum = 0;
    for (size_t i = 0; i < numbers_of(plan); i++) {
        int value = (int)random_below(&random, INT_MAX);

        ((int *)(void *)part->array.page[i / NUMBERS])[i % NUMBERS] = value;
        part->sum += (uint64_t)value;
    }
    return true;
}

/* Neighbours in one page, and *greatest of what came before it. */
static void pass_page(int *restrict page, size_t count, int **greatest)
{
    int *at = *greatest;

    for (size_t i = 0; i < count; i++) {
        if (*at > page[i]) {
            int swap = *at;

            *at = page[i];
            page[i] = swap;
        }
        at = &page[i];
    }
    *greatest = at;
}

static void pass(const struct plan *plan, const struct worker *worker, uint64_t number)
{
    size_t left = numbers_of(plan);
    struct part *part;
    int *at;

    if (number >= left)
        return;
    left -= number;
    part = &parts[worker->number];
    at = (int *)(void *)part->array.page[0];
    for (size_t i = 0; left > 0; i++) {
        size_t now = left < NUMBERS ? left : NUMBERS;

        pass_page((int *)(void *)part->array.page[i], now, &at);
        left -= now;
    }
}

static bool part_is_right(const struct plan *plan, const struct part *part)
{
    size_t count = numbers_of(plan), passes = plan->warm + plan->rounds;
    size_t sorted = passes < count ? count - passes : 0;
    int before = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        int value = ((int *)(void *)part->array.page[i / NUMBERS])[i % NUMBERS];

        if (i >= sorted && value < before)
            return false;
        before = value > before ? value : before;
        sum += (uint64_t)value;
    }
    return sum == part->sum;
}

static bool verify(const struct plan *plan, struct outcome *outcome)
{
    bool right = true;

    for (unsigned i = 0; i < plan->team->workers; i++)
        right = right && part_is_right(plan, &parts[i]);
    for (uint64_t i = plan->warm; i < plan->warm + plan->rounds && i < numbers_of(plan); i++)
        outcome->units += (numbers_of(plan) - 1 - i) * plan->team->workers;
    outcome->nodes = plan->size / PAGE_BYTES * plan->team->workers;
    return right;
}

static void print(const struct worker *worker, FILE *file)
{
    pages_print(&parts[worker->number].array, worker, file);
}

const struct workload composite = {
    .name = "composite",
    .unit = "comparisons/s",
    .size = (uint64_t)10 * PAGE_BYTES,
    .rounds = 1000,
    .check = check,
    .allocate = allocate,
    .round = pass,
    .verify = verify,
    .print = print,
};
