/*
 * SPDX-License-Identifier: MIT
 *
 * A memory with row conflicts and noise; see simulated.h.
 */
#include "dram_probe/simulated.h"

#include "base/random.h"

#include <stdlib.h>

enum {
    LINE = 64,
    PAGE_BITS = 12,
    ROW_BITS = 18, /* bits of an address below its row's number: addresses drawn at random are
                      hardly ever in one row */
    MILLION = 1000000,
};

/* As DDR4 behind a core of 3 GHz: a row conflict adds tRP + tRCD, some 30 ns, to a read. */
const struct simulated_noise simulated_noise_usual = {
    .different = 320,
    .conflict = 90,
    .jitter = 15,
    .spike_rate = 20000,
    .spike = 2000,
    .wrong_rate = 0,
};

static uint64_t mix(uint64_t seed, uint64_t value)
{
    uint64_t state = seed ^ value * UINT64_C(0x9e3779b97f4a7c15);

    return random_next(&state);
}

/* Where an address really lies. */
static uint64_t place_of(const struct simulated_memory *memory, uint64_t physical)
{
    uint64_t offset = physical & ((1 << PAGE_BITS) - 1);

    return memory->scrambled ? mix(memory->seed, physical >> PAGE_BITS) << PAGE_BITS | offset
                             : physical;
}

static bool conflict(const struct simulated_memory *memory, uint64_t first, uint64_t second)
{
    uint64_t a = place_of(memory, first), b = place_of(memory, second);
    uint64_t pair = mix(memory->seed, first) ^ mix(memory->seed, second);
    bool conflicts = dram_map_bank(&memory->map, a ^ b) == 0 &&
                     dram_map_controller(&memory->map, a ^ b) == 0 &&
                     a >> ROW_BITS != b >> ROW_BITS;

    return conflicts != (pair % MILLION < memory->noise.wrong_rate);
}

/* Normal enough: the sum of 12 uniform values has the deviation 1 (Irwin-Hall), here in 1 / 4096.
 */
static int64_t jitter(uint64_t *state, uint32_t deviation)
{
    int64_t sum = -6 * 4096;

    for (unsigned i = 0; i < 3; i++) {
        uint64_t bits = random_next(state);

        for (unsigned j = 0; j < 4; j++, bits >>= 16)
            sum += (int64_t)(bits & 4095);
    }
    return sum * (int64_t)deviation / 4096;
}

static uint32_t measure(void *context, size_t first, size_t second)
{
    struct simulated_memory *memory = context;
    const struct simulated_noise *noise = &memory->noise;
    int64_t time = (int64_t)noise->different + jitter(&memory->state, noise->jitter);

    if (conflict(memory, memory->physical[first], memory->physical[second]))
        time += noise->conflict;
    if (random_below(&memory->state, MILLION) < noise->spike_rate)
        time += random_below(&memory->state, noise->spike);
    return time > 0 ? (uint32_t)time : 0;
}

static int by_value(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

static bool is_distinct(const struct simulated_memory *memory, uint64_t *sorted)
{
    for (size_t i = 0; i < memory->count; i++)
        sorted[i] = memory->physical[i];
    qsort(sorted, memory->count, sizeof sorted[0], by_value);
    for (size_t i = 1; i < memory->count; i++) {
        if (sorted[i - 1] == sorted[i])
            return false;
    }
    return true;
}

bool simulated_open(struct simulated_memory *memory, size_t count, unsigned bits)
{
    uint64_t mask = (bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1) & ~(uint64_t)(LINE - 1);
    uint64_t *sorted = malloc(count * sizeof sorted[0]);

    memory->state = memory->seed;
    memory->count = count;
    memory->physical = malloc(count * sizeof memory->physical[0]);
    if (sorted == NULL || memory->physical == NULL) {
        free(sorted);
        simulated_close(memory);
        return false;
    }
    do {
        for (size_t i = 0; i < count; i++)
            memory->physical[i] = random_next(&memory->state) & mask;
    } while (!is_distinct(memory, sorted));
    free(sorted);
    return true;
}

void simulated_close(struct simulated_memory *memory)
{
    free(memory->physical);
    memory->physical = NULL;
    memory->count = 0;
}

struct dram_probe simulated_probe(struct simulated_memory *memory)
{
    return (struct dram_probe){
        .physical = memory->physical,
        .count = memory->count,
        .measure = measure,
        .context = memory,
    };
}

unsigned simulated_bits(const struct dram_map *map)
{
    enum { LEAST = 30 };
    uint64_t used = UINT64_C(1) << (LEAST - 1);

    for (uint32_t i = 0; i < map->banks; i++)
        used |= map->bank[i];
    for (uint32_t i = 0; i < map->controllers; i++)
        used |= map->controller[i];
    return DRAM_ADDRESS_BITS - (unsigned)__builtin_clzll(used);
}
