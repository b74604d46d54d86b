/*
 * SPDX-License-Identifier: MIT
 *
 * Physical addresses; see physical.h. An entry of pagemap has 64 bits: the frame's number in bits 0
 * to 54, and bit 63 if the page is present (Documentation/admin-guide/mm/pagemap.rst of Linux).
 */
#include "dram_probe/physical.h"

#include "base/random.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE = 64 };

static const uint64_t frame_mask = (UINT64_C(1) << 55) - 1;
static const uint64_t present = UINT64_C(1) << 63;

/* The frame of the page at an address; 0: hidden. False: the file cannot be read, or the page is
 * not there. */
static bool read_frame(int pagemap, const volatile char *address, size_t page_size, uint64_t *frame)
{
    uint64_t entry;
    off_t at = (off_t)((uintptr_t)address / page_size * sizeof entry);

    if (pread(pagemap, &entry, sizeof entry, at) != (ssize_t)sizeof entry)
        return false;
    if ((entry & present) == 0) {
        errno = ENODATA;
        return false;
    }
    *frame = entry & frame_mask;
    return true;
}

/* A set bit: the line is taken already. */
static bool take_line(uint64_t *taken, size_t line)
{
    uint64_t bit = UINT64_C(1) << line % 64;

    if ((taken[line / 64] & bit) != 0)
        return false;
    taken[line / 64] |= bit;
    return true;
}

static enum physical_result draw(struct physical_sample *sample, uint64_t *taken, int pagemap,
                                 size_t count, uint64_t seed)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    size_t lines = sample->pool_size / LINE;

    while (sample->count < count) {
        size_t line = random_next(&seed) % lines;
        const volatile char *address = (const volatile char *)sample->pool + line * LINE;
        uint64_t frame;

        if (!take_line(taken, line))
            continue;
        (void)*address; /* brings back a page that was swapped out since */
        if (!read_frame(pagemap, address, page_size, &frame))
            return PHYSICAL_NO_PAGEMAP;
        if (frame == 0)
            return PHYSICAL_HIDDEN;
        sample->line[sample->count] = address;
        sample->physical[sample->count++] = frame * page_size + (uintptr_t)address % page_size;
    }
    return PHYSICAL_TAKEN;
}

static enum physical_result open_and_draw(struct physical_sample *sample, uint64_t *taken,
                                          size_t count, uint64_t seed)
{
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    enum physical_result result;
    int error;

    if (pagemap < 0)
        return PHYSICAL_NO_PAGEMAP;
    result = draw(sample, taken, pagemap, count, seed);
    error = errno;
    (void)close(pagemap);
    errno = error;
    return result;
}

enum physical_result physical_sample_take(struct physical_sample *sample, size_t pool_size,
                                          size_t count, uint64_t seed)
{
    void *pool = mmap(NULL, pool_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    uint64_t *taken = calloc(pool_size / LINE / 64 + 1, sizeof *taken);
    enum physical_result result = PHYSICAL_NO_MEMORY;

    *sample = (struct physical_sample){
        .physical = malloc(count * sizeof sample->physical[0]),
        .line = malloc(count * sizeof sample->line[0]),
        .pool = pool != MAP_FAILED ? pool : NULL,
        .pool_size = pool_size,
    };
    if (taken != NULL && sample->physical != NULL && sample->line != NULL && sample->pool != NULL)
        result = open_and_draw(sample, taken, count, seed);
    free(taken);
    if (result != PHYSICAL_TAKEN) {
        int error = errno;

        physical_sample_free(sample);
        errno = error;
    }
    return result;
}

void physical_sample_free(struct physical_sample *sample)
{
    if (sample->pool != NULL)
        (void)munmap(sample->pool, sample->pool_size);
    free(sample->physical);
    free(sample->line);
    *sample = (struct physical_sample){.count = 0};
}

bool physical_is_virtual_machine(void)
{
    unsigned eax, ebx, ecx, edx;

    /* Reserved for hypervisors, which set it (Intel SDM volume 2A, AMD APM volume 3: CPUID). */
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> 31 & 1) != 0;
}
