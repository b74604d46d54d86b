/*
 * SPDX-License-Identifier: MIT
 *
 * An abort undoes every byte that the transaction stored, whatever instruction stored it, and no
 * other byte: what another thread, the kernel or another process wrote beside them stays.
 */
#include "transaction.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { AREA = 3 * 4096, ROUNDS = 400, STORES = 12 };

static uint8_t area[AREA] __attribute__((aligned(4096)));
static uint8_t before[AREA], wanted[AREA];

/* ---- every way to store ---- */

/* One store of kind `kind` somewhere in `at`, of which 64 bytes may be written. */
static void store(unsigned kind, uint8_t *at, uint64_t value)
{
    uint8_t *aligned = (uint8_t *)((uintptr_t)at & ~(uintptr_t)15);

    switch (kind) {
    case 0:
        *at = (uint8_t)value;
        break;
    case 1:
        __asm__ volatile("movw %w1, %0" : "=m"(*(uint16_t *)at) : "r"(value));
        break;
    case 2:
        __asm__ volatile("movl %k1, %0" : "=m"(*(uint32_t *)at) : "r"(value));
        break;
    case 3:
        __asm__ volatile("movq %1, %0" : "=m"(*(uint64_t *)at) : "r"(value));
        break;
    case 4:
        __asm__ volatile("movq %1, %%xmm0\n\tpunpcklqdq %%xmm0, %%xmm0\n\tmovdqu %%xmm0, %0"
                         : "=m"(*(uint8_t(*)[16])at)
                         : "r"(value)
                         : "xmm0");
        break;
    case 5: {
        void *to = at;
        uint64_t count = value % 50;
        __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
        break;
    }
    case 6: {
        void *to = at, *from = before;
        uint64_t count = value % 7;
        __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
        break;
    }
    case 7:
        __asm__ volatile("lock addq %1, %0" : "+m"(*(uint64_t *)aligned) : "r"(value));
        break;
    case 8:
        __asm__ volatile("xchgb %b1, %0" : "+m"(*at), "+q"(value));
        break;
    case 9: {
        uint64_t low = ((uint64_t *)aligned)[0], high = ((uint64_t *)aligned)[1];
        __asm__ volatile("lock cmpxchg16b %0"
                         : "+m"(*(uint8_t(*)[16])aligned), "+a"(low), "+d"(high)
                         : "b"(value), "c"(~value)
                         : "cc");
        break;
    }
    case 10: {
        uint64_t expected = value; /* most often it differs, and nothing is stored */
        __asm__ volatile("lock cmpxchgb %b2, %0"
                         : "+m"(*at), "+a"(expected)
                         : "q"((uint64_t)0x5a)
                         : "cc");
        break;
    }
    case 11:
        __asm__ volatile("rolq $13, %0\n\tnegw %1"
                         : "+m"(*(uint64_t *)at), "+m"(*(uint16_t *)(at + 9)));
        break;
    case 12:
        __asm__ volatile("btsq %1, %0" : "+m"(*(uint64_t *)at) : "r"(value % 256) : "cc", "memory");
        break;
    case 13: {
        double number = (double)value;
        __asm__ volatile("fldl %1\n\tfstpt %0" : "=m"(*(uint8_t(*)[10])at) : "m"(number) : "st");
        break;
    }
    case 14: {
        void *to = at;
        __asm__ volatile("movq %1, %%xmm0\n\tpunpcklqdq %%xmm0, %%xmm0\n\tmovdqa %%xmm0, %%xmm1\n\t"
                         "maskmovdqu %%xmm1, %%xmm0"
                         :
                         : "D"(to), "r"(value)
                         : "xmm0", "xmm1", "memory");
        break;
    }
    default:
        __asm__ volatile("movnti %1, %0" : "=m"(*(uint64_t *)at) : "r"(value));
        break;
    }
}

/* Those from UNFRIENDLY on, with x87 or a non-temporal hint, no transaction survives. */
enum { UNFRIENDLY = 13, KINDS = 16 };

struct work {
    uint64_t seed;
    bool abort;
};

static void store_at_random(void *argument)
{
    const struct work *work = argument;
    uint64_t random = work->seed;

    for (int i = 0; i < STORES; i++) {
        uint64_t value = next_random(&random);
        unsigned kind = (unsigned)(next_random(&random) % UNFRIENDLY);

        store(kind, area + 64 + next_random(&random) % (AREA - 192), value);
    }
    if (work->abort)
        ABORT(1);
}

static void an_abort_undoes_every_byte_and_a_commit_keeps_every_byte(uint64_t seed)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct work work = {.seed = next_random(&seed)};

        for (int i = 0; i < AREA; i++)
            area[i] = (uint8_t)next_random(&seed);
        memcpy(before, area, AREA);

        store_at_random(&work); /* what the stores make of it, without a transaction */
        memcpy(wanted, area, AREA);
        memcpy(area, before, AREA);

        work.abort = true;
        EXPECT_EQUAL(attempt_for(EXPLICIT, store_at_random, &work) & CAUSES, EXPLICIT);
        EXPECT(memcmp(area, before, AREA) == 0);

        work.abort = false;
        EXPECT(commits(store_at_random, &work));
        EXPECT(memcmp(area, wanted, AREA) == 0);
    }
}

static void only_one_kind(void *argument)
{
    store((unsigned)(uintptr_t)argument, area + 4096 - 5, 0x8182838485868788); /* across pages */
    ABORT(1);
}

