/*
 * SPDX-License-Identifier: MIT
 *
 * What libcia_malloc.so notices with CIA_HARDEN=1 and not without it. Each claim is tried on blocks
 * of many sizes. Where the process is to be ended that happens in a child, see misuse_child.h; no
 * child stays on its CPU, and nothing here depends on where it runs.
 *
 *   hardened CLAIM     the claims are named at the end
 */
#include "misuse_child.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    LINE = 64,
    PAGE = 4096,
    PIECE = 4 << 20,
    LONG = 100000 /* such a block has pages of its own */
};

/* What the children work with. */
static size_t size;
static unsigned variant;

static int failures;

static void check(bool holds, const char *what)
{
    if (!holds) {
        dprintf(STDERR_FILENO, "%zu bytes, variant %u: %s does not hold\n", size, variant, what);
        failures++;
    }
}

/* In a child, that must be noticed. */
static void expect_noticed(void (*run)(const void *argument), const char *what)
{
    struct ending ending;

    run_in_a_child(run, NULL, &ending);
    if (was_noticed(&ending))
        return;
    dprintf(STDERR_FILENO, "%zu bytes, variant %u: ", size, variant);
    tell(&ending, what);
    failures++;
}

static void expect_stopped(void (*run)(const void *argument), const char *what)
{
    struct ending ending;

    run_in_a_child(run, NULL, &ending);
    if (was_stopped(&ending))
        return;
    dprintf(STDERR_FILENO, "%zu bytes, variant %u: ", size, variant);
    tell(&ending, what);
    failures++;
}

static char *a_block(void)
{
    char *block = variant % 2 != 0 ? aligned_alloc(256, size) : malloc(size);

    if (block == NULL)
        _exit(2);
    memset(block, 1, size);
    return block;
}

/* Blocks of the size that come and go, and some that stay. */
static void others(unsigned count)
{
    static void *volatile last[64];

    for (unsigned i = 0; i < count; i++) {
        void *volatile *place = &last[i * 7 % 64];

        free(*place);
        *place = malloc(size);
    }
}

static void move_to_another_cpu(void)
{
    cpu_set_t cpus;
    int here = sched_getcpu();

    if (here < 0 || sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) < 2)
        return;
    CPU_CLR(here, &cpus);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
}

/* What is freed and what is allocated after it are of one sub-heap. */
static void stay_on_this_cpu(void)
{
    cpu_set_t cpus;
    int here = sched_getcpu();

    CPU_ZERO(&cpus);
    CPU_SET(here >= 0 ? (size_t)here : 0, &cpus);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
}

static void free_twice(const void *argument)
{
    void *volatile block = a_block();

    (void)argument;
    free(block);
    if (variant >= 2)
        others(variant * 10);
    if (variant >= 4)
        move_to_another_cpu();
    free(will_be_named(block));
}

static void free_and_ask_its_size(const void *argument)
{
    void *volatile block = a_block();

    (void)argument;
    free(block);
    if (malloc_usable_size(will_be_named(block)) != size)
        _exit(3);
}

static void free_and_reallocate_in_place(const void *argument)
{
    void *volatile block = a_block();

    (void)argument;
    free(block);
    free(realloc(will_be_named(block), size));
}

/* A long block and a page of it, closed: this is called when anybody looks there, and does what
   another thread may do then. */
static char *volatile being_freed, *volatile closed_page;

static void free_it_as_well(int signal)
{
    (void)signal;
    mprotect(closed_page, PAGE, PROT_READ | PROT_WRITE);
    free(being_freed);
}

/* A block that is freed as soon as anybody looks at the page of its byte of that number. */
static char *freed_when_looked_at(size_t byte)
{
    struct sigaction action = {.sa_handler = free_it_as_well, .sa_flags = (int)SA_RESETHAND};

    being_freed = will_be_named(a_block());
    closed_page = being_freed + byte - (uintptr_t)(being_freed + byte) % PAGE;
    sigaction(SIGSEGV, &action, NULL);
    mprotect(closed_page, PAGE, PROT_NONE);
    return being_freed;
}

