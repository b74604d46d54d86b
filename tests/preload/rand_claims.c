/*
 * SPDX-License-Identifier: MIT
 *
 * What the malloc family still promises under librand_malloc.so, one claim a function. The program
 * knows nothing of the library: each claim holds without it too. Usage: rand_claims CLAIM
 * RAND_TEST_MAX_EXTRA tells what the library may add (0 when it is not loaded).
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "rand_claims: line %d: %s does not hold\n", __LINE__, #condition);     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { PAGE = 4096 };

/* The compiler knows what malloc and realloc do and folds such programs away: hide the pointers. */
static void *(*volatile do_malloc)(size_t) = malloc;
static void *(*volatile do_calloc)(size_t, size_t) = calloc;
static void *(*volatile do_realloc)(void *, size_t) = realloc;
static void *(*volatile do_reallocarray)(void *, size_t, size_t) = reallocarray;
static void *(*volatile do_memalign)(size_t, size_t) = memalign;
static void *(*volatile do_aligned_alloc)(size_t, size_t) = aligned_alloc;
static int (*volatile do_posix_memalign)(void **, size_t, size_t) = posix_memalign;

static size_t max_extra(void)
{
    const char *text = getenv("RAND_TEST_MAX_EXTRA");
    return text != NULL ? (size_t)atol(text) : 0;
}

/* A sequence of sizes that is the same in each run: mostly small, some of several pages. */
static size_t some_size(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    unsigned number = *state >> 8;
    return number % 8 == 0 ? number % 40000 : number % 600;
}

/* One block of the given size from each function in turn; which is 0 to 8. */
static void *allocate(unsigned which, size_t size)
{
    void *block = NULL;

    switch (which % 9) {
    case 0:
        return do_malloc(size);
    case 1:
        return do_calloc(1, size);
    case 2:
        return do_realloc(NULL, size);
    case 3:
        return do_reallocarray(NULL, size, 1);
    case 4:
        return do_memalign(64, size);
    case 5:
        return do_aligned_alloc(32, (size + 31) / 32 * 32);
    case 6:
        return do_posix_memalign(&block, 128, size) == 0 ? block : NULL;
    case 7:
        return valloc(size);
    default:
        return pvalloc(size);
    }
}

static void usable_bytes_are_really_there(void)
{
    enum { BLOCKS = 3000 };
    static unsigned char *block[BLOCKS];
    static size_t usable[BLOCKS];
    unsigned state = 1;

    for (unsigned i = 0; i < BLOCKS; i++) {
        size_t size = some_size(&state);
        block[i] = allocate(i, size);
        CHECK(block[i] != NULL);
        usable[i] = malloc_usable_size(block[i]);
        CHECK(usable[i] >= size);
        memset(block[i], (int)(i % 251), usable[i]);
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        for (size_t at = 0; at < usable[i]; at++)
            CHECK(block[i][at] == i % 251);
        free(block[i]);
    }
    CHECK(malloc_usable_size(NULL) == 0);
}

static void realloc_to_the_same_or_the_usable_size_stays(void)
{
    for (size_t size = 1; size < 20000; size += 37) {
        char *first = do_malloc(size);
        char *block = first;
        size_t usable = malloc_usable_size(first);
        for (int i = 0; i < 20; i++) {
            block = do_realloc(block, malloc_usable_size(block));
            CHECK(block == first);
            CHECK(malloc_usable_size(block) == usable);
        }
        for (int i = 0; i < 20; i++)
            block = do_realloc(block, size);
        CHECK(malloc_usable_size(block) <= usable);
        free(block);
    }
}

/* Next allocators round by a quarter and leave room to grow by half; creep goes beyond any bound.
 */
static int is_bounded(size_t usable, size_t size)
{
    return usable <= 2 * (size + max_extra()) + PAGE;
}

static void realloc_loops_do_not_creep(void)
{
    char *block = do_malloc(100);

    for (int i = 0; i < 20000; i++) {
        block = do_realloc(block, i % 2 == 0 ? 1000 : 100);
        CHECK(is_bounded(malloc_usable_size(block), 1000));
    }
    /* By one byte more than there is each time: that has to grow, but by no more than said. */
    while (malloc_usable_size(block) < 1 << 18) {
        size_t size = malloc_usable_size(block) + 1;
        block = do_realloc(block, size);
        CHECK(is_bounded(malloc_usable_size(block), size));
    }
    free(block);
}

