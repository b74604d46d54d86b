/*
 * SPDX-License-Identifier: MIT
 *
 * See secret.h.
 */
#include "cia_malloc/hardened/secret.h"

#include "base/system_call.h"

#include <linux/random.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

/* A key without a word of 0, which is for none. */
static __attribute__((noinline, cold)) struct siphash_key key_of_the_kernel(void)
{
    static _Atomic uint64_t keys;
    struct siphash_key key = {0};

    /* Not to wait is right: early at boot AT_RANDOM is all there is. */
    if (system_call_6(SYS_getrandom, (long)&key, sizeof key, GRND_NONBLOCK, 0, 0, 0) !=
        (long)sizeof key) {
        /* 16 bytes; libc uses the same. Its getauxval sets errno only where there are none. */
        const void *of_the_process = (const void *)getauxval(AT_RANDOM);
        uint64_t number = 2 * atomic_fetch_add_explicit(&keys, 1, memory_order_relaxed);
        struct siphash_key known = {0};

        if (of_the_process != NULL)
            memcpy(&known, of_the_process, sizeof known);
        key.low = siphash_of_word(known, number);
        key.high = siphash_of_word(known, number + 1);
    }
    key.low += key.low == 0;
    key.high += key.high == 0;
    return key;
}

/* Each is stored once, by compare-and-swap from 0. Relaxed: they are all that threads share. */
static _Atomic uint64_t canary_key[2];

/* Another thread may have been first: its word is the process's. */
static uint64_t settle(_Atomic uint64_t *word, uint64_t drawn)
{
    uint64_t known = 0;

    return atomic_compare_exchange_strong_explicit(word, &known, drawn, memory_order_relaxed,
                                                   memory_order_relaxed)
               ? drawn
               : known;
}

uint64_t secret_canary(const void *block)
{
    struct siphash_key key = {
        .low = atomic_load_explicit(&canary_key[0], memory_order_relaxed),
        .high = atomic_load_explicit(&canary_key[1], memory_order_relaxed),
    };

    if (__builtin_expect(key.low == 0 || key.high == 0, 0)) {
        key = key_of_the_kernel();
        key.low = settle(&canary_key[0], key.low);
        key.high = settle(&canary_key[1], key.high);
    }
    return siphash_of_word(key, (uintptr_t)block) | UINT64_C(0x0101010101010101);
}

uint32_t secret_draw(struct subheap *heap, uint32_t bound)
{
    enum { BITS = 16, IN_WORD = 64 / BITS };

    if (__builtin_expect(heap->order.low == 0, 0)) {
        heap->order = key_of_the_kernel();
        heap->drawn = 0;
    }
    if (heap->drawn % IN_WORD == 0)
        heap->numbers = siphash_of_word(heap->order, heap->drawn);
    uint64_t number = heap->numbers >> heap->drawn++ % IN_WORD * BITS & ((1 << BITS) - 1);
    /* Multiply-shift: no divide. Some results of a bound of 64 or less come up to a thousandth more
       often than others. */
    return (uint32_t)(number * bound >> BITS);
}
