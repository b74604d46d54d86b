/*
 * SPDX-License-Identifier: MIT
 *
 * Programs with a persistent file, for tests of mplace powercut:
 *
 *   powercut_program bank FILE          creates a region of libmplace_persist and moves money there
 *   powercut_program reused FILE        the same, then other data where the region was mapped
 *   powercut_program careful FILE       a message in a mapped file, then the flag that it is there
 *   powercut_program careless FILE      the same without a fence between them
 *   powercut_program synced FILE        both with msync of one byte of their page, which is enough
 *   powercut_program not-synced FILE    the message with an msync that promises nothing (MS_ASYNC)
 *   powercut_program rounds FILE        two threads, one lock: a number, and when it is durable
 * again powercut_program careless-rounds FILE   the same without a fence between them
 *   powercut_program spun-rounds FILE   as rounds; the threads spin for their turns, without a lock
 *   powercut_program two-files FILE     careless in FILE, then a shorter range that nothing stores
 * to powercut_program twins FILE         the same with a second one of the same length
 *   powercut_program check-rounds FILE  0: the two numbers are the same, or the first is one ahead
 *   powercut_program check-bank FILE    exit status 0: no money was lost or made
 *   powercut_program check-flag FILE    0: the message is there if the flag is
 */
#include "mplace_persist.h"
#include "mplace_trace.h"

#include "persist/region.h"

#include <emmintrin.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ACCOUNTS = 64, MONEY = 1000, TRANSFERS = 60, BYTES = 4096, MESSAGE = 0x5a5a };
enum {
    AT = 32,
    FLAG = 64
}; /* words of the file: the message, in no line of others, and the flag */

static int bank(const char *path)
{
    struct persist_region *region;
    struct persist_tx *tx;
    uint64_t block, money[ACCOUNTS], *account;

    if (persist_create(path, 1 << 16, PERSIST_LOG_EAGER, 1 << 14) != 0)
        return 1;
    region = persist_open(path);
    tx = persist_begin(region);
    block = persist_alloc(tx, sizeof money);
    account = (uint64_t *)(void *)((char *)persist_base(region) + block);
    for (int i = 0; i < ACCOUNTS; i++)
        money[i] = MONEY;
    persist_write(tx, account, money, sizeof money);
    persist_set_root(tx, block);
    persist_commit(tx);
    mplace_trace_begin();
    for (int i = 0; i < TRANSFERS; i++) {
        uint64_t from = account[i * 7 % ACCOUNTS] - 1, to = account[(i * 11 + 5) % ACCOUNTS] + 1;

        if (i * 7 % ACCOUNTS == (i * 11 + 5) % ACCOUNTS)
            continue;
        tx = persist_begin(region);
        persist_write(tx, &account[i * 7 % ACCOUNTS], &from, sizeof from);
        persist_write(tx, &account[(i * 11 + 5) % ACCOUNTS], &to, sizeof to);
        persist_commit(tx);
    }
    mplace_trace_end();
    return persist_close(region);
}

static int reused(const char *path)
{
    struct persist_region *region = bank(path) == 0 ? persist_open(path) : NULL;
    void *place, *memory;

    if (region == NULL)
        return 1;
    place = region->persistence.base;
    if (persist_close(region) != 0)
        return 1;
    memory = mmap(place, BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != place)
        return 1;
    mplace_trace_begin();
    memset(memory, 1, BYTES);
    mplace_trace_end();
    return 0;
}

static int check_bank(const char *path)
{
    struct persist_region *region = persist_open(path);
    uint64_t sum = 0;

    if (region == NULL)
        return 1;
    for (int i = 0; i < ACCOUNTS; i++)
        sum += ((uint64_t *)(void *)((char *)persist_base(region) + persist_root(region)))[i];
    return persist_close(region) != 0 || sum != (uint64_t)ACCOUNTS * MONEY;
}