static void free_while_it_is_freed(const void *argument)
{
    (void)argument;
    free(freed_when_looked_at(size));
}

static void grow_while_it_is_freed(const void *argument)
{
    (void)argument;
    free(realloc(freed_when_looked_at(size), 2 * size));
}

/* Its contents go to a block of a class. */
static void copy_while_it_is_freed(const void *argument)
{
    (void)argument;
    free(realloc(freed_when_looked_at(0), PAGE));
}

static const size_t sizes[] = {1, 24, 60, 130, 1000, 4000, 15000, 40000};

static void every_double_free(void)
{
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size = sizes[s];
        for (variant = 0; variant < 6; variant++)
            expect_noticed(free_twice, "free twice");
        variant = 0;
        expect_noticed(free_and_ask_its_size, "usable size of a freed block");
        expect_noticed(free_and_reallocate_in_place, "realloc of a freed block");
    }
    for (size = LONG; size < 9 << 20; size *= 5) {
        expect_noticed(free_while_it_is_freed, "free of a long block by two threads at once");
        expect_noticed(grow_while_it_is_freed, "free of a long block that grows meanwhile");
        expect_noticed(copy_while_it_is_freed, "free of a long block that is copied meanwhile");
    }
}

/* Writes so far behind a block, what is there most often when it is none of the program's: 0. */
static size_t behind;

static void overflow_and_free(const void *argument)
{
    char *volatile block = a_block();

    (void)argument;
    block[size + behind] = 0;
    if (variant < 2)
        free(will_be_named(block));
    else
        free(realloc(will_be_named(block), size + 1 + variant * size));
}

static void an_overflow(void)
{
    static const size_t all[] = {1, 24, 60, 64, 130, 1000, 4000, 15000, 40000, LONG, 3 << 20};

    for (size_t s = 0; s < sizeof all / sizeof all[0]; s++) {
        size = all[s];
        for (variant = 0; variant < 4; variant++)
            for (behind = 0; behind < 8; behind += 1 + 2 * behind)
                expect_noticed(overflow_and_free, "a byte behind the block");
    }
}

/* Written to after it was freed; then blocks of its size are handed out until that one is. */
static void write_to_a_freed_block(const void *argument)
{
    enum { OTHERS = 3000 };
    static void *blocks[OTHERS];
    char *volatile block = NULL;

    (void)argument;
    stay_on_this_cpu();
    for (int i = 0; i < 100; i++) { /* its neighbours stay: its pages are not given back */
        blocks[i] = a_block();
        if (i == 50)
            block = blocks[i];
    }
    free(block);
    block[variant < 2 ? 0 : variant < 4 ? size / 2 : size - 1] = 0;
    will_be_named(block);
    malloc_trim(0); /* nothing waits any more */
    for (int i = 0; i < OTHERS; i++)
        blocks[i] = malloc(size);
}

static void a_write_to_a_freed_block(void)
{
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] - 1; s++) {
        size = sizes[s];
        for (variant = 0; variant < 6; variant += 2)
            expect_noticed(write_to_a_freed_block, "a byte written after free");
    }
}

static void touch(char *volatile address)
{
    will_be_named(address);
    *(volatile char *)address = 1;
}

static void before_a_long_block(const void *argument)
{
    char *block = a_block();

    (void)argument;
    touch(block - PAGE);
}

static void behind_a_long_block(const void *argument)
{
    char *block = a_block();

    (void)argument;
    touch(block + size + PAGE);
}

static void behind_a_long_block_that_grew(const void *argument)
{
    char *volatile block = a_block();

    (void)argument;
    for (unsigned i = 2; i < 8; i++) {
        block = realloc(block, size * i);
        if (block == NULL || block[0] != 1 || block[size - 1] != 1)
            _exit(3);
        memset(block, 1, size * i);
    }
    touch(block + size * 7 + PAGE);
}

