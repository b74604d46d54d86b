/*
 * SPDX-License-Identifier: MIT
 *
 * What libbank_malloc does when it asks the kernel for memory. bank.cmake and bank_test.sh have the
 * settings.
 *
 *   bank_growth late      a bank that the first memory has nothing of is found behind it
 *   bank_growth absent    a bank that no memory has: others are had; after malloc_trim it is looked
 *                         for again. One line is written
 */
#include "expect.h"

#include "mplace_bank.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

enum { MIB = 1 << 20 };

static struct {
    void *(*malloc)(size_t, uint32_t, uint32_t, unsigned);
    void (*figures)(struct bank_figures *, size_t);
} bank;

static uint64_t pool_bytes(void)
{
    struct bank_figures figures;

    bank.figures(&figures, sizeof figures);
    return figures.pool_bytes;
}

/* Stripes of 4 MiB of eight banks: the last one begins at 28 MiB. */
static void a_bank_is_found_behind_others(void)
{
    void *block = bank.malloc(MIB, 0, 7, 0);

    EXPECT(block != NULL);
    EXPECT(pool_bytes() > (uint64_t)28 * MIB);
    free(block);
}

/* Bank 1 of two is where no simulated frame is. */
static void a_bank_that_no_memory_has_is_not_asked_for_for_ever(void)
{
    EXPECT_ENOMEM(bank.malloc(MIB, 0, 1, 0));
    uint64_t pool = pool_bytes();
    EXPECT(pool >= (uint64_t)32 * MIB && pool < (uint64_t)128 * MIB);
    EXPECT_ENOMEM(bank.malloc(MIB, 0, 1, 0));
    EXPECT(pool_bytes() == pool);
    EXPECT(bank.malloc(MIB, 0, 1, BANK_RESTRICTED) != NULL);
    EXPECT(bank.malloc((size_t)100 * MIB, 0, 0, 0) != NULL);
    EXPECT_ENOMEM(bank.malloc(MIB, 0, 1, 0));
    EXPECT(malloc_trim(0) == 1);
    pool = pool_bytes();
    EXPECT_ENOMEM(bank.malloc(MIB, 0, 1, 0));
    EXPECT(pool_bytes() > pool);
}

static void find(void *function, const char *name)
{
    EXPECT((*(void **)function = dlsym(RTLD_DEFAULT, name)) != NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } claims[] = {
        {"late", a_bank_is_found_behind_others},
        {"absent", a_bank_that_no_memory_has_is_not_asked_for_for_ever},
    };

    find(&bank.malloc, "bank_malloc");
    find(&bank.figures, "bank_figures");
    for (size_t i = 0; argc == 2 && i < sizeof claims / sizeof *claims; i++) {
        if (strcmp(argv[1], claims[i].name) == 0) {
            claims[i].run();
            return 0;
        }
    }
    return 2;
}
