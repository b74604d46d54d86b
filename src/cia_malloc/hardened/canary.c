/*
 * SPDX-License-Identifier: MIT
 *
 * See canary.h.
 */
#include "cia_malloc/hardened/canary.h"

#include "base/random.h"

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

uint64_t harden_seed(uint64_t number)
{
    return mixed(number) | 1;
}

uint64_t harden_canary(const void *block)
{
    return mixed((uintptr_t)block) | UINT64_C(0x0101010101010101);
}

typedef uint64_t __attribute__((may_alias)) pattern_word;

static char byte_of(uint64_t word, const char *address)
{
    return (char)(word >> (uintptr_t)address % sizeof word * 8);
}

void harden_fill(char *from, char *end, uint64_t word)
{
    for (; from < end && (uintptr_t)from % sizeof word != 0; from++)
        *from = byte_of(word, from);
    for (; (size_t)(end - from) >= sizeof word; from += sizeof word)
        *(pattern_word *)(void *)from = word;
    for (; from < end; from++)
        *from = byte_of(word, from);
}

/* The same in a range where there is one. */
static const char *find_in(const char *from, const char *end, uint64_t word)
{
    for (; from < end; from++) {
        if (*from != byte_of(word, from))
            return from;
    }
    return NULL;
}

const char *harden_find_change(const char *from, const char *end, uint64_t word)
{
    enum { STEP = 8 * sizeof word };
    const char *head = from + (-(uintptr_t)from & (sizeof word - 1));

    if (head > end)
        head = end;
    const char *found = find_in(from, head, word);

    /* Eight words a step, without a question about each. */
    for (from = head; found == NULL && end - from >= STEP; from += STEP) {
        const pattern_word *words = (const pattern_word *)(const void *)from;
        uint64_t differ = 0;

        for (int i = 0; i < 8; i++)
            differ |= words[i] ^ word;
        if (__builtin_expect(differ != 0, 0))
            found = find_in(from, from + STEP, word);
    }
    return found != NULL ? found : find_in(from, end, word);
}