static void behind_a_long_block_that_shrank(const void *argument)
{
    char *volatile block = a_block();

    (void)argument;
    block = realloc(block, size * 3 / 4);
    if (block == NULL || block[0] != 1 || block[size * 3 / 4 - 1] != 1)
        _exit(3);
    touch(block + size * 3 / 4 + PAGE);
}

static void inside_a_freed_long_block(const void *argument)
{
    char *volatile block = a_block();

    (void)argument;
    free(block);
    others(10);
    touch(block + size / 2);
}

/* Blocks up to 64 KiB lie in pieces of 4 MiB; who writes on and on leaves none of them. */
static void at_the_beginning_of_its_piece(const void *argument)
{
    char *block = a_block();

    (void)argument;
    touch(block - (uintptr_t)block % PIECE);
}

static void at_the_end_of_its_piece(const void *argument)
{
    char *block = a_block();

    (void)argument;
    touch(block - (uintptr_t)block % PIECE + PIECE - PAGE);
}

static void touching_what_is_closed(void)
{
    static const size_t all[] = {LONG, 500000, 3 << 20, 9 << 20};

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size = sizes[s];
        expect_stopped(at_the_beginning_of_its_piece, "a write to the first of 1024 pages");
        expect_stopped(at_the_end_of_its_piece, "a write to the last of 1024 pages");
    }
    for (size_t s = 0; s < sizeof all / sizeof all[0]; s++) {
        size = all[s];
        for (variant = 0; variant < 2; variant++) {
            expect_stopped(before_a_long_block, "a write a page before a long block");
            expect_stopped(behind_a_long_block, "a write a page behind a long block");
            expect_stopped(behind_a_long_block_that_grew, "the same after it grew");
            expect_stopped(behind_a_long_block_that_shrank, "the same after it shrank");
            expect_stopped(inside_a_freed_long_block, "a write to a freed long block");
        }
    }
}

static size_t alignment;

static void before_an_aligned_long_block(const void *argument)
{
    char *last = NULL;

    (void)argument;
    for (unsigned i = 0; i <= variant; i++)
        last = aligned_alloc(alignment, size);
    if (last == NULL)
        _exit(3);
    touch(last - PAGE);
}

static void touching_what_is_before_aligned_blocks(void)
{
    size = 1 << 20;
    for (alignment = 2 * PAGE; alignment <= 16 << 20; alignment *= 2) {
        for (variant = 0; variant < 12; variant++)
            expect_stopped(before_an_aligned_long_block, "a write a page before an aligned block");
    }
}

static void growing_in_small_steps(void)
{
    enum { FROM = 4 << 20, TO = 128 << 20, STEP = 64 << 10, DOUBLINGS = 5 };
    uintptr_t block = (uintptr_t)malloc(FROM);
    unsigned moves = 0;

    for (size = FROM + STEP; size <= TO; size += STEP) {
        uintptr_t grown = (uintptr_t)realloc((void *)block, size);

        moves += grown != block;
        block = grown;
    }
    free((void *)block);
    check(moves <= 5 * DOUBLINGS, "five copies for each doubling of a block in small steps");
}

static void freed_blocks_wait(void)
{
    enum { IN_BETWEEN = 1000 };

    for (size_t s = 0; s < 5; s++) {
        size = sizes[s];
        uintptr_t freed = (uintptr_t)a_block();
        bool again = false;

        free((void *)freed);
        for (int i = 0; i < IN_BETWEEN; i++) {
            void *block = malloc(size);

            again |= (uintptr_t)block == freed;
            free(block);
        }
        check(!again, "a freed block is not handed out while a thousand others come and go");
    }
}

/* Which is ENOMEM at once, and gathers nothing. */
static void freed_blocks_wait_beside_impossible_requests(void)
{
    for (size_t s = 0; s < 5; s++) {
        size = sizes[s];
        uintptr_t freed = (uintptr_t)a_block();
        bool again = false;

        free((void *)freed);
        for (size_t impossible = (size_t)1 << 48; impossible <= (size_t)1 << 62; impossible *= 2) {
            check(memalign(impossible, 16) == NULL, "no address is a multiple of that");
            check(malloc(impossible) == NULL, "no process has so many bytes");
        }
        for (int i = 0; i < 100; i++) {
            void *block = malloc(size);

            again |= (uintptr_t)block == freed;
            free(block);
        }
        check(!again, "a freed block is not handed out while impossible requests fail");
    }
}

