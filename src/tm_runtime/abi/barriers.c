/*
 * SPDX-License-Identifier: MIT
 *
 * Read and write barriers: _ITM_R, RaR, RaW, RfW, W, WaR and WaW of each type, and _ITM_L, which
 * notes what the code then overwrites itself. The sizes of 1 to 8 bytes have functions of their own
 * in the algorithm's table; floats go as the integers of their size.
 *
 * R, RaR and RaW are one: a read of what the transaction has written or read is found out by the
 * algorithm as quickly as it could be told.
 */
#include "tm_runtime/abi/itm.h"
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/logs/undo_log.h"
#include "tm_runtime/transaction.h"

#include <string.h>

/* The compiler's arguments are whole types; -Wmissing-prototypes has nothing to compare with. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* A type that goes as an integer of its size. */
#define READ_AS(kind, suffix, type, entry, size, word)                                             \
    ITM_EXPORT type _ITM_##kind##suffix(const type *from)                                          \
    {                                                                                              \
        word bits = tm_self->algorithm->entry##_##size(tm_self, (const word *)(const void *)from); \
        type value;                                                                                \
                                                                                                   \
        memcpy(&value, &bits, size);                                                               \
        return value;                                                                              \
    }
#define WRITE_AS(kind, suffix, type, size, word)                                                   \
    ITM_EXPORT void _ITM_##kind##suffix(type *to, type value)                                      \
    {                                                                                              \
        word bits;                                                                                 \
                                                                                                   \
        memcpy(&bits, &value, size);                                                               \
        tm_self->algorithm->write_##size(tm_self, (word *)(void *)to, bits);                       \
    }
#define BARRIERS_AS(suffix, type, size, word)                                                      \
    READ_AS(R, suffix, type, read, size, word)                                                     \
    READ_AS(RaR, suffix, type, read, size, word)                                                   \
    READ_AS(RaW, suffix, type, read, size, word)                                                   \
    READ_AS(RfW, suffix, type, read_for_write, size, word)                                         \
    WRITE_AS(W, suffix, type, size, word)                                                          \
    WRITE_AS(WaR, suffix, type, size, word)                                                        \
    WRITE_AS(WaW, suffix, type, size, word)                                                        \
    LOG(suffix, type)

/* Larger types. */
#define READ(kind, suffix, type, target)                                                           \
    target ITM_EXPORT type _ITM_##kind##suffix(const type *from)                                   \
    {                                                                                              \
        type value;                                                                                \
                                                                                                   \
        tm_self->algorithm->read(tm_self, &value, from, sizeof value);                             \
        return value;                                                                              \
    }
#define WRITE(kind, suffix, type, target)                                                          \
    target ITM_EXPORT void _ITM_##kind##suffix(type *to, type value)                               \
    {                                                                                              \
        tm_self->algorithm->write(tm_self, to, &value, sizeof value);                              \
    }
#define BARRIERS(suffix, type, target)                                                             \
    READ(R, suffix, type, target)                                                                  \
    READ(RaR, suffix, type, target)                                                                \
    READ(RaW, suffix, type, target)                                                                \
    READ(RfW, suffix, type, target)                                                                \
    WRITE(W, suffix, type, target)                                                                 \
    WRITE(WaR, suffix, type, target)                                                               \
    WRITE(WaW, suffix, type, target)                                                               \
    LOG(suffix, type)

/* What no other thread knows: only roll-back matters. */
static void log_undo(const void *address, size_t size)
{
    struct tm_thread *self = tm_self;

    if (!transaction_is_irrevocable(self) && !undo_log_save(&self->undo, address, size))
        transaction_restart(self, TM_NO_MEMORY);
}

#define LOG(suffix, type)                                                                          \
    ITM_EXPORT void _ITM_L##suffix(const type *address)                                            \
    {                                                                                              \
        log_undo(address, sizeof(type));                                                           \
    }

ITM_EXPORT void _ITM_LB(const void *address, size_t size)
{
    log_undo(address, size);
}

typedef int vector_64 __attribute__((vector_size(8), may_alias));
typedef float vector_128 __attribute__((vector_size(16), may_alias, aligned(1)));
typedef float vector_256 __attribute__((vector_size(32), may_alias, aligned(1)));
typedef float _Complex complex_float;
typedef double _Complex complex_double;
typedef long double _Complex complex_long_double;

BARRIERS_AS(U1, uint8_t, 1, uint8_t)
BARRIERS_AS(U2, uint16_t, 2, uint16_t)
BARRIERS_AS(U4, uint32_t, 4, uint32_t)
BARRIERS_AS(U8, uint64_t, 8, uint64_t)
BARRIERS_AS(F, float, 4, uint32_t)
BARRIERS_AS(D, double, 8, uint64_t)
BARRIERS_AS(CF, complex_float, 8, uint64_t)
BARRIERS_AS(M64, vector_64, 8, uint64_t)
BARRIERS(E, long double, )
BARRIERS(CD, complex_double, )
BARRIERS(CE, complex_long_double, )
BARRIERS(M128, vector_128, )
/* Only programs compiled for AVX call these. */
BARRIERS(M256, vector_256, __attribute__((target("avx"))))
