/*
 * SPDX-License-Identifier: MIT
 *
 * Loads and stores of the program's memory, which other threads may change meanwhile: relaxed
 * atomics, of 1, 2, 4 or 8 bytes at any address. Whether what was read is of one moment is for the
 * algorithm to say.
 */
#ifndef TM_RUNTIME_MEMORY_H
#define TM_RUNTIME_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TM_INLINE static inline __attribute__((always_inline))

/* size: a constant in the inlined callers. */
TM_INLINE uint64_t memory_load(const void *from, size_t size)
{
    uint64_t value = 0;

    switch (size) {
    case 1:
        return __atomic_load_n((const uint8_t *)from, __ATOMIC_RELAXED);
    case 2:
        return __atomic_load_n((const uint16_t *)from, __ATOMIC_RELAXED);
    case 4:
        return __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED);
    case 8:
        return __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED);
    }
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)__atomic_load_n((const uint8_t *)from + i, __ATOMIC_RELAXED) << 8 * i;
    return value;
}

TM_INLINE void memory_store(void *to, uint64_t value, size_t size)
{
    switch (size) {
    case 1:
        __atomic_store_n((uint8_t *)to, (uint8_t)value, __ATOMIC_RELAXED);
        return;
    case 2:
        __atomic_store_n((uint16_t *)to, (uint16_t)value, __ATOMIC_RELAXED);
        return;
    case 4:
        __atomic_store_n((uint32_t *)to, (uint32_t)value, __ATOMIC_RELAXED);
        return;
    case 8:
        __atomic_store_n((uint64_t *)to, value, __ATOMIC_RELAXED);
        return;
    }
    for (size_t i = 0; i < size; i++)
        __atomic_store_n((uint8_t *)to + i, (uint8_t)(value >> 8 * i), __ATOMIC_RELAXED);
}

/* Any number of bytes; no atomics where there is no sanitizer to be told. */
TM_INLINE void memory_copy(void *to, const void *from, size_t size)
{
#ifdef __SANITIZE_THREAD__
    for (size_t i = 0; i < size; i++)
        memory_store((char *)to + i, memory_load((const char *)from + i, 1), 1);
#else
    memcpy(to, from, size);
#endif
}

#endif