static void freed_mappings_wait(void)
{
    enum { KEPT = 40, IN_BETWEEN = 30, BYTES = 100000 };
    char *blocks[KEPT];
    bool again = false;

    for (int i = 0; i < KEPT; i++)
        blocks[i] = malloc(BYTES);
    for (int i = 0; i < KEPT; i++)
        free(blocks[i]);
    for (int i = 0; i < IN_BETWEEN; i++) {
        char *block = malloc(BYTES);

        again |= labs(block - blocks[KEPT - 1]) < BYTES / 2;
        free(block);
    }
    check(!again, "a freed mapping has no other block while thirty others come and go");
    /* More than is kept of freed memory. */
    for (size = 1 << 20; size <= 256 << 20; size *= 4) {
        uintptr_t freed = (uintptr_t)aligned_alloc(1 << 20, size);

        free((void *)freed);
        uintptr_t next = (uintptr_t)aligned_alloc(1 << 20, size);
        check(next + size <= freed || next >= freed + size, "the next block lies elsewhere");
        free((void *)next);
    }
}

static void freed_blocks_are_junk(void)
{
    for (size_t s = 1; s < sizeof sizes / sizeof sizes[0]; s++) {
        size = sizes[s];
        volatile char *block = a_block();
        size_t left = 0;

        free((void *)(uintptr_t)block);
        for (size_t i = 0; i < size; i++)
            left += block[i] == 1;
        check(left == 0, "nothing of its contents is left in a freed block");
    }
}

/* The distances of 64 blocks that were allocated in a row, from one to the next. */
enum { ORDERED = 64 };

static unsigned kinds_of_steps(void)
{
    char *blocks[ORDERED];
    unsigned kinds = 0;

    for (int i = 0; i < ORDERED; i++)
        blocks[i] = malloc(size);
    for (int i = 1; i < ORDERED; i++) {
        bool seen = false;

        for (int j = 1; j < i; j++)
            seen |= blocks[i] - blocks[i - 1] == blocks[j] - blocks[j - 1];
        kinds += !seen;
    }
    for (int i = 0; i < ORDERED; i++)
        free(blocks[i]);
    return kinds;
}

/* And, for the L1 of every x86-64 processor to be even: no set has more than one more than its
   share of any blocks in a row. */
static void the_order_is_random_and_the_sets_are_even(void)
{
    enum { SETS = 64, BLOCKS = 1000, ROW = 128 };
    static char *blocks[BLOCKS];

    for (size_t s = 0; s < 5; s++) {
        unsigned fullest = 0;

        size = sizes[s];
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = malloc(size);
        for (int first = 0; first + ROW <= BLOCKS; first++) {
            unsigned count[SETS] = {0};

            for (int i = first; i < first + ROW; i++) {
                unsigned now = ++count[(uintptr_t)blocks[i] / LINE % SETS];

                fullest = now > fullest ? now : fullest;
            }
        }
        check(fullest <= ROW / SETS + 1, "128 blocks in a row put at most 3 into a set");
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
        /* In the order of their addresses there are two or three; at random some tens. */
        check(kinds_of_steps() > 16, "who sees a block does not know where the next one is");
    }
}

