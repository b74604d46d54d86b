/*
 * SPDX-License-Identifier: MIT
 *
 * What stays unknown with CIA_HARDEN=1 to who reads memory that he may not, or is a child of fork.
 *
 *   hardened_secrets CLAIM     the claims are named at the end
 */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORD = 8 };

static int failures;

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s: does not hold\n", what);
        failures++;
    }
}

/* The 8 bytes behind a block, which are no business of the program's. */
static uint64_t canary_behind(const volatile char *block, size_t bytes)
{
    uint64_t canary;

    for (unsigned i = 0; i < WORD; i++)
        ((volatile char *)&canary)[i] = block[bytes + i];
    return canary;
}

static bool is_part_of(const char *from, size_t bytes, uint64_t word)
{
    for (size_t i = 0; i + WORD <= bytes; i++) {
        if (memcmp(from + i, &word, WORD) == 0)
            return true;
    }
    return false;
}

/* Such as a server sends it to strangers that grows a buffer and sends all of it. */
static void a_block_that_grew_shows_no_canary(void)
{
    static const size_t lengths[] = {8, 100, 1000, 20000, 70000, 600000, 5 << 20};

    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        size_t bytes = lengths[l];
        char *block = calloc(bytes, 1);
        uint64_t canary = canary_behind(block, bytes);

        for (size_t more = 9; more < 200; more += 10) {
            char *grown = realloc(block, bytes + more);

            check(!is_part_of(grown + bytes, more, canary), "a block that grew shows no canary");
            check(!is_part_of(grown + bytes, more, canary_behind(grown, bytes + more)),
                  "nor its new one");
            block = realloc(grown, bytes);
            canary = canary_behind(block, bytes);
        }
        free(block);
    }
}

/* ---- what SplitMix64 of a secret and the address would tell ---- */

enum { PLACES = 64, BITS_LOST = 8 };
static const uint64_t never_zero = UINT64_C(0x0101010101010101);
static const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t factors[] = {UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb)};

static uint64_t inverse(uint64_t odd)
{
    uint64_t inverse = odd;

    for (int i = 0; i < 6; i++)
        inverse *= 2 - odd * inverse;
    return inverse;
}

static uint64_t unshift(uint64_t mixed, unsigned bits)
{
    uint64_t word = mixed;

    for (unsigned i = 0; i < 64 / bits + 1; i++)
        word = mixed ^ word >> bits;
    return word;
}

static uint64_t mixed(uint64_t word)
{
    word += step;
    word = (word ^ word >> 30) * factors[0];
    word = (word ^ word >> 27) * factors[1];
    return word ^ word >> 31;
}

static uint64_t unmixed(uint64_t word)
{
    word = unshift(word, 31) * inverse(factors[1]);
    word = unshift(word, 27) * inverse(factors[0]);
    return unshift(word, 30) - step;
}

/* Whether some secret explains both canaries; 8 bits of each are always set. */
static bool one_secret_explains(const void *const blocks[2], const uint64_t canaries[2])
{
    for (unsigned guess = 0; guess < 1 << BITS_LOST; guess++) {
        uint64_t word = canaries[0];

        for (unsigned i = 0; i < BITS_LOST; i++)
            word &= (guess >> i & 1) != 0 ? UINT64_MAX : ~(UINT64_C(1) << 8 * i);
        uint64_t secret = unmixed(word) ^ (uintptr_t)blocks[0];
        if ((mixed((uintptr_t)blocks[1] ^ secret) | never_zero) == canaries[1])
            return true;
    }
    return false;
}

/* That the attack works where it can is seen on numbers that were made so. */
static void two_canaries_tell_no_secret(void)
{
    const void *blocks[2] = {malloc(24), malloc(24)};
    uint64_t canaries[2], made[2];

    for (int i = 0; i < 2; i++) {
        canaries[i] = canary_behind(blocks[i], 24);
        made[i] = mixed((uintptr_t)blocks[i] ^ UINT64_C(0x123456789abcdef)) | never_zero;
    }
    check(one_secret_explains(blocks, made), "the attack finds a secret that is only mixed");
    check(!one_secret_explains(blocks, canaries), "two canaries tell no secret");
    check(canaries[0] != canaries[1], "a canary is not that of another block");
}

/* How many of the next blocks are where the child's are; about those that the few free places of a
   span make so by chance. */
static void a_child_does_not_know_its_parents_next_blocks(void)
{
    static uintptr_t of_child[PLACES];
    int ends[2], same = 0;
    cpu_set_t one;

    CPU_ZERO(&one); /* each CPU has blocks of its own */
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        exit(3);
    for (int i = 0; i < PLACES; i++)
        (void)malloc(1000); /* the class has a span, and its sub-heap a key */
    if (pipe(ends) != 0)
        exit(3);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < PLACES; i++)
            of_child[i] = (uintptr_t)malloc(1000);
        _exit(write(ends[1], of_child, sizeof of_child) == sizeof of_child ? 0 : 3);
    }
    if (child < 0 || read(ends[0], of_child, sizeof of_child) != sizeof of_child)
        exit(3);
    waitpid(child, NULL, 0);
    for (int i = 0; i < PLACES; i++)
        same += (uintptr_t)malloc(1000) == of_child[i];
    check(same < PLACES / 2, "a child of fork does not know where its parent's next blocks are");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } claims[] = {
        {"grown", a_block_that_grew_shows_no_canary},
        {"canaries", two_canaries_tell_no_secret},
        {"child", a_child_does_not_know_its_parents_next_blocks},
    };

    for (size_t i = 0; argc == 2 && i < sizeof claims / sizeof claims[0]; i++) {
        if (strcmp(argv[1], claims[i].name) == 0) {
            claims[i].run();
            return failures > 0;
        }
    }
    fputs("usage: hardened_secrets CLAIM\n", stderr);
    return 2;
}
