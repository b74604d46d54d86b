/*
 * SPDX-License-Identifier: MIT
 *
 * See fuzz_input.h.
 */
#include "fuzz_input.h"

size_t input_size(struct input *input)
{
    unsigned profile = input->profile;
    size_t size;

    if (profile >= SIZES_MIXED) {
        uint32_t byte = input_byte(input);

        /* Long ones seldom: what they cost is the kernel's time. */
        profile = byte < 1 ? 6 : byte < 6 ? 5 : byte % 5;
    }
    switch (profile) {
    case 0:
        return input_byte(input) % 65;
    case 1:
        return input_word(input) % 1025;
    case 2: /* one size, now and then a neighbour */
        size = input_byte(input);
        return size >= 8 ? input->usual_bytes : input->usual_bytes + size;
    case 3: /* around multiples of a line: the ends of size classes */
        size = (size_t)(input_word(input) % 1100) * 64 + input_byte(input) % 3;
        return size > 0 ? size - 1 : 0;
    case 4: /* around powers of two, to 64 KiB */
        size = ((size_t)1 << input_byte(input) % 17) + input_byte(input) % 5;
        return size > 2 ? size - 2 : 0;
    case 5:
        return input_word(input) * (size_t)2;
    case 6: /* around multiples of a page and powers of two, to more than 4 MiB */
        size = input_byte(input);
        if (size % 2 == 0)
            return (size_t)(input_word(input) % 1100) * 4096 + size;
        return ((size_t)1 << (14 + size % 9)) + input_byte(input) - 128;
    default:
        return input_word(input) % 16385;
    }
}

size_t input_impossible_size(struct input *input)
{
    uint32_t byte = input_byte(input);
    size_t distance = input_word(input);

    switch (byte % 4) {
    case 0:
        return SIZE_MAX - distance;
    case 1:
        return (size_t)PTRDIFF_MAX + 1 + distance;
    case 2:
        return PTRDIFF_MAX - distance;
    default:
        return ((size_t)1 << (47 + byte / 4 % 16)) + distance; /* user space has 47 bits */
    }
}

size_t input_alignment(struct input *input)
{
    uint32_t byte = input_byte(input);

    return (size_t)1 << (byte < 8 ? 16 + byte % 7 : byte % 14);
}

size_t input_odd_alignment(struct input *input)
{
    static const size_t odd[] = {0, 3, 5, 7, 12, 24, 48, 96, 100, 4095, 4097, 6000};
    uint32_t byte = input_byte(input);

    switch (byte % 4) {
    case 0:
        return ((size_t)1 << (47 + byte / 4 % 17)); /* up to 2^63 */
    case 1:
        return ((size_t)1 << 63) + 1 + input_word(input); /* cannot be rounded up */
    case 2:
        return ((size_t)1 << (47 + byte / 4 % 16)) - 1; /* rounded up it is absurd */
    default:
        return odd[byte / 4 % (sizeof odd / sizeof odd[0])];
    }
}
