/*
 * SPDX-License-Identifier: MIT
 *
 * The kernel refuses: each mmap, munmap, mremap, mprotect, madvise and raw system call that the
 * allocator makes is refused in turn, alone, and with what comes after it. A program of allocations
 * runs meanwhile in a child that has never allocated before. Promised:
 *   - a call that fails says ENOMEM, and fails only if the kernel refused it something;
 *   - what was allocated before is whole;
 *   - once nothing is refused any more, everything can be had again.
 * And the same with refusals of the kernel's own making: a limit on data, no mapping left.
 *
 * And a block that gets shorter, while the kernel does nothing but take memory back, is as whole.
 *
 * And as memory ends, while another CPU has free blocks, these are found without a request to the
 * kernel for each.
 *
 *   refusals one | three | rest [STEP]     how many are refused from the k-th on; k: each STEP-th
 *   refusals limits | shrink | end
 *
 * libc's allocator is refused nothing, see refusals_kernel.h: it runs the program once.
 */
#include "fuzz.h"
#include "fuzz_model.h"
#include "fuzz_turns.h"
#include "refusals_kernel.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ERRNO_BEFORE = 12345, CHILD_SECONDS = 120 };

/* A call is about to be made; afterwards, whether it may have failed. */
static unsigned long refused_before;

static void begin(const char *name)
{
    fuzz_position.operation++;
    fuzz_position.name = name;
    refused_before = refusals_here();
    errno = ERRNO_BEFORE;
}

/* The kernel may refuse at any time, unseen. glibc then tries other ways and leaves errno changed.
 */
static bool may_fail;

/* True if it succeeded, as errno says too. */
static bool succeeded(struct slot *slot, const void *block)
{
    if (block != NULL) {
        if (errno != ERRNO_BEFORE && !may_fail)
            model_fail(slot, "a success changed errno");
        return true;
    }
    if (errno != ENOMEM)
        model_fail(slot, "a failure without ENOMEM");
    if (refusals_here() == refused_before && !may_fail)
        model_fail(slot, "failed where nothing was refused");
    return false;
}

static void check_all(void)
{
    for (int i = 0; i < MODEL_SLOTS; i++)
        if (model_slots[i].block != NULL)
            model_check(&model_slots[i]);
}

static void get(int number, size_t bytes, size_t alignment)
{
    struct slot *slot = &model_slots[number];
    void *block;

    if (slot->block != NULL)
        return;
    begin(alignment != 0 ? "aligned_alloc" : number % 3 == 0 ? "calloc" : "malloc");
    block = alignment != 0    ? aligned_alloc(alignment, bytes)
            : number % 3 == 0 ? calloc(1, bytes)
                              : malloc(bytes);
    if (!succeeded(slot, block))
        return;
    if (alignment == 0 && number % 3 == 0)
        model_check_zero(slot, block, bytes);
    model_add(slot, block, bytes, bytes, alignment);
}

static void change(int number, size_t bytes)
{
    struct slot *slot = &model_slots[number];

    if (slot->block == NULL) {
        get(number, bytes, 0);
        return;
    }
    model_check(slot);
    begin("realloc");
    void *block = realloc(slot->block, bytes);
    if (!succeeded(slot, block)) {
        model_check(slot);
        return;
    }
    model_moved(slot, block, bytes);
}

static void give_back(int number)
{
    struct slot *slot = &model_slots[number];
    unsigned char *block = slot->block;

    if (block == NULL)
        return;
    model_remove(slot);
    model_clear(slot);
    begin("free");
    free(block);
    if (errno != ERRNO_BEFORE)
        model_fail(slot, "free changed errno");
}

static void trim(void)
{
    begin("malloc_trim");
    malloc_trim(0);
    check_all();
}

/* What is mapped from now on lies far from what was: tables by address grow. */
static void use_up_the_neighbourhood(void)
{
    (void)mmap(NULL, (size_t)20 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
               REFUSALS_UNCOUNTED, 0);
}

