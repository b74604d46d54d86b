/*
 * SPDX-License-Identifier: MIT
 *
 * _ITM_memcpy, memmove and memset. The letters behind the name say for the source (R) and the
 * destination (W) whether it is transactional (t) or memory that no other thread knows (n), and
 * what the transaction did to it before (aR, aW), which makes no difference here.
 */
#include "tm_runtime/abi/itm.h"
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/transaction.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { PIECE = 512 };

/* Pieces go through a buffer of this frame's: the source may overlap the destination. */
static void copy_piece(struct tm_thread *self, char *to, const char *from, size_t size)
{
    char piece[PIECE];

    self->algorithm->read(self, piece, from, size);
    self->algorithm->write(self, to, piece, size);
}

/* Ascending if the destination begins before the source, else descending: no byte is overwritten
 * before it is read. */
static void copy(void *to, const void *from, size_t size)
{
    struct tm_thread *self = tm_self;
    char *target = to;
    const char *source = from;

    if ((uintptr_t)target - (uintptr_t)source >= size) {
        for (size_t done = 0; done < size; done += PIECE)
            copy_piece(self, target + done, source + done,
                       size - done < PIECE ? size - done : PIECE);
        return;
    }
    while (size != 0) {
        size_t piece = size < PIECE ? size : PIECE;

        size -= piece;
        copy_piece(self, target + size, source + size, piece);
    }
}

static void copy_from_private(void *to, const void *from, size_t size)
{
    if (size != 0)
        tm_self->algorithm->write(tm_self, to, from, size);
}

static void copy_to_private(void *to, const void *from, size_t size)
{
    if (size != 0)
        tm_self->algorithm->read(tm_self, to, from, size);
}

#define COPY(letters, function)                                                                    \
    ITM_EXPORT void _ITM_memcpy##letters(void *to, const void *from, size_t size)                  \
    {                                                                                              \
        function(to, from, size);                                                                  \
    }                                                                                              \
    ITM_EXPORT void _ITM_memmove##letters(void *to, const void *from, size_t size)                 \
    {                                                                                              \
        function(to, from, size);                                                                  \
    }

COPY(RnWt, copy_from_private)
COPY(RnWtaR, copy_from_private)
COPY(RnWtaW, copy_from_private)
COPY(RtWn, copy_to_private)
COPY(RtaRWn, copy_to_private)
COPY(RtaWWn, copy_to_private)
COPY(RtWt, copy)
COPY(RtWtaR, copy)
COPY(RtWtaW, copy)
COPY(RtaRWt, copy)
COPY(RtaRWtaR, copy)
COPY(RtaRWtaW, copy)
COPY(RtaWWt, copy)
COPY(RtaWWtaR, copy)
COPY(RtaWWtaW, copy)

static void set(void *to, int byte, size_t size)
{
    struct tm_thread *self = tm_self;
    char *target = to;
    char piece[PIECE];

    memset(piece, byte, size < PIECE ? size : PIECE);
    for (size_t done = 0; done < size; done += PIECE)
        self->algorithm->write(self, target + done, piece,
                               size - done < PIECE ? size - done : PIECE);
}

#define SET(letters)                                                                               \
    ITM_EXPORT void _ITM_memset##letters(void *to, int byte, size_t size)                          \
    {                                                                                              \
        set(to, byte, size);                                                                       \
    }

SET(W)
SET(WaR)
SET(WaW)