/* Where no shorter block can be had the block stays, and is as long as was asked for. */
static void usable_bytes_are_those_asked_for_without_memory(void)
{
    static const size_t long_ones[] = {1000, 40000, 3 * LONG};
    enum { SHORT = 100 };

    for (size_t s = 0; s < sizeof long_ones / sizeof long_ones[0]; s++) {
        struct rlimit none = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
        void **last = NULL, **next;

        size = long_ones[s];
        char *block = a_block();
        setrlimit(RLIMIT_AS, &none);
        while ((next = malloc(SHORT)) != NULL) {
            *next = last;
            last = next;
        }
        char *shorter = realloc(block, SHORT);
        none.rlim_cur = RLIM_INFINITY;
        setrlimit(RLIMIT_AS, &none);
        check(shorter == block, "a block that cannot move gets shorter where it is");
        check(malloc_usable_size(shorter) == SHORT, "the usable size is what was asked for then");
        check(shorter[0] == 1 && shorter[SHORT - 1] == 1, "what is in it stays");
        free(shorter);
        for (; last != NULL; last = next) {
            next = *last;
            free(last);
        }
    }
}

/* No false alarm: every byte that the library says is the program's may be written. */
static void usable_bytes_are_those_asked_for(void)
{
    for (size = 1; size < 300000; size += 1 + size / 50) {
        for (variant = 0; variant < 2; variant++) {
            char *block = a_block();

            check(malloc_usable_size(block) == size, "the usable size is what was asked for");
            memset(block, 0xff, malloc_usable_size(block));
            block = realloc(block, size + 1 + size % 90);
            check(malloc_usable_size(block) == size + 1 + size % 90, "the same after realloc");
            memset(block, 0, malloc_usable_size(block));
            free(block);
        }
    }
    usable_bytes_are_those_asked_for_without_memory();
}

/* As often as it takes for freed blocks to come out of quarantine. */
static void what_calloc_gives_is_zero(void)
{
    static const size_t lengths[] = {0, 1, 48, 700};
    enum { ROUNDS = 20000 };

    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        size_t left = 0;

        size = lengths[l];
        for (int i = 0; i < ROUNDS; i++) {
            volatile char *block = calloc(size, 1);
            size_t usable = malloc_usable_size((void *)(uintptr_t)block);

            for (size_t byte = 0; byte < usable; byte++) {
                left += block[byte] != 0;
                block[byte] = 1;
            }
            free((void *)(uintptr_t)block);
        }
        check(left == 0, "every byte of a block from calloc is zero");
    }
}

static unsigned count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned lines = 0;

    for (int c; maps != NULL && (c = getc(maps)) != EOF;)
        lines += c == '\n';
    if (maps != NULL)
        fclose(maps);
    return lines;
}

/* The kernel has 65,530 for a process. */
static void very_many_long_blocks(void)
{
    enum { GUARDED_MOST = 16 << 10, BLOCKS = 24000 };
    static char *blocks[BLOCKS];
    unsigned before = count_mappings();

    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(600000);
    check(blocks[BLOCKS - 1] != NULL, "the last of very many long blocks is there");
    check(count_mappings() - before < 5 * GUARDED_MOST / 2,
          "beyond 16,384 long blocks no more are given guard pages");
    for (unsigned i = 0; i < BLOCKS; i += 2)
        blocks[i] = realloc(blocks[i], i % 4 != 0 ? 550000 : 700000);
    for (unsigned i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } claims[] = {
        {"double-free", every_double_free},
        {"overflow", an_overflow},
        {"use-after-free", a_write_to_a_freed_block},
        {"closed", touching_what_is_closed},
        {"aligned", touching_what_is_before_aligned_blocks},
        {"quarantine", freed_blocks_wait},
        {"impossible", freed_blocks_wait_beside_impossible_requests},
        {"growth", growing_in_small_steps},
        {"kept", freed_mappings_wait},
        {"junk", freed_blocks_are_junk},
        {"order", the_order_is_random_and_the_sets_are_even},
        {"usable", usable_bytes_are_those_asked_for},
        {"zero", what_calloc_gives_is_zero},
        {"many", very_many_long_blocks},
    };

    for (size_t i = 0; argc == 2 && i < sizeof claims / sizeof claims[0]; i++) {
        if (strcmp(argv[1], claims[i].name) == 0) {
            claims[i].run();
            return failures > 0;
        }
    }
    fputs("usage: hardened CLAIM\n", stderr);
    return 2;
}
