/*
 * SPDX-License-Identifier: MIT
 *
 * The operations of the fuzzer. The first bytes of an input say how often each occurs in it, which
 * sizes it asks for and how many blocks it holds at most: inputs that do a few things often reach
 * states that those that do everything a little never see. The other bytes are the operations.
 *
 * Every call is made with errno at a value of ours, so that a success that touches it is seen.
 */
#include "fuzz.h"

#include "fuzz_input.h"
#include "fuzz_model.h"
#include "fuzz_turns.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t fuzz_calls, fuzz_digest = 0xcbf29ce484222325u;
bool fuzz_trace, fuzz_reference;

enum {
    ERRNO_BEFORE = 12345,
    LIVE_MOST = 96 << 20, /* bytes; beyond it, what would allocate frees instead */
    RUN_MOST = 256,
    SWEEP_MOST = 2048, /* more than an allocator keeps of one size for quick reuse, one hopes */
};

static struct input input;
static uint32_t slots_mask;

/* What the allocator answered, as far as every correct one answers the same. */
static void note(int outcome)
{
    fuzz_calls++;
    fuzz_digest = (fuzz_digest ^ (uint64_t)(outcome + 1)) * 0x100000001b3u;
    if (fuzz_trace)
        printf("%llu %llu %s %d\n", (unsigned long long)fuzz_position.input,
               (unsigned long long)fuzz_position.operation, fuzz_position.name, outcome);
}

static struct slot *any_slot(void)
{
    return &model_slots[input_word(&input) & slots_mask];
}

static void expect_errno(const struct slot *slot, int expected)
{
    if (errno != expected && !(expected == ERRNO_BEFORE && fuzz_reference))
        model_fail(slot, expected == ERRNO_BEFORE ? "a success changed errno" : "the wrong errno");
}

static void release(struct slot *slot)
{
    unsigned char *block = slot->block;

    if (block != NULL) {
        model_remove(slot);
        model_clear(slot);
    }
    errno = ERRNO_BEFORE;
    free(block);
    expect_errno(slot, ERRNO_BEFORE);
    note(0);
}

/* An empty slot to allocate into. */
static struct slot *emptied(struct slot *slot)
{
    if (slot->block != NULL)
        release(slot);
    while (model_live_charge > LIVE_MOST) {
        static uint32_t hand;
        struct slot *victim = &model_slots[hand++ % MODEL_SLOTS];

        if (victim->block != NULL)
            release(victim);
    }
    errno = ERRNO_BEFORE;
    return slot;
}

static void arrived_charged(struct slot *slot, void *block, size_t bytes, size_t charge,
                            size_t alignment)
{
    if (block == NULL)
        model_fail(slot, "refused what there is memory for");
    expect_errno(slot, ERRNO_BEFORE);
    model_add(slot, block, bytes, charge, alignment);
    note(0);
}

static void arrived(struct slot *slot, void *block, size_t bytes, size_t alignment)
{
    arrived_charged(slot, block, bytes, bytes, alignment);
}

static void refused(const struct slot *slot, const void *block, int expected)
{
    if (block != NULL)
        model_fail(slot, "served what cannot be served");
    expect_errno(slot, expected);
    note(expected);
}

static void do_malloc(void)
{
    struct slot *slot = emptied(any_slot());
    size_t bytes = input_size(&input);

    arrived(slot, malloc(bytes), bytes, 0);
}

static void do_calloc(void)
{
    struct slot *slot = emptied(any_slot());
    size_t bytes = input_size(&input), count = 1 + input_byte(&input) % 8;
    void *block = calloc(count, bytes / count);

    model_check_zero(slot, block, bytes / count * count);
    arrived(slot, block, bytes / count * count, 0);
}

/* Of a live block, or of none; to nothing, it is freed. glibc, the reference, counts no header in
 * the usable size of an aligned block with a mapping of its own: to that size it takes a page more,
 * and moves the block where the next page is taken. */
