/*
 * SPDX-License-Identifier: MIT
 *
 * What libbank_malloc does when it asks the kernel for memory. bank.cmake and bank_test.sh have the
 * settings.
 *
 *   bank_growth late      a bank that the first memory has nothing of is found behind it
 *   bank_growth absent    a bank that no memory has: others are had; after malloc_trim it is looked
 *                         for again. One line is written
 *   bank_growth files     without a file descriptor the pool does not grow, and with one it does:
 *                         each block has a bank. One line is written
 *   bank_growth pieces    where the kernel moves the pages of one mapping at a time all are moved,
 *                         and moved back
 *   bank_growth place     where the program has a mapping at the place that a moved block was to
 *                         have it gets another
 */
#include "expect.h"

#include "mplace_bank.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { MIB = 1 << 20 };

static struct {
    void *(*malloc)(size_t, uint32_t, uint32_t, unsigned);
    int (*of)(const void *, uint32_t *, uint32_t *);
    int64_t (*count_moved)(void);
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

/* All but one of these blocks need memory that the pool has not got. */
static size_t take_with_banks(size_t most)
{
    enum { BYTES = 300000 };
    uint32_t controller, number;
    size_t count = 0;

    for (void *block; count < most && (block = bank.malloc(BYTES, 0, 1, 0)) != NULL; count++)
        EXPECT(bank.of(block, &controller, &number) == 0);
    return count;
}

static void memory_that_the_kernel_cannot_be_asked_about_is_none(void)
{
    enum { FILES = 64, BLOCKS = 50 };
    struct rlimit limit = {FILES, FILES};
    int first = -1, file;

    if (bank.count_moved() < 0) {
        puts("skipped: the kernel tells no frame numbers");
        exit(EXIT_SKIPPED);
    }
    EXPECT(take_with_banks(1) == 1);
    EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while ((file = open("/dev/null", O_RDONLY)) >= 0)
        first = first < 0 ? file : first;
    EXPECT(take_with_banks(BLOCKS) < BLOCKS);
    EXPECT(bank.count_moved() == -1);
    close(first);
    EXPECT(take_with_banks(BLOCKS) == BLOCKS);
    EXPECT(bank.count_moved() == 0);
}

/* As a kernel before Linux 6.17 where each chunk is a mapping of its own. */
static void refuse_long_moves(uint64_t most)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)most, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EFAULT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        puts("skipped: no filter of system calls");
        exit(EXIT_SKIPPED);
    }
}

/* Chunks of the bank follow each other, and were moved together without the filter. */
static void pages_of_several_mappings_are_moved_one_after_the_other(void)
{
    struct bank_figures figures;
    uint64_t pool = pool_bytes();
    uint32_t controller, number;

    bank.figures(&figures, sizeof figures);
    char *before = bank.malloc(MIB, 0, 1, 0);
    refuse_long_moves(figures.chunk_bytes);
    char *block = bank.malloc(MIB, 0, 1, 0);
    EXPECT(before != NULL && block != NULL);
    memset(block, 1, MIB);
    for (size_t at = 0; at < MIB; at += figures.chunk_bytes) {
        EXPECT(bank.of(block + at, &controller, &number) == 0);
        EXPECT(controller == 0 && number == 1);
    }
    free(before);
    free(block);
    (void)malloc_trim(0); /* what is kept for the next block moves back */
    EXPECT(pool_bytes() == pool);
}

static void where_a_place_is_taken_a_block_gets_another(void)
{
    enum { PAGE = 4096 };
    char *first = bank.malloc(MIB, 0, 1, 0);
    char *place = first + MIB + MIB / 2;

    EXPECT(first != NULL);
    EXPECT(mmap(place, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
           place);
    EXPECT(bank.malloc(MIB, 0, 1, 0) != NULL);
    EXPECT(bank.malloc((size_t)2 * MIB, 0, 2, 0) != NULL);
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
        {"files", memory_that_the_kernel_cannot_be_asked_about_is_none},
        {"pieces", pages_of_several_mappings_are_moved_one_after_the_other},
        {"place", where_a_place_is_taken_a_block_gets_another},
        {"late", a_bank_is_found_behind_others},
        {"absent", a_bank_that_no_memory_has_is_not_asked_for_for_ever},
    };

    find(&bank.malloc, "bank_malloc");
    find(&bank.of, "bank_of");
    find(&bank.count_moved, "bank_count_moved");
    find(&bank.figures, "bank_figures");
    for (size_t i = 0; argc == 2 && i < sizeof claims / sizeof *claims; i++) {
        if (strcmp(argv[1], claims[i].name) == 0) {
            claims[i].run();
            return 0;
        }
    }
    return 2;
}
