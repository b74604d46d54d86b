/*
 * SPDX-License-Identifier: MIT
 *
 * What libbank_malloc promises a program that knows nothing of banks, where the pool is nearly
 * full, or in pieces. bank.cmake has the settings.
 *
 *   bank_edges scattered       long blocks are had as long as there is memory, wherever it lies
 *   bank_edges mappings        of blocks that were moved together and are free no mapping is left
 *   bank_edges handler         a handler of SIGABRT may allocate after misuse of a long block
 *   bank_edges twice           prints the address of a block that a thread frees, and then another
 *   bank_edges owner           the same, the owner of the slab last
 *   bank_edges grow            a block that grows by little is seldom moved
 *   bank_edges holes           a short block that stays does not cut the hole of a long one
 *   bank_edges addresses       under a limit of 1 GB of addresses the program's own have room
 *   bank_edges sandbox         a filter of system calls that knows no madvise is no lack of memory
 *   bank_edges lockall         a program that locks all its pages gets no record of chunks not used
 *   bank_edges classes         what other threads freed serves blocks of any size
 *   bank_edges trim            malloc_trim gives back what is free, and it can be had again
 *   bank_edges untrimmed       malloc_trim keeps what BANK_POOL asked for
 *   bank_edges kept            blocks that were freed and kept for the next are free in a child
 *   bank_edges stranded        chunks that cannot move back, as mappings run out, are had again
 */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A chain through the blocks: there is no memory for a table of them. */
struct link {
    struct link *next;
    size_t tag;
};

static struct link *take(size_t bytes, size_t most, size_t *count)
{
    struct link *chain = NULL, *block;

    for (*count = 0; *count < most && (block = malloc(bytes)) != NULL; ++*count) {
        *block = (struct link){.next = chain, .tag = *count};
        chain = block;
    }
    return chain;
}

static void give_back(struct link *chain, size_t count)
{
    for (struct link *next; chain != NULL; chain = next) {
        next = chain->next;
        EXPECT(chain->tag == --count);
        free(chain);
    }
    EXPECT(count == 0);
}

/* Takes up to so many blocks and gives them back; returns how many there were. */
static size_t take_and_give_back(size_t bytes, size_t most)
{
    size_t count;
    struct link *chain = take(bytes, most, &count);

    give_back(chain, count);
    return count;
}

/* A pool of 1 GiB in chunks of 8 KiB: to move them together for all blocks takes more mappings than
   a process may have, and what is free between those that were moved is no row of neighbours. */
static void long_blocks_are_had_as_long_as_there_is_memory(void)
{
    enum { MIB = 1 << 20, POOL_MIB = 1024, CHUNK = 8192, CHUNKS = POOL_MIB * (MIB / CHUNK) };

    for (int round = 0; round < 2; round++) {
        EXPECT(take_and_give_back(MIB, POOL_MIB) > POOL_MIB / 8 * 7);
        /* What went to the kernel is the pool's again. */
        EXPECT(take_and_give_back(CHUNK, CHUNKS) > CHUNKS / 8 * 7);
        EXPECT(take_and_give_back((size_t)100 * MIB, 1) == 1);
    }
}

static int mappings(void)
{
    static char text[1 << 16]; /* a stream's buffer would be the first block */
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), count = 0;

    EXPECT(file >= 0);
    for (ssize_t length; (length = read(file, text, sizeof text)) > 0;) {
        for (ssize_t i = 0; i < length; i++)
            count += text[i] == '\n';
    }
    close(file);
    return count;
}

/* The pool grows for them, so that their pages are first touched where they were moved to. */
static void moved_blocks_leave_no_mapping_behind(void)
{
    enum { BLOCKS = 20, BYTES = 1 << 20, PIECES = BLOCKS * BYTES / 8192 };
    static char *blocks[BLOCKS];
    int before = mappings();

    for (int i = 0; i < BLOCKS; i++) {
        EXPECT((blocks[i] = malloc(BYTES)) != NULL);
        memset(blocks[i], 1, BYTES);
    }
    int moved = mappings();
    EXPECT(moved > before + PIECES);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    /* Freed ones are kept as they are until their bank is empty. */
    EXPECT(take_and_give_back(8192, 8000) > 0);
    EXPECT(mappings() < before + PIECES / 8);
}

static struct link *passed;

static void *free_passed(void *argument)
{
    for (struct link *next; passed != NULL; passed = next) {
        next = passed->next;
        free(passed);
    }
    return argument;
}