/* Goes through every way in which an allocator may ask the kernel for something. */
static void use_the_allocator(void)
{
    static const size_t sizes[] = {1,     24,    100,    500,    1000,    2100,
                                   16000, 66000, 200000, 530000, 1050000, (2 << 20) + 1};
    enum { SIZES = sizeof sizes / sizeof sizes[0], MANY = 1800 };
    int next = 0;

    for (int cpu = 0; cpu < 2; cpu++) {
        for (int i = 0; i < SIZES; i++) {
            get(next++, sizes[i], 0);
            get(next++, sizes[i], 0);
        }
        for (size_t alignment = 64; alignment <= 8 << 20; alignment *= 8)
            get(next++, 3000, alignment);
        turns_move((unsigned)cpu + 1);
        use_up_the_neighbourhood();
    }
    for (int i = 0; i < MANY; i++)
        get(MODEL_SLOTS - 1 - i, 3000, 0);
    /* Grown and shrunk, where it stands, by moving and by a copy; few pages, for there are hundreds
       of children. */
    static const size_t steps[] = {1 << 20, 1400000, 3 << 20, 1 << 20, 40000,
                                   700000,  600000,  1 << 20, 1300000, 50};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        change(0, steps[i]);
        change(next - 1, steps[i]);
    }
    check_all();
    for (int i = 0; i < MANY; i++)
        if (i % 8 != 0)
            give_back(MODEL_SLOTS - 1 - i);
    trim();
    for (int i = 0; i < next; i += 2)
        give_back(i);
    trim();
    turns_move(0);
    for (int i = 0; i < 500; i++)
        get(MODEL_SLOTS - 1 - i, 1500, 0);
    check_all();
}

static void give_all_back(void)
{
    for (int i = 0; i < MODEL_SLOTS; i++)
        give_back(i);
    trim();
}

static _Noreturn void be_refused(void)
{
    alarm(CHILD_SECONDS);
    turns_start(1, NULL);
    use_the_allocator();
    plan->from = 0;
    check_all();
    use_the_allocator();
    give_all_back();
    _exit(0);
}

static void expect_success(pid_t child)
{
    int status;

    if (child < 0 || waitpid(child, &status, 0) != child) {
        dprintf(STDERR_FILENO, "refusals: cannot run a child\n");
        exit(2);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        dprintf(STDERR_FILENO, "refusals: refused %lu to %lu: status %#x\n", plan->from, plan->to,
                status);
        exit(1);
    }
}

/*
 * The parent does not allocate, so that each child does so for the first time. What a process asks
 * for once, at first, is refused request by request; from then on only each step-th.
 */
static void refuse_each_in_turn(unsigned long width, unsigned long step)
{
    enum { FIRST = 32 };
    unsigned long k = 0, made;

    do {
        k += k < FIRST ? 1 : step;
        refusals_plan(k, width);
        fuzz_position.input = k;
        pid_t child = fork();
        if (child == 0)
            be_refused();
        expect_success(child);
        made = plan->made;
    } while (plan->refused > 0);
    plan->from = 0;
    dprintf(STDOUT_FILENO, "of %lu requests one in %lu was refused\n", made, step);
    if (made < 50 && refusals_are_promised()) {
        dprintf(STDERR_FILENO, "refusals: the allocator's requests do not come by here\n");
        exit(1);
    }
}

/* Writable private memory: what mmap and brk give, without the addresses that RLIMIT_AS counts. */
static void limit_data(size_t bytes)
{
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};

    if (setrlimit(RLIMIT_DATA, &limit) != 0) {
        dprintf(STDERR_FILENO, "refusals: cannot limit data\n");
        _exit(2);
    }
}

static _Noreturn void be_limited(void)
{
    alarm(CHILD_SECONDS);
    turns_start(1, NULL);
    may_fail = true;
    for (size_t bytes = 1 << 20; bytes <= 96 << 20; bytes += bytes / 2) {
        limit_data(bytes);
        use_the_allocator();
    }
    limit_data(0);
    use_the_allocator();
    give_all_back();
    limit_data(RLIM_INFINITY);
    may_fail = false;
    use_the_allocator();
    give_all_back();
    _exit(0);
}

