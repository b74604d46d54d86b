/*
 * SPDX-License-Identifier: MIT
 *
 * See canary.h.
 */
#include "cia_malloc/hardened/canary.h"

#include "base/random.h"
#include "cia_malloc/heap/subheap.h"

#include <errno.h>
#include <linux/random.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Stored once, by compare-and-swap from 0. Relaxed: it is all that threads share. */
static _Atomic uint64_t secret;

static __attribute__((noinline, cold)) uint64_t draw_secret(void)
{
    uint64_t none = 0, drawn = 0;
    int saved_errno = errno;
    const void *of_the_kernel =
        (const void *)getauxval(AT_RANDOM); /* 16 bytes; libc uses the same */

    /* The raw call: it is no cancellation point. Not to wait is right: early at boot AT_RANDOM is
       all there is. */
    if (syscall(SYS_getrandom, &drawn, sizeof drawn, GRND_NONBLOCK) != (long)sizeof drawn &&
        of_the_kernel != NULL) {
        memcpy(&drawn, of_the_kernel, sizeof drawn);
        drawn = random_next(&drawn);
    }
    errno = saved_errno;
    drawn |= 1; /* 0 is for none */
    /* Another thread may have been first: its secret is the process's. */
    return atomic_compare_exchange_strong_explicit(&secret, &none, drawn, memory_order_relaxed,
                                                   memory_order_relaxed)
               ? drawn
               : none;
}

static uint64_t mixed(uint64_t number)
{
    uint64_t known = atomic_load_explicit(&secret, memory_order_relaxed);
    uint64_t state = number ^ (known != 0 ? known : draw_secret());

    return random_next(&state);
}

uint32_t harden_random_below(struct subheap *heap, uint32_t bound)
{
    if (heap->random == 0)
        heap->random = mixed(heap->number);
    return random_below(&heap->random, bound);
}

uint64_t harden_canary(const void *block)
{
    return mixed((uintptr_t)block) | UINT64_C(0x0101010101010101);
}

void harden_fill(char *from, char *end, uint64_t word)
{
    for (; (size_t)(end - from) >= sizeof word; from += sizeof word)
        memcpy(from, &word, sizeof word);
    memcpy(from, &word, (size_t)(end - from));
}

const char *harden_find_change(const char *from, const char *end, uint64_t word)
{
    size_t bytes = (size_t)(end - from);

    /* All are right if the first word is, and every byte is the same as the one a word before. */
    if (__builtin_expect(memcmp(from, &word, sizeof word) == 0 &&
                             memcmp(from, from + sizeof word, bytes - sizeof word) == 0,
                         1))
        return NULL;
    for (size_t i = 0; i < bytes; i++) {
        if (from[i] != (char)(word >> i % sizeof word * 8))
            return from + i;
    }
    return NULL;
}