static void resize(struct slot *slot, size_t count, size_t size, size_t charge, bool array)
{
    size_t bytes = count * size;
    unsigned char *old = slot->block;
    bool stays = old != NULL && bytes == slot->usable && bytes != 0 && !fuzz_reference;

    if (old != NULL)
        model_remove(slot);
    errno = ERRNO_BEFORE;
    void *block = array ? reallocarray(old, count, size) : realloc(old, bytes);
    if (old != NULL && bytes == 0) {
        if (block != NULL)
            model_fail(slot, "realloc to nothing returned a block");
        expect_errno(slot, ERRNO_BEFORE);
        model_clear(slot);
        note(0);
        return;
    }
    if (block == NULL)
        model_fail(slot, "realloc refused what there is memory for");
    if (stays && block != old)
        model_fail(slot, "realloc to the usable size moved the block");
    if (old != NULL)
        model_check_moved(slot, block, bytes);
    arrived_charged(slot, block, bytes, charge, 0);
}

static void do_realloc(void)
{
    struct slot *slot = any_slot();

    if (model_live_charge > LIVE_MOST)
        emptied(slot);
    size_t bytes = input_size(&input);
    resize(slot, 1, bytes, bytes, false);
}

static void do_reallocarray(void)
{
    struct slot *slot = any_slot();
    size_t bytes = input_size(&input), count = 1 + input_byte(&input) % 16;

    if (model_live_charge > LIVE_MOST)
        emptied(slot);
    resize(slot, count, bytes / count, bytes, true);
}

static void do_realloc_a_little(void)
{
    struct slot *slot = any_slot();
    uint32_t change = input_byte(&input);

    if (slot->block == NULL)
        return;
    if (change < 64)
        resize(slot, 1, slot->usable, slot->charge, false);
    else if (change < 160)
        resize(slot, 1, slot->usable + change - 63, slot->charge + change - 63, false);
    else
        resize(slot, 1, slot->charge > change - 160 ? slot->charge - (change - 160) : 0,
               slot->charge > change - 160 ? slot->charge - (change - 160) : 0, false);
}

static void do_free(void)
{
    release(any_slot());
}

static void do_aligned_alloc(void)
{
    struct slot *slot = emptied(any_slot());
    size_t alignment = input_alignment(&input), bytes = input_size(&input);

    arrived(slot, aligned_alloc(alignment, bytes), bytes, alignment);
}

static void do_memalign(void)
{
    struct slot *slot = emptied(any_slot());
    size_t alignment = input_alignment(&input), bytes = input_size(&input);

    /* What is no power of two is rounded up. */
    arrived(slot, memalign(alignment > 2 ? alignment / 2 + 1 : alignment, bytes), bytes, alignment);
}

static void do_posix_memalign(void)
{
    struct slot *slot = emptied(any_slot());
    size_t alignment = input_alignment(&input), bytes = input_size(&input);
    void *const unset = &input;
    void *block = unset;
    int answer = posix_memalign(&block, alignment, bytes);

    if (alignment >= sizeof(void *)) {
        if (answer != 0)
            model_fail(slot, "posix_memalign refused what there is memory for");
        arrived(slot, block, bytes, alignment);
    } else {
        if (answer != EINVAL || block != unset)
            model_fail(slot, "posix_memalign took an alignment below a pointer's");
        refused(slot, NULL, ERRNO_BEFORE);
    }
}

static void do_valloc(void)
{
    struct slot *slot = emptied(any_slot());
    size_t bytes = input_size(&input);

    arrived(slot, valloc(bytes), bytes, 4096);
}

static void do_pvalloc(void)
{
    struct slot *slot = emptied(any_slot());
    size_t bytes = input_size(&input);

    /* Whole pages may be used. */
    arrived(slot, pvalloc(bytes), (bytes + 4095) / 4096 * 4096, 4096);
}

/* A program that allocates many of a size, and one that frees them, in the order that it got them
   or backwards, all of them or every second one. */