/* Pages that no two neighbours of can be one mapping, until the kernel keeps no more of them. */
static _Noreturn void be_without_mappings(void)
{
    const size_t page = 4096, pages = (size_t)1 << 18;
    char *many;
    size_t used = 0;

    alarm(CHILD_SECONDS);
    turns_start(1, NULL);
    use_the_allocator();
    many = mmap(NULL, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (many == MAP_FAILED)
        _exit(2);
    while (used < pages && mprotect(many + used * page, page, PROT_READ) == 0)
        used += 2;
    if (used >= pages) {
        dprintf(STDERR_FILENO, "refusals: this kernel keeps all mappings: not tried\n");
        _exit(0);
    }
    may_fail = true;
    use_the_allocator();
    give_all_back();
    use_the_allocator();
    munmap(many, pages * page);
    may_fail = false;
    check_all();
    use_the_allocator();
    give_all_back();
    _exit(0);
}

static _Noreturn void be_refused_while_a_block_shrinks(void)
{
    alarm(CHILD_SECONDS);
    get(0, 700000, 0);
    refusals_plan(1, 0);
    plan->kinds = REFUSE_OTHERS;
    change(0, 600000);
    plan->from = 0;
    change(0, 1 << 20);
    give_all_back();
    _exit(0);
}

/* A chain through the blocks: there is no memory for a table of them. */
struct link {
    struct link *next;
};

static struct link *take_all(size_t bytes, unsigned long *count)
{
    struct link *chain = NULL, *more;

    for (*count = 0; (more = malloc(bytes)) != NULL; ++*count) {
        more->next = chain;
        chain = more;
    }
    return chain;
}

/* Every second one, so that all runs keep some; returns how many. */
static unsigned long free_half(struct link *chain)
{
    unsigned long count = 0;

    for (; chain != NULL && chain->next != NULL; chain = chain->next, count++) {
        struct link *unwanted = chain->next;

        chain->next = unwanted->next;
        free(unwanted);
    }
    return count;
}

/* Beyond 64 MiB: whether there is memory left for the sub-heap of another CPU depends on it. */
static size_t room_at_the_end;

static _Noreturn void be_at_the_end(void)
{
    struct rlimit limit = {.rlim_max = RLIM_INFINITY};
    unsigned long taken, given_back, again;
    struct link *chain;

    alarm(CHILD_SECONDS);
    turns_start(1, NULL);
    turns_move(0);
    free(malloc(1000));
    limit.rlim_cur = (64 << 20) + room_at_the_end;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        _exit(2);
    chain = take_all(144, &taken);
    given_back = free_half(chain);
    turns_move(1);
    refusals_plan((unsigned long)-1, 0); /* only counts */
    (void)take_all(144, &again);
    plan->from = 0;
    if (taken < 100000 || again < given_back - given_back / 8 || plan->made > again / 100) {
        dprintf(STDERR_FILENO,
                "refusals: of %lu blocks %lu were freed, %lu of them had again with %lu requests\n",
                taken, given_back, again, plan->made);
        _exit(1);
    }
    _exit(0);
}

static void in_a_child(void (*body)(void))
{
    pid_t child = fork();

    if (child == 0)
        body();
    expect_success(child);
}

int main(int argc, char **argv)
{
    const char *what = argc >= 2 ? argv[1] : "";
    unsigned long step = argc == 3 ? strtoul(argv[2], NULL, 10) : 1;

    refusals_open();
    if (strcmp(what, "one") == 0) {
        refuse_each_in_turn(1, step);
    } else if (strcmp(what, "three") == 0) {
        refuse_each_in_turn(3, step);
    } else if (strcmp(what, "rest") == 0) {
        refuse_each_in_turn(0, step);
    } else if (strcmp(what, "limits") == 0) {
        in_a_child(be_limited);
        in_a_child(be_without_mappings);
    } else if (strcmp(what, "shrink") == 0) {
        in_a_child(be_refused_while_a_block_shrinks);
    } else if (strcmp(what, "end") == 0) {
        for (; room_at_the_end < (size_t)4 << 20; room_at_the_end += (size_t)192 << 10)
            in_a_child(be_at_the_end);
    } else {
        fputs("usage: refusals one|three|rest [STEP], or limits|shrink|end\n", stderr);
        return 2;
    }
    return 0;
}