static void realloc_that_shrinks_never_grows(void)
{
    enum { BEGIN = 20000 };
    char *block = do_malloc(BEGIN);
    size_t before = malloc_usable_size(block);

    for (size_t size = BEGIN; size > 0; size -= size > 1000 ? 7 : 1) {
        block = do_realloc(block, size);
        CHECK(malloc_usable_size(block) <= before);
        before = malloc_usable_size(block);
    }
    free(block);
}

static void realloc_gives_a_shrunk_large_block_back(void)
{
    enum { LARGE = 8 << 20 };
    char *block = do_malloc(LARGE);

    memset(block, 1, LARGE);
    block = do_realloc(block, LARGE / 8);
    CHECK(malloc_usable_size(block) < LARGE / 2);
    block = do_realloc(block, 100);
    CHECK(malloc_usable_size(block) < 100 + max_extra() + 2 * PAGE);
    free(block);
}

static void realloc_keeps_what_was_there(void)
{
    unsigned state = 5;
    unsigned char *block = NULL;
    size_t size = 0;

    for (int i = 0; i < 5000; i++) {
        size_t wanted = some_size(&state) + 1;
        unsigned char *moved =
            i % 3 == 0 ? do_reallocarray(block, 1, wanted) : do_realloc(block, wanted);
        CHECK(moved != NULL);
        for (size_t at = 0; at < size && at < wanted; at++)
            CHECK(moved[at] == (unsigned char)(at * 7));
        for (size_t at = 0; at < wanted; at++)
            moved[at] = (unsigned char)(at * 7);
        block = moved;
        size = wanted;
    }
    free(block);
}

static void calloc_is_zeroed_after_dirty_blocks(void)
{
    unsigned state = 9;

    for (int i = 0; i < 5000; i++) {
        size_t size = some_size(&state);
        void *dirty = do_malloc(size);
        memset(dirty, 0xff, malloc_usable_size(dirty));
        free(dirty);
        unsigned char *block = do_calloc(size / 3 + 1, 3);
        CHECK(block != NULL);
        for (size_t at = 0; at < (size / 3 + 1) * 3; at++)
            CHECK(block[at] == 0);
        free(block);
    }
}

static void blocks_are_aligned(void)
{
    for (size_t alignment = sizeof(void *); alignment <= 1 << 16; alignment *= 2) {
        for (size_t size = 0; size < 5000; size += 313) {
            void *block = NULL;
            CHECK(do_posix_memalign(&block, alignment, size) == 0);
            CHECK((uintptr_t)block % alignment == 0);
            free(block);
            block = do_memalign(alignment, size);
            CHECK(block != NULL && (uintptr_t)block % alignment == 0);
            free(block);
            block = do_aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
            CHECK(block != NULL && (uintptr_t)block % alignment == 0);
            free(block);
        }
    }
    for (size_t size = 0; size < 10000; size += 777) {
        void *block = valloc(size);
        CHECK(block != NULL && (uintptr_t)block % PAGE == 0);
        free(block);
        block = pvalloc(size);
        CHECK(block != NULL && (uintptr_t)block % PAGE == 0);
        CHECK(malloc_usable_size(block) >= (size + PAGE - 1) / PAGE * PAGE);
        free(block);
        block = do_malloc(size);
        CHECK((uintptr_t)block % (size < 16 ? 8 : 16) == 0);
        free(block);
    }
}

static void impossible_requests_are_enomem_and_change_nothing(void)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, (size_t)PTRDIFF_MAX + 1,
                                   (size_t)PTRDIFF_MAX - 8};
    char *block = do_malloc(100);
    void *untouched = &untouched;

    strcpy(block, "still here");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        errno = 0;
        CHECK(do_malloc(sizes[i]) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(do_calloc(1, sizes[i]) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(do_realloc(block, sizes[i]) == NULL && errno == ENOMEM);
        CHECK(do_posix_memalign(&untouched, 64, sizes[i]) == ENOMEM);
        CHECK(untouched == &untouched);
    }
    errno = 0;
    CHECK(do_calloc(SIZE_MAX / 2, 3) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(do_reallocarray(block, SIZE_MAX / 2, 3) == NULL && errno == ENOMEM);
    CHECK(do_posix_memalign(&untouched, 24, 100) == EINVAL);
    CHECK(do_posix_memalign(&untouched, 4, 100) == EINVAL);
    CHECK(strcmp(block, "still here") == 0);
    free(block);
}

static void errno_is_untouched_when_an_allocation_succeeds(void)
{
    unsigned state = 3;

    for (unsigned i = 0; i < 5000; i++) {
        size_t size = i % 500 == 0 ? 1 << 21 : some_size(&state);
        errno = 4711;
        void *block = allocate(i, size);
        CHECK(block != NULL && errno == 4711);
        block = do_realloc(block, size + 1);
        CHECK(block != NULL && errno == 4711);
        free(block);
        CHECK(errno == 4711);
    }
}

/* Threads pass blocks to each other; each checks what the one before wrote. */
enum { THREADS = 4, ROUNDS = 20000, SLOTS = 64 };
static struct {
    pthread_mutex_t lock;
    unsigned char *block;
    size_t size;
} slots[SLOTS];

static void *exchange_blocks(void *argument)
{
    unsigned state = (unsigned)(uintptr_t)argument * 7919u;

    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t size = some_size(&state) + 1;
        unsigned char *block = allocate(state % 7, size);
        CHECK(block != NULL);
        memset(block, (int)(size % 255), size);
        unsigned slot = (state >> 16) % SLOTS;
        pthread_mutex_lock(&slots[slot].lock);
        unsigned char *old = slots[slot].block;
        size_t old_size = slots[slot].size;
        slots[slot].block = block;
        slots[slot].size = size;
        pthread_mutex_unlock(&slots[slot].lock);
        for (size_t at = 0; old != NULL && at < old_size; at++)
            CHECK(old[at] == old_size % 255);
        free(old);
    }
    return NULL;
}

