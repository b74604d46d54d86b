/*
 * SPDX-License-Identifier: MIT
 *
 * mplace_bank.h under the map tilepro64 with simulated frames: 4 controllers, 8 banks each, chunks
 * of 8 KiB, a pool of 64 MiB and no fall-back unless it is asked for.
 */
#include "expect.h"

#include "mplace_bank.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

static struct {
    void *(*malloc)(size_t, uint32_t, uint32_t, unsigned);
    void (*free)(void *);
    int (*of)(const void *, uint32_t *, uint32_t *);
    int (*thread_colours)(uint32_t, const uint32_t *, size_t);
    void (*figures)(struct bank_figures *, size_t);
    int64_t (*count_moved)(void);
} bank;

enum { CONTROLLERS = 4, BANKS = 8, CHUNK = 8192, MIB = 1 << 20 };

static void is_on(const void *block, uint32_t controller, uint32_t number)
{
    uint32_t is_controller = 99, is_bank = 99;

    EXPECT(bank.of(block, &is_controller, &is_bank) == 0);
    EXPECT(is_controller == controller && is_bank == number);
}

static void the_figures_are_those_of_the_map_and_the_pool(void)
{
    struct bank_figures figures;

    bank.figures(&figures, sizeof figures);
    EXPECT(figures.controllers == CONTROLLERS && figures.banks == BANKS);
    EXPECT(figures.chunk_bytes == CHUNK);
    EXPECT(figures.pool_bytes == 64 * MIB);
    EXPECT(figures.free_bytes > 60 * MIB && figures.free_bytes <= 64 * MIB);
}

static void a_block_is_on_the_bank_that_was_asked_for(void)
{
    for (uint32_t controller = 0; controller < CONTROLLERS; controller++) {
        for (uint32_t number = 0; number < BANKS; number++) {
            char *shorter = bank.malloc(1, controller, number, 0);
            char *longer = bank.malloc(200000, controller, number, 0);

            EXPECT(shorter != NULL && longer != NULL);
            EXPECT(malloc_usable_size(shorter) == CHUNK && malloc_usable_size(longer) >= 200000);
            memset(longer, 1, 200000);
            is_on(shorter, controller, number);
            for (size_t at = 0; at < 200000; at += 4096)
                is_on(longer + at, controller, number);
            bank.free(shorter);
            free(longer);
        }
    }
}

static void a_full_bank_is_enomem_or_what_the_mask_allows(void)
{
    static void *blocks[64 * MIB / CHUNK];
    uint32_t controller, number;
    size_t count = 0;

    while ((blocks[count] = bank.malloc(CHUNK, 1, 2, 0)) != NULL)
        count++;
    EXPECT(errno == ENOMEM);
    EXPECT(count * CHUNK == 2 * MIB);
    void *beside = bank.malloc(CHUNK, 1, 2, BANK_RESTRICTED);
    EXPECT(beside != NULL && bank.of(beside, &controller, &number) == 0);
    EXPECT(controller == 1 && number != 2);
    void *elsewhere = bank.malloc(CHUNK, 1, 2, BANK_UNRESTRICTED);
    EXPECT(elsewhere != NULL && bank.of(elsewhere, &controller, &number) == 0);
    EXPECT(controller != 1);
    bank.free(beside);
    bank.free(elsewhere);
    while (count > 0)
        bank.free(blocks[--count]);
    bank.free(bank.malloc(CHUNK, 1, 2, 0));
}

static void what_does_not_exist_is_einval(void)
{
    static const uint32_t banks[] = {0, BANKS};
    uint32_t controller, number;

    errno = 0;
    EXPECT(bank.malloc(1, CONTROLLERS, 0, 0) == NULL && errno == EINVAL);
    errno = 0;
    EXPECT(bank.malloc(1, 0, BANKS, 0) == NULL && errno == EINVAL);
    errno = 0;
    EXPECT(bank.malloc(1, 0, 0, 8) == NULL && errno == EINVAL);
    EXPECT_ENOMEM(bank.malloc(SIZE_MAX, 0, 0, 7));
    EXPECT(bank.thread_colours(0, banks, 2) == EINVAL);
    EXPECT(bank.thread_colours(0, banks, 0) == EINVAL);
    EXPECT(bank.of(&controller, &controller, &number) == EINVAL);
    EXPECT(bank.of(NULL, &controller, &number) == EINVAL);
    EXPECT(bank.count_moved() == -1); /* simulated frames stay */
}

static void *allocate_from_two_banks(void *argument)
{
    static const uint32_t banks[] = {3, 5};
    uint32_t seen = 0;
    void *blocks[64];

    (void)argument;
    void *before = malloc(100);
    EXPECT(bank.thread_colours(2, banks, 2) == 0);
    for (int i = 0; i < 64; i++) {
        uint32_t controller, number;

        EXPECT((blocks[i] = malloc(i % 2 == 0 ? 3000 : 30000)) != NULL);
        EXPECT(bank.of(blocks[i], &controller, &number) == 0);
        EXPECT(controller == 2 && (number == 3 || number == 5));
        seen |= 1u << number;
    }
    EXPECT(seen == (1u << 3 | 1u << 5));
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
    free(before);
    return NULL;
}

static void a_thread_gets_the_colours_that_it_asks_for_in_turn(void)
{
    pthread_t thread;

    EXPECT(pthread_create(&thread, NULL, allocate_from_two_banks, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
}

static void what_is_freed_is_had_again(void)
{
    struct bank_figures before, after;

    bank.figures(&before, sizeof before);
    for (int round = 0; round < 300; round++) {
        void *block = bank.malloc(100000, (uint32_t)round % CONTROLLERS, 1, 0);

        EXPECT(block != NULL);
        bank.free(block);
    }
    bank.figures(&after, sizeof after);
    EXPECT(after.pool_bytes == before.pool_bytes);
    EXPECT(after.free_bytes + MIB > before.free_bytes); /* some blocks are kept as they are */
}

static void find(void *function, const char *name)
{
    EXPECT((*(void **)function = dlsym(RTLD_DEFAULT, name)) != NULL);
}

int main(void)
{
    find(&bank.malloc, "bank_malloc");
    find(&bank.free, "bank_free");
    find(&bank.of, "bank_of");
    find(&bank.thread_colours, "bank_thread_colours");
    find(&bank.figures, "bank_figures");
    find(&bank.count_moved, "bank_count_moved");
    the_figures_are_those_of_the_map_and_the_pool();
    a_block_is_on_the_bank_that_was_asked_for();
    a_full_bank_is_enomem_or_what_the_mask_allows();
    what_does_not_exist_is_einval();
    a_thread_gets_the_colours_that_it_asks_for_in_turn();
    what_is_freed_is_had_again();
    return 0;
}