static volatile uint64_t *map(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    void *mapped;

    if (file < 0 || ftruncate(file, BYTES) != 0)
        return NULL;
    mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static int message(const char *path, int careful)
{
    volatile uint64_t *words = map(path);

    if (words == NULL)
        return 1;
    mplace_trace_persistent((const void *)(uintptr_t)words, BYTES);
    words[AT] = MESSAGE;
    _mm_clflush((const void *)(uintptr_t)(words + AT));
    if (careful)
        _mm_sfence();
    words[FLAG] = 1;
    _mm_clflush((const void *)(uintptr_t)(words + FLAG));
    _mm_sfence();
    return 0;
}

/* ---- two threads ---- */

enum { ROUNDS = 60 };
static volatile uint64_t *shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int turn;
static enum { LOCKED, CARELESS, SPUN } way;

static void one_round(void)
{
    uint64_t number = shared[FLAG] + 1;

    shared[AT] = number;
    _mm_clflush((const void *)(uintptr_t)(shared + AT));
    if (way != CARELESS)
        _mm_sfence();
    shared[FLAG] = number;
    _mm_clflush((const void *)(uintptr_t)(shared + FLAG));
    _mm_sfence();
}

static void *rounds_of(void *self)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (way == SPUN) {
            while (atomic_load(&turn) != (int)(intptr_t)self) {
            }
            one_round();
            atomic_store(&turn, 1 - (int)(intptr_t)self);
        } else {
            pthread_mutex_lock(&lock);
            one_round();
            pthread_mutex_unlock(&lock);
        }
    }
    return NULL;
}

static int rounds(const char *path)
{
    pthread_t threads[2];

    shared = map(path);
    if (shared == NULL)
        return 1;
    mplace_trace_persistent((const void *)(uintptr_t)shared, BYTES);
    for (intptr_t i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, rounds_of, (void *)i) != 0)
            return 1;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int check_rounds(const char *path)
{
    shared = map(path);
    return shared == NULL || shared[AT] - shared[FLAG] > 1;
}

/* The mark of another range: of the same length, or of half. */
static int with_another(const char *path, uint64_t bytes)
{
    static uint64_t other[BYTES / sizeof(uint64_t)];
    int status = message(path, 0);

    mplace_trace_persistent(other, bytes);
    return status;
}

static int synced(const char *path, int flags)
{
    volatile uint64_t *words = map(path);
    void *page = (void *)(uintptr_t)words;

    if (words == NULL)
        return 1;
    mplace_trace_persistent(page, BYTES);
    words[AT] = MESSAGE;
    if (msync(page, 1, flags) != 0)
        return 1;
    words[FLAG] = 1;
    return msync(page, 1, MS_SYNC) != 0;
}

static int check_flag(const char *path)
{
    volatile uint64_t *words = map(path);

    return words == NULL || (words[FLAG] == 1 && words[AT] != MESSAGE);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "bank") == 0)
        return bank(argv[2]);
    if (strcmp(argv[1], "reused") == 0)
        return reused(argv[2]);
    if (strcmp(argv[1], "check-bank") == 0)
        return check_bank(argv[2]);
    if (strcmp(argv[1], "check-flag") == 0)
        return check_flag(argv[2]);
    if (strcmp(argv[1], "check-rounds") == 0)
        return check_rounds(argv[2]);
    if (strcmp(argv[1], "two-files") == 0)
        return with_another(argv[2], BYTES / 2);
    if (strcmp(argv[1], "twins") == 0)
        return with_another(argv[2], BYTES);
    if (strcmp(argv[1], "careless-rounds") == 0)
        way = CARELESS;
    if (strcmp(argv[1], "spun-rounds") == 0)
        way = SPUN;
    if (strstr(argv[1], "rounds") != NULL)
        return rounds(argv[2]);
    if (strcmp(argv[1], "synced") == 0)
        return synced(argv[2], MS_SYNC);
    if (strcmp(argv[1], "not-synced") == 0)
        return synced(argv[2], MS_ASYNC);
    return message(argv[2], strcmp(argv[1], "careful") == 0);
}
