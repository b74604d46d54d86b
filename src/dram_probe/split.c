/*
 * SPDX-License-Identifier: MIT
 *
 * Two groups of latencies; see split.h. The place where the sorted values part is first the one
 * that separates best: by the distance of the means in sums of both standard deviations. Sizes have
 * no weight, because of many banks only one in hundreds of pairs conflicts. That place may lie
 * inside a small group, and is then moved half-way between the means until it stays (2-means).
 */
#include "dram_probe/split.h"

#include <math.h>
#include <stdlib.h>

/* The parts of one normal group reach 3. */
static const double separation_least = 4;
/* Fewer slow ones may be a chance. */
enum { SLOW_LEAST = 8 };

struct sums {
    double count, sum, squares;
};

static void add(struct sums *sums, double value, double sign)
{
    sums->count += sign;
    sums->sum += sign * value;
    sums->squares += sign * value * value;
}

static double mean_of(const struct sums *sums)
{
    return sums->sum / sums->count;
}

static double deviation_of(const struct sums *sums)
{
    double mean = mean_of(sums);
    double variance = sums->squares / sums->count - mean * mean;

    return variance > 0 ? sqrt(variance) : 0;
}

static int by_value(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

    return (one > other) - (one < other);
}

static void put_all(const uint32_t *values, size_t count, struct sums *sums)
{
    *sums = (struct sums){0, 0, 0};
    for (size_t i = 0; i < count; i++)
        add(sums, values[i], 1);
}

static double separation_of(const struct sums *fast, const struct sums *slow)
{
    /* The clock's own step is the least deviation that can be seen. */
    return (mean_of(slow) - mean_of(fast)) / (deviation_of(slow) + deviation_of(fast) + 1);
}

/* The index of the first slow value; count: there is no place to part them. */
static size_t part(const uint32_t *values, size_t count)
{
    struct sums fast, slow = {0, 0, 0};
    double best = 0;
    size_t place = count;

    put_all(values, count, &fast);
    for (size_t i = count; i-- > SLOW_LEAST;) {
        double separation;

        add(&fast, values[i], -1);
        add(&slow, values[i], 1);
        if (values[i - 1] == values[i] || count - i < SLOW_LEAST)
            continue;
        separation = separation_of(&fast, &slow);
        if (separation > best) {
            best = separation;
            place = i;
        }
    }
    return place;
}

bool split_find(uint32_t *values, size_t count, struct split *split)
{
    enum { MOVES_MOST = 100 };
    struct sums fast, slow;
    size_t place;

    *split = (struct split){.separation = 0};
    qsort(values, count, sizeof values[0], by_value);
    place = part(values, count);
    for (unsigned i = 0; i < MOVES_MOST; i++) {
        size_t before = place;
        double middle;

        if (place == 0 || place == count)
            return false;
        put_all(values, place, &fast);
        put_all(values + place, count - place, &slow);
        middle = (mean_of(&fast) + mean_of(&slow)) / 2;
        while (place > 0 && values[place - 1] > middle)
            place--;
        while (place < count && values[place] <= middle)
            place++;
        if (place == before)
            break;
    }
    *split = (struct split){
        .fast = mean_of(&fast),
        .slow = mean_of(&slow),
        .threshold = (mean_of(&fast) + mean_of(&slow)) / 2,
        .slow_count = count - place,
        .separation = separation_of(&fast, &slow),
    };
    return split->slow_count >= SLOW_LEAST && split->separation >= separation_least;
}