static void do_allocate_run(void)
{
    uint32_t first = input_word(&input), run = input_byte(&input) % RUN_MOST + 1;
    size_t bytes = input_size(&input);

    if (input.profile < SIZES_MIXED && input.profile == 2)
        run *= SWEEP_MOST / RUN_MOST;
    for (uint32_t i = 0; i < run && model_live_charge < LIVE_MOST / 2; i++) {
        struct slot *slot = &model_slots[(first + i) & slots_mask];

        if (slot->block != NULL)
            continue;
        errno = ERRNO_BEFORE;
        arrived(slot, malloc(bytes), bytes, 0);
    }
}

static void do_free_run(void)
{
    uint32_t first = input_word(&input), run = input_byte(&input) % RUN_MOST + 1;
    uint32_t how = input_byte(&input), step = 1 + how % 4;

    if (how >= 192)
        run *= SWEEP_MOST / RUN_MOST;
    for (uint32_t i = 0; i < run; i++) {
        struct slot *slot =
            &model_slots[(how & 64 ? first - i * step : first + i * step) & slots_mask];

        if (slot->block != NULL)
            release(slot);
    }
}

static void do_check(void)
{
    struct slot *slot = any_slot();

    if (slot->block != NULL)
        model_check(slot);
    if (malloc_usable_size(NULL) != 0)
        model_fail(NULL, "NULL has a usable size");
}

/* Nothing of this can be had; the block that realloc was asked to change stays as it was. */
static void do_impossible(void)
{
    struct slot *slot = any_slot();
    size_t size = input_impossible_size(&input), one = 1 + input_byte(&input) % 4;
    size_t alignment = input_alignment(&input);
    void *const unset = &input;
    void *block = unset;

    errno = ERRNO_BEFORE;
    refused(slot, malloc(size), ENOMEM);
    errno = ERRNO_BEFORE;
    refused(slot, calloc(one, size), ENOMEM);
    errno = ERRNO_BEFORE;
    refused(slot, calloc(size, one), ENOMEM);
    errno = ERRNO_BEFORE;
    refused(slot, aligned_alloc(alignment, size), ENOMEM);
    errno = ERRNO_BEFORE;
    refused(slot, memalign(alignment, size), ENOMEM);
    errno = ERRNO_BEFORE;
    refused(slot, valloc(size), ENOMEM);
    errno = ERRNO_BEFORE;
    refused(slot, pvalloc(size), ENOMEM);
    errno = ERRNO_BEFORE;
    refused(slot, realloc(slot->block, size), ENOMEM);
    errno = ERRNO_BEFORE;
    refused(slot, reallocarray(slot->block, one, size), ENOMEM);
    if (alignment >= sizeof(void *) &&
        (posix_memalign(&block, alignment, size) != ENOMEM || block != unset))
        model_fail(slot, "posix_memalign served what cannot be served");
    if (slot->block != NULL)
        model_check(slot);
}

/* Products that overflow to something small. */
static void do_overflow(void)
{
    struct slot *slot = any_slot();
    uint32_t shift = 1 + input_byte(&input) % 63;
    size_t count = ((size_t)1 << shift) + input_byte(&input) % 2;
    size_t size = ((size_t)1 << (64 - shift)) + input_byte(&input) % 4;

    errno = ERRNO_BEFORE;
    refused(slot, calloc(count, size), ENOMEM);
    errno = ERRNO_BEFORE;
    refused(slot, reallocarray(slot->block, count, size), ENOMEM);
    if (slot->block != NULL)
        model_check(slot);
}

static void do_odd_alignment(void)
{
    struct slot *slot = emptied(any_slot());
    size_t alignment = input_odd_alignment(&input), bytes = input_size(&input);
    const size_t greatest = (size_t)1 << 63; /* that can be rounded up */
    bool power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    void *const unset = &input;
    void *block = unset;
    int answer = posix_memalign(&block, alignment, bytes);

    if (answer != (power ? ENOMEM : EINVAL) || block != unset)
        model_fail(slot, "posix_memalign and an alignment that cannot be");
    errno = ERRNO_BEFORE;
    block = memalign(alignment, bytes);
    if (alignment < 1 << 20)
        arrived(slot, block, bytes, 0);
    else
        refused(slot, block, alignment > greatest ? EINVAL : ENOMEM);
}

/* More than most machines have: whatever happens, it is a block or ENOMEM, and nothing else
   changes. No part of the digest. */