static void start_threads(pthread_t *threads)
{
    for (uintptr_t i = 0; i < SLOTS; i++)
        pthread_mutex_init(&slots[i].lock, NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, exchange_blocks, (void *)(i + 1)) == 0);
}

static void threads_exchange_blocks_intact(void)
{
    pthread_t threads[THREADS];

    start_threads(threads);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void children_of_a_busy_process_allocate(void)
{
    pthread_t threads[THREADS];

    start_threads(threads);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        int status;
        CHECK(child >= 0);
        if (child == 0) {
            for (unsigned n = 0; n < 1000; n++)
                free(allocate(n, n));
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* For comparison with a run without the library: what the next allocator alone decides. */
static void print_what_the_next_allocator_decides(void)
{
    void *block = do_malloc(100);
    void *result = do_realloc(block, 0);

    printf("realloc to 0 %s\n", result == NULL ? "is NULL" : "is a block");
    free(result);
    block = do_malloc(0);
    printf("malloc of 0 %s\n", block == NULL ? "is NULL" : "is a block");
    free(block);
    static const size_t odd[] = {0, 3, 24, 48, 1000};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        errno = 0;
        block = do_memalign(odd[i], 100);
        printf("memalign to %zu: %s, errno %d\n", odd[i], block == NULL ? "NULL" : "a block",
               errno);
        free(block);
        errno = 0;
        block = do_aligned_alloc(odd[i], 96);
        printf("aligned_alloc to %zu: %s, errno %d\n", odd[i], block == NULL ? "NULL" : "a block",
               errno);
        free(block);
        int error = do_posix_memalign(&block, odd[i], 100);
        printf("posix_memalign to %zu: %d\n", odd[i], error);
        if (error == 0)
            free(block);
    }
}

/* For comparison of seeds: what is there beyond what was asked for. */
static void print_usable_sizes(void)
{
    size_t sizes[200];
    void *blocks[200];

    for (int i = 0; i < 200; i++) {
        blocks[i] = do_malloc(500);
        sizes[i] = malloc_usable_size(blocks[i]);
    }
    for (int i = 0; i < 200; i++) {
        printf("%zu ", sizes[i]);
        free(blocks[i]);
    }
    printf("\n");
}

#define CLAIM(name)                                                                                \
    {                                                                                              \
#name, name                                                                                \
    }
static const struct {
    const char *name;
    void (*check)(void);
} claims[] = {
    CLAIM(usable_bytes_are_really_there),
    CLAIM(realloc_to_the_same_or_the_usable_size_stays),
    CLAIM(realloc_loops_do_not_creep),
    CLAIM(realloc_that_shrinks_never_grows),
    CLAIM(realloc_gives_a_shrunk_large_block_back),
    CLAIM(realloc_keeps_what_was_there),
    CLAIM(calloc_is_zeroed_after_dirty_blocks),
    CLAIM(blocks_are_aligned),
    CLAIM(impossible_requests_are_enomem_and_change_nothing),
    CLAIM(errno_is_untouched_when_an_allocation_succeeds),
    CLAIM(threads_exchange_blocks_intact),
    CLAIM(children_of_a_busy_process_allocate),
    CLAIM(print_what_the_next_allocator_decides),
    CLAIM(print_usable_sizes),
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof claims / sizeof *claims; i++) {
        if (strcmp(claims[i].name, argv[1]) == 0) {
            claims[i].check();
            return 0;
        }
    }
    fprintf(stderr, "rand_claims: no such claim\n");
    return 2;
}
