/*
 * SPDX-License-Identifier: MIT
 *
 * What libbank_malloc promises the child of a fork. bank.cmake has the settings.
 *
 *   bank_children notified   blocks that other threads freed in the child are had again, though
 *                            blocks of their slabs waited to be collected when it was forked
 *   bank_children scattered  of a pool whose huge pages all have a block of the parent the child
 *                            gets what is free
 *   bank_children mappings   what is free between its parent's blocks costs a child no mappings
 *   bank_children foreign    a mapping that the program put where the pool's records were to be is
 *                            there in the child, too
 */
#include "expect.h"

#include "mplace_bank.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { BLOCKS = 80000, BLOCK_BYTES = 64 };

static void *blocks[BLOCKS];
static sem_t have_taken, may_end;

static void *take_all(void *argument)
{
    for (int i = 0; i < BLOCKS; i++)
        EXPECT((blocks[i] = malloc(BLOCK_BYTES)) != NULL);
    EXPECT(sem_post(&have_taken) == 0);
    EXPECT(sem_wait(&may_end) == 0);
    return argument;
}

/* Most of a pool of 8 MiB, by a thread that then waits. */
static pthread_t start_owner(void)
{
    pthread_t owner;

    EXPECT(pthread_create(&owner, NULL, take_all, NULL) == 0);
    EXPECT(sem_wait(&have_taken) == 0);
    return owner;
}

static void end_owner(pthread_t owner)
{
    EXPECT(sem_post(&may_end) == 0);
    EXPECT(pthread_join(owner, NULL) == 0);
}

static void free_every(int step, int first)
{
    for (int i = first; i < BLOCKS; i += step)
        free(blocks[i]);
}

/* The owner is told of each slab before the fork, and collects from none. */
static void what_other_threads_freed_is_had_again(void)
{
    int status;

    EXPECT(sem_init(&have_taken, 0, 0) == 0 && sem_init(&may_end, 0, 0) == 0);
    pthread_t owner = start_owner();
    free_every(2, 0);
    pid_t child = fork();
    if (child == 0) {
        free_every(2, 1);
        for (int round = 0; round < 3; round++) {
            owner = start_owner();
            free_every(1, 0);
            end_owner(owner);
        }
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    end_owner(owner);
}

/* A block in a hundred is left of a pool of 64 MiB. */
static void what_is_free_between_the_parents_blocks_is_had(void)
{
    enum { CHUNK = 8192, BYTES = CHUNK / 2, MOST = (64 << 20) / BYTES, LEFT = 100 };
    void (*figures)(struct bank_figures *, size_t);
    struct bank_figures now;
    int count = 0, status;

    *(void **)&figures = dlsym(RTLD_DEFAULT, "bank_figures");
    figures(&now, sizeof now);
    if (now.chunk_bytes != CHUNK) {
        puts("skipped: the kernel tells no frame numbers, or gives no huge pages");
        exit(EXIT_SKIPPED);
    }
    while (count < MOST && (blocks[count] = malloc(BYTES)) != NULL)
        count++;
    EXPECT(count > MOST / 8 * 7);
    for (int i = 0; i < count; i++) {
        if (i % LEFT != 0)
            free(blocks[i]);
    }
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < MOST / 2; i++)
            EXPECT(malloc(BYTES) != NULL);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int lines = 0;

    EXPECT(maps != NULL);
    for (int c; (c = getc(maps)) != EOF;)
        lines += c == '\n';
    fclose(maps);
    return lines;
}

static void what_is_free_between_the_parents_blocks_costs_no_mappings(void)
{
    enum { CHUNK = 8192, COUNT = 8000, FEW = 100 };
    int status;

    for (int i = 0; i < COUNT; i++)
        EXPECT((blocks[i] = malloc(CHUNK)) != NULL);
    for (int i = 0; i < COUNT; i += 2)
        free(blocks[i]);
    pid_t child = fork();
    if (child == 0) {
        int before = mappings();

        for (int i = 0; i < COUNT / 2; i++) {
            char *block = malloc(CHUNK);

            EXPECT(block != NULL);
            *block = 1;
        }
        EXPECT(mappings() < before + FEW);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

/* The end of the mapping before the one that the address is in: of the pool's records. */
static char *end_of_records(const void *block)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t begin, end, before = 0;
    char line[512];

    EXPECT(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL &&
           sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 && end <= (uintptr_t)block)
        before = end;
    fclose(maps);
    return (char *)before;
}

static void a_mapping_of_the_program_is_there_in_a_child(void)
{
    enum { PAGE = 4096, PAGES_BEHIND = 200, BLOCKS_MOST = 400000 };
    char *place = end_of_records(malloc(10)) + (size_t)PAGES_BEHIND * PAGE;
    char *mapping = mmap(place, PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    int count = 0, status;

    EXPECT(mapping == place);
    *mapping = 1;
    while (count < BLOCKS_MOST && malloc(4000) != NULL)
        count++;
    EXPECT(count < BLOCKS_MOST); /* there are records up to the mapping */
    pid_t child = fork();
    if (child == 0)
        _exit(*mapping != 1);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } claims[] = {
        {"foreign", a_mapping_of_the_program_is_there_in_a_child},
        {"scattered", what_is_free_between_the_parents_blocks_is_had},
        {"mappings", what_is_free_between_the_parents_blocks_costs_no_mappings},
        {"notified", what_other_threads_freed_is_had_again},
    };

    for (size_t i = 0; argc == 2 && i < sizeof claims / sizeof *claims; i++) {
        if (strcmp(argv[1], claims[i].name) == 0) {
            claims[i].run();
            return 0;
        }
    }
    return 2;
}