/* Most of a pool of 64 MiB, in one size after the other. */
static void what_other_threads_freed_serves_any_size(void)
{
    static const size_t sizes[] = {16, 100, 200, 1000, 60, 400, 3000, 30};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t most = ((size_t)40 << 20) / (sizes[i] + sizes[i] / 4 + 16), count;
        pthread_t thread;

        passed = take(sizes[i], most, &count);
        EXPECT(count == most);
        EXPECT(pthread_create(&thread, NULL, free_passed, NULL) == 0);
        EXPECT(pthread_join(thread, NULL) == 0);
    }
}

static void allocate_and_exit(int signal)
{
    _exit(signal != SIGABRT || malloc(300000) == NULL || malloc(100) == NULL);
}

static void a_handler_of_abort_may_allocate(void)
{
    EXPECT(signal(SIGABRT, allocate_and_exit) != SIG_ERR);
    char *volatile block = malloc(100000);
    free(block + 8192);
    _exit(2);
}

static void *free_it(void *block)
{
    free(block);
    return NULL;
}

static void free_in_a_thread(void *block)
{
    pthread_t thread;

    EXPECT(pthread_create(&thread, NULL, free_it, block) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
}

/* The second time is noticed at once, before the block is another one's. Others are free, too. */
static void free_a_block_in_two_threads(bool is_owner_last)
{
    enum { BLOCKS = 16, FIRST = 3, TWICE = 9, BYTES = 480 };
    void *volatile blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++)
        EXPECT((blocks[i] = malloc(BYTES)) != NULL);
    printf("%p\n", blocks[TWICE]);
    fflush(stdout);
    free_in_a_thread(blocks[FIRST]);
    if (is_owner_last)
        free_in_a_thread(blocks[TWICE]);
    free(blocks[TWICE]);
    if (!is_owner_last)
        free_in_a_thread(blocks[TWICE]);
}

static void a_thread_frees_and_then_another(void)
{
    free_a_block_in_two_threads(false);
}

static void a_thread_frees_and_then_the_owner(void)
{
    free_a_block_in_two_threads(true);
}

/* Eight times for each time that its length doubles, and a few. */
static void a_block_that_grows_is_seldom_moved(void)
{
    enum { STEP = 4096, MOST = 16 << 20, MOVES_MOST = 120 };
    char *block = NULL;
    int moves = 0;

    for (size_t bytes = STEP; bytes <= MOST; bytes += STEP) {
        char *before = block;

        block = realloc(block, bytes);
        EXPECT(block != NULL);
        moves += block != before;
    }
    free(block);
    EXPECT(moves <= MOVES_MOST);
}

static void short_blocks_leave_the_hole_of_a_long_one_whole(void)
{
    enum { ROUNDS = 1000, LONG = 1 << 20, SHORT = 2000, KEPT = 2, MOST = 16 << 20 };

    for (int round = 0; round < ROUNDS; round++) {
        char *block = malloc(LONG);

        EXPECT(block != NULL);
        free(block);
        for (int i = 0; i < KEPT; i++)
            EXPECT(malloc(SHORT) != NULL);
    }
    EXPECT(mallinfo2().arena <= MOST);
}

