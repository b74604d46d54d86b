/*
 * SPDX-License-Identifier: MIT
 *
 * From bytes to numbers: sizes and alignments that an allocator treats differently from their
 * neighbours come up often. An input that is over reads as zeros.
 */
#ifndef MPLACE_FUZZ_INPUT_H
#define MPLACE_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input {
    const uint8_t *next, *end;
    unsigned profile;   /* which sizes this input asks for; see input_size */
    size_t usual_bytes; /* the size of the profile that keeps to one */
};

static inline uint32_t input_byte(struct input *input)
{
    return input->next < input->end ? *input->next++ : 0;
}

static inline uint32_t input_word(struct input *input)
{
    uint32_t low = input_byte(input);

    return low | input_byte(input) << 8;
}

static inline bool input_is_over(const struct input *input)
{
    return input->next >= input->end;
}

enum {
    SIZES_MIXED = 8, /* profiles below: one kind of sizes; from here on: all kinds */
    PROFILES = 16,
    SIZE_MOST = 5 << 20, /* what any allocator must be able to give */
};

/* One that must succeed, at most SIZE_MOST. */
size_t input_size(struct input *input);

/* One that cannot: beyond PTRDIFF_MAX, or beyond all of the address space. */
size_t input_impossible_size(struct input *input);

/* A power of two from 1 to 4 MiB. */
size_t input_alignment(struct input *input);

/* Anything else: zero, no power of two, or so large that no block can have it. */
size_t input_odd_alignment(struct input *input);

#endif