static void do_doubtful(void)
{
    uint32_t shift = 24 + input_byte(&input) % 23;
    struct slot doubtful = {.alignment = 16, .bytes = (size_t)1 << shift};

    errno = ERRNO_BEFORE;
    doubtful.block = input_byte(&input) % 2 ? malloc(doubtful.bytes)
                                            : memalign(doubtful.bytes, input_size(&input));
    fuzz_calls++;
    expect_errno(&doubtful, doubtful.block != NULL ? ERRNO_BEFORE : ENOMEM);
    free(doubtful.block);
}

static void do_trim(void)
{
    malloc_trim(input_byte(&input) * (size_t)4096);
    fuzz_calls++;
}

static void do_mallinfo(void)
{
    struct mallinfo2 info = mallinfo2();

    fuzz_calls++;
    if (info.arena + info.hblkhd < model_live_usable)
        model_fail(NULL, "mallinfo2 says less than what is in use");
}

static void do_move_to_another_cpu(void)
{
    turns_move(input_byte(&input));
}

static void do_let_another_thread(void)
{
    turns_pass(input_byte(&input));
}

/* often: how often an operation occurs if the input's header says nothing special of it. */
static const struct operation {
    const char *name;
    void (*run)(void);
    uint32_t often;
} operations[] = {
    {"malloc", do_malloc, 200},
    {"calloc", do_calloc, 60},
    {"realloc", do_realloc, 60},
    {"reallocarray", do_reallocarray, 20},
    {"realloc a little", do_realloc_a_little, 20},
    {"free", do_free, 200},
    {"aligned_alloc", do_aligned_alloc, 12},
    {"memalign", do_memalign, 12},
    {"posix_memalign", do_posix_memalign, 12},
    {"valloc", do_valloc, 4},
    {"pvalloc", do_pvalloc, 4},
    {"allocate a run", do_allocate_run, 12},
    {"free a run", do_free_run, 12},
    {"check", do_check, 20},
    {"impossible sizes", do_impossible, 2},
    {"overflow", do_overflow, 2},
    {"odd alignment", do_odd_alignment, 4},
    {"doubtful", do_doubtful, 1},
    {"trim", do_trim, 1},
    {"mallinfo2", do_mallinfo, 1},
    {"move to another CPU", do_move_to_another_cpu, 3},
    {"let another thread", do_let_another_thread, 3},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static uint32_t weights[OPERATIONS], weight_sum;

static void read_header(void)
{
    input.profile = input_byte(&input) % PROFILES;
    input.usual_bytes = 1 + input_word(&input) % ((size_t)1 << (3 + input_byte(&input) % 14));
    slots_mask = ((uint32_t)MODEL_SLOTS >> input_byte(&input) % 11) - 1;
    weight_sum = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        uint32_t byte = input_byte(&input);

        weights[i] = operations[i].often * (byte < 64 ? 0 : byte < 192 ? 4 : byte < 240 ? 12 : 40);
        weight_sum += weights[i];
    }
    if (weight_sum == 0)
        weights[0] = weight_sum = 1;
}

static void run_one_operation(void)
{
    uint32_t choice = input_word(&input) * 7919u % weight_sum;
    int i = 0;

    while (choice >= weights[i])
        choice -= weights[i++];
    fuzz_position.operation++;
    fuzz_position.name = operations[i].name;
    operations[i].run();
}

/* A thread's turn: until the input is over, or an operation passed the turn on. */
static void take_turn(void)
{
    while (!turns_passed() && !input_is_over(&input))
        run_one_operation();
}

void fuzz_start(unsigned threads)
{
    turns_start(threads < FUZZ_THREADS_MOST ? threads : FUZZ_THREADS_MOST, take_turn);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    input = (struct input){.next = data, .end = data + size};
    fuzz_position.operation = 0;
    read_header();
    do
        turns_take();
    while (!input_is_over(&input));
    fuzz_position.name = "the end";
    for (uint32_t i = 0; i < MODEL_SLOTS; i++)
        if (model_slots[i].block != NULL)
            release(&model_slots[i]);
    turns_end();
}