static void of_few_addresses_many_are_the_programs(void)
{
    enum { PART = 200 << 20 };
    char *block = malloc(PART);

    EXPECT(block != NULL);
    for (int i = 0; i < 2; i++)
        EXPECT(mmap(NULL, PART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    free(block);
}

/* The library finds it so from the beginning in a program that this one becomes. */
static void where_madvise_is_not_known_there_is_memory(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(77);
    execl("/proc/self/exe", "bank_edges", "grow", NULL);
    EXPECT(!"exec");
}

static uint64_t kib_of(const char *file, const char *key)
{
    char line[256];
    unsigned long kib = 0;
    FILE *stream = fopen(file, "r");

    EXPECT(stream != NULL);
    while (kib == 0 && fgets(line, sizeof line, stream) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoul(line + strlen(key), NULL, 10);
    }
    fclose(stream);
    return kib;
}

/* The pool's limit is a quarter of the machine's memory: records of all its chunks of 8 KiB would
   be a 128th of it. */
static void locked_pages_hold_no_record_of_chunks_that_are_not_used(void)
{
    enum { SHARE = 150 };

    free(malloc(100));
    if (mlockall(MCL_CURRENT) != 0)
        exit(77);
    EXPECT(kib_of("/proc/self/status", "VmRSS:") < kib_of("/proc/meminfo", "MemTotal:") / SHARE);
}

/* Short blocks and long ones, all of whose bytes are used. */
static void use_memory(size_t bytes)
{
    struct link *chain = NULL;

    for (size_t used = 0, length = 0; used < bytes; used += length) {
        length = length != 1000 ? 1000 : 300000;
        struct link *block = malloc(length);

        EXPECT(block != NULL);
        memset(block, 1, length);
        block->next = chain;
        chain = block;
    }
    for (struct link *next; chain != NULL; chain = next) {
        next = chain->next;
        free(chain);
    }
}

enum { TRIMMED = 64 << 20, TRIMMED_KIB = TRIMMED >> 10 };

static void trim_gives_back_what_is_free(void)
{
    for (int round = 0; round < 2; round++) {
        use_memory(TRIMMED);
        uint64_t full = kib_of("/proc/self/status", "VmRSS:");
        size_t pool = mallinfo2().arena;
        EXPECT(mallinfo2().keepcost > TRIMMED / 8 * 7);
        EXPECT(malloc_trim(0) == 1);
        EXPECT(kib_of("/proc/self/status", "VmRSS:") + TRIMMED_KIB / 8 * 7 < full);
        EXPECT(mallinfo2().arena + TRIMMED / 8 * 7 < pool);
    }
}

static void trim_keeps_a_pool_of_a_size(void)
{
    size_t pool = mallinfo2().arena;

    use_memory(TRIMMED);
    EXPECT(malloc_trim(0) == 0);
    EXPECT(mallinfo2().arena == pool && mallinfo2().keepcost == 0);
    EXPECT(kib_of("/proc/self/status", "VmRSS:") > TRIMMED_KIB / 8 * 7);
}

/* What was moved together has a mapping for each piece, while it is kept. */
static void kept_blocks_are_free_in_a_child(void)
{
    enum { BLOCKS = 20, BYTES = 1 << 20, PIECES = BLOCKS * BYTES / 8192 };
    static char *blocks[BLOCKS];
    int before = mappings(), status;

    for (int i = 0; i < BLOCKS; i++)
        EXPECT((blocks[i] = malloc(BYTES)) != NULL);
    for (int i = 1; i < BLOCKS; i++)
        free(blocks[i]);
    int kept = mappings();
    EXPECT(kept > before + PIECES / 2);
    pid_t child = fork();
    if (child == 0) {
        EXPECT(mappings() < kept - PIECES / 2);
        free(blocks[0]);
        EXPECT(take_and_give_back(BYTES, BLOCKS) == BLOCKS);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(take_and_give_back(BYTES, BLOCKS) == BLOCKS);
}

/* Every page of its own, until the kernel has no mapping more. */
static char *use_up_mappings(size_t pages)
{
    const size_t page = 4096;
    char *many = mmap(NULL, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t used = 0;

    EXPECT(many != MAP_FAILED);
    while (used < pages && mprotect(many + used * page, page, PROT_READ) == 0)
        used += 2;
    if (used >= pages)
        exit(77);
    return many;
}

static void chunks_that_cannot_move_back_are_had_again(void)
{
    enum { PAGES = 1 << 18, BLOCKS = 32, BYTES = 1 << 20, CHUNK = 8192, POOL = 64 << 20 };
    static char *blocks[BLOCKS];
    size_t chunks = take_and_give_back(CHUNK, POOL / CHUNK);

    for (int i = 0; i < BLOCKS; i++)
        EXPECT((blocks[i] = malloc(BYTES)) != NULL);
    char *many = use_up_mappings(PAGES);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    (void)malloc_trim(0); /* what is kept moves back, or cannot */
    EXPECT(munmap(many, (size_t)PAGES * 4096) == 0);
    EXPECT(take_and_give_back(CHUNK, POOL / CHUNK) == chunks);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } claims[] = {
        {"scattered", long_blocks_are_had_as_long_as_there_is_memory},
        {"addresses", of_few_addresses_many_are_the_programs},
        {"sandbox", where_madvise_is_not_known_there_is_memory},
        {"classes", what_other_threads_freed_serves_any_size},
        {"handler", a_handler_of_abort_may_allocate},
        {"owner", a_thread_frees_and_then_the_owner},
        {"twice", a_thread_frees_and_then_another},
        {"trim", trim_gives_back_what_is_free},
        {"untrimmed", trim_keeps_a_pool_of_a_size},
        {"kept", kept_blocks_are_free_in_a_child},
        {"stranded", chunks_that_cannot_move_back_are_had_again},
        {"lockall", locked_pages_hold_no_record_of_chunks_that_are_not_used},
        {"holes", short_blocks_leave_the_hole_of_a_long_one_whole},
        {"grow", a_block_that_grows_is_seldom_moved},
        {"mappings", moved_blocks_leave_no_mapping_behind},
    };

    for (size_t i = 0; argc == 2 && i < sizeof claims / sizeof *claims; i++) {
        if (strcmp(argv[1], claims[i].name) == 0) {
            claims[i].run();
            return 0;
        }
    }
    return 2;
}
