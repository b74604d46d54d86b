/*
 * SPDX-License-Identifier: MIT
 *
 * Cache flushes by instruction, or pages by msync; see persistence.h.
 */
#include "persist/persistence.h"

#include "persist/bytes.h"
#include "persist/format.h"

#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum persistence_method persistence_instruction(void)
{
    unsigned a, b = 0, c, d;

    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        if (b & 1u << 24)
            return PERSISTENCE_CLWB;
        if (b & 1u << 23)
            return PERSISTENCE_CLFLUSHOPT;
    }
    return PERSISTENCE_CLFLUSH; /* every x86-64 processor has it */
}

void persistence_store(struct persistence *persistence, void *target, const void *source,
                       size_t size)
{
    (void)persistence;
    memcpy(target, source, size);
}

void persistence_store_masked(struct persistence *persistence, uint8_t *line, const uint8_t *source,
                              uint64_t mask)
{
    (void)persistence;
    bytes_copy_masked(line, source, mask);
}

void persistence_flush(struct persistence *persistence, const void *address)
{
    uint64_t offset;

    persistence->flushes++;
    /* The memory operand orders each of them behind the stores to its line. */
    switch (persistence->method) {
    case PERSISTENCE_CLWB:
        __asm__ volatile("clwb %0" : "+m"(*(volatile char *)(uintptr_t)address)::"memory");
        break;
    case PERSISTENCE_CLFLUSHOPT:
        __asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)(uintptr_t)address)::"memory");
        break;
    case PERSISTENCE_CLFLUSH:
        __asm__ volatile("clflush %0" : "+m"(*(volatile char *)(uintptr_t)address)::"memory");
        break;
    case PERSISTENCE_MSYNC:
        offset = (uint64_t)((const uint8_t *)address - persistence->base);
        if (persistence->dirty_begin == persistence->dirty_end) {
            persistence->dirty_begin = offset;
            persistence->dirty_end = offset + 1;
        } else if (offset < persistence->dirty_begin) {
            persistence->dirty_begin = offset;
        } else if (offset >= persistence->dirty_end) {
            persistence->dirty_end = offset + 1;
        }
        break;
    }
}

int persistence_fence(struct persistence *persistence)
{
    persistence->fences++;
    if (persistence->method != PERSISTENCE_MSYNC) {
        __asm__ volatile("sfence" ::: "memory");
        return 0;
    }
    if (persistence->dirty_begin < persistence->dirty_end) {
        uint64_t begin = persistence->dirty_begin & ~(uint64_t)(PERSIST_PAGE - 1);
        int cancellable, error = 0;

        /* A thread that is cancelled here would keep the commit lock. */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
        /* Clean pages in between cost no write. */
        if (msync(persistence->base + begin, persistence->dirty_end - begin, MS_SYNC) != 0)
            error = errno;
        pthread_setcancelstate(cancellable, NULL);
        if (error != 0)
            return error;
        persistence->dirty_begin = persistence->dirty_end = 0;
    }
    return 0;
}