static void each_kind_of_store_is_undone_across_a_page_boundary(void)
{
    for (uintptr_t kind = 0; kind < KINDS; kind++) {
        memcpy(before, area, AREA);
        int status = attempt_for(EXPLICIT, only_one_kind, (void *)kind);
        EXPECT(status != STARTED);
        if (kind < UNFRIENDLY)
            EXPECT_EQUAL(status & CAUSES, EXPLICIT);
        EXPECT(memcmp(area, before, AREA) == 0);
    }
}

/* ---- one page at two addresses ---- */

static volatile uint8_t *views[2];

static void store_through_both(void *unused)
{
    (void)unused;
    for (int i = 0; i < 64; i++) {
        views[i % 2][i] = 1;
        views[1 - i % 2][i] = 2;
    }
    ABORT(1);
}

static void what_was_stored_twice_by_two_addresses_is_undone(void)
{
    int file = memfd_create("views", 0);

    EXPECT(file >= 0);
    EXPECT_EQUAL(ftruncate(file, 4096), 0);
    for (int i = 0; i < 2; i++) {
        views[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        EXPECT(views[i] != MAP_FAILED);
        views[i][64] = 0; /* brings the page in */
    }
    EXPECT_EQUAL(attempt_for(EXPLICIT, store_through_both, NULL) & CAUSES, EXPLICIT);
    for (int i = 0; i < 64; i++)
        EXPECT_EQUAL(views[0][i], 0);
    close(file);
}

/* ---- the neighbouring byte ---- */

static volatile uint8_t line[64] __attribute__((aligned(64)));
static int stop;

static void spoil_all_but_one(void *unused)
{
    (void)unused;
    for (int i = 0; i < 64; i++) {
        if (i != 17)
            line[i] = 0xee;
    }
    linger(200);
    ABORT(1);
}

static void *count_in_byte_17(void *argument)
{
    unsigned *counted = argument;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        line[17]++;
        ++*counted;
        EXPECT_EQUAL(line[17], (uint8_t)*counted);
    }
    return NULL;
}

static void bytes_that_another_thread_writes_beside_stay_and_ours_are_undone(void)
{
    unsigned counted = 0;
    pthread_t thread;

    memset((void *)line, 0, sizeof(line));
    stop = 0;
    thread = start_thread(count_in_byte_17, &counted);
    for (int i = 0; i < 3000 || __atomic_load_n(&counted, __ATOMIC_RELAXED) < 1000; i++) {
        EXPECT(attempt(spoil_all_but_one, NULL) != STARTED);
        for (int n = 0; n < 64; n++)
            EXPECT(n == 17 || line[n] == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    end_thread(thread);
    EXPECT_EQUAL(line[17], (uint8_t)counted);
}

static int pipe_ends[2];

static void *read_into_byte_17(void *argument)
{
    unsigned *counted = argument;

    for (;;) {
        uint8_t byte = (uint8_t)(*counted + 1);

        if (__atomic_load_n(&stop, __ATOMIC_RELAXED))
            return NULL;
        EXPECT_EQUAL(write(pipe_ends[1], &byte, 1), 1);
        EXPECT_EQUAL(read(pipe_ends[0], (void *)&line[17], 1), 1);
        ++*counted;
        EXPECT_EQUAL(line[17], byte);
    }
}

static void bytes_that_the_kernel_writes_beside_stay_and_ours_are_undone(void)
{
    unsigned counted = 0;
    pthread_t thread;

    memset((void *)line, 0, sizeof(line));
    stop = 0;
    EXPECT_EQUAL(pipe(pipe_ends), 0);
    thread = start_thread(read_into_byte_17, &counted);
    for (int i = 0; i < 1000 || __atomic_load_n(&counted, __ATOMIC_RELAXED) < 200; i++) {
        EXPECT(attempt(spoil_all_but_one, NULL) != STARTED);
        for (int n = 0; n < 64; n++)
            EXPECT(n == 17 || line[n] == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    end_thread(thread);
    EXPECT_EQUAL(line[17], (uint8_t)counted);
}

struct shared {
    volatile uint8_t line[64] __attribute__((aligned(64)));
    volatile uint32_t counted __attribute__((aligned(64)));
    volatile int stop;
};

static void spoil_shared(void *argument)
{
    struct shared *shared = argument;

    for (int i = 0; i < 64; i++) {
        if (i != 40)
            shared->line[i] = 0xdd;
    }
    linger(2000);
    ABORT(1);
}

/* On hardware this is a conflict like any other; the emulator sees nothing of another process. */
static void bytes_that_another_process_writes_beside_stay_and_ours_are_undone(void)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    int status;

    EXPECT(shared != MAP_FAILED);
    shared->counted = 0;
    child = fork();
    if (child == 0) {
        uint8_t count = 0;

        while (!shared->stop) {
            shared->line[40] = ++count;
            if (shared->line[40] != count)
                _exit(1);
            shared->counted++;
        }
        _exit(0);
    }
    EXPECT(child > 0);
    for (int i = 0; i < 300 || shared->counted < 1000; i++) {
        EXPECT(attempt(spoil_shared, shared) != STARTED);
        for (int n = 0; n < 64; n++)
            EXPECT(n == 40 || shared->line[n] == 0);
    }
    shared->stop = 1;
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(shared->line[40], (uint8_t)shared->counted);
    munmap(shared, sizeof(*shared));
}

int main(int count, char **arguments)
{
    need_transactions();
    an_abort_undoes_every_byte_and_a_commit_keeps_every_byte(seed_from(count, arguments, 1));
    each_kind_of_store_is_undone_across_a_page_boundary();
    what_was_stored_twice_by_two_addresses_is_undone();
    bytes_that_another_thread_writes_beside_stay_and_ours_are_undone();
    bytes_that_the_kernel_writes_beside_stay_and_ours_are_undone();
    bytes_that_another_process_writes_beside_stay_and_ours_are_undone();
    return 0;
}
