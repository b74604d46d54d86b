/*
 * SPDX-License-Identifier: MIT
 *
 * See supply.h.
 */
#include "cia_malloc/supply.h"

#include "cia_malloc/heap_table.h"

/* The sub-heap of this CPU, locked; NULL when there is none yet or another thread holds it. */
static struct subheap *lock_here(void)
{
    struct subheap *heap =
        atomic_load_explicit(&heap_table[current_cpu() % CPU_HEAPS], memory_order_acquire);

    return heap != NULL && subheap_try_lock(heap) ? heap : NULL;
}

/* Blocks of one span on their way home. */
struct batch {
    struct chunk *chunk; /* NULL: none yet */
    uint32_t span;
    uint64_t bits;
    size_t bytes;
};

/* held, unless NULL, is a sub-heap whose lock the caller has. */
static void send(struct subheap *held, const struct batch *batch)
{
    if (batch->chunk == NULL)
        return;
    if (batch->chunk->owner == held) {
        subheap_free_local(held, &batch->chunk->spans[batch->span], batch->bits);
        return;
    }
    subheap_free_remote(batch->chunk, batch->span, batch->bits);
    subheap_freed_remotely(batch->chunk->owner, batch->bytes);
}

static void send_block(struct subheap *held, const struct block *block)
{
    struct batch batch = {block->chunk, block->span, block->bit, block->bytes};

    send(held, &batch);
}

void supply_give_back(const struct block *block)
{
    struct subheap *heap = lock_here();

    send_block(heap, block);
    if (heap != NULL)
        subheap_unlock(heap);
}

/*
 * Puts back what waited in a magazine, where it belongs; blocks of one span that follow each other,
 * as they do when they were allocated and freed in a row, go together.
 */
static void unload(struct subheap *held, char *const *blocks, uint32_t count)
{
    struct batch batch = {.chunk = NULL};

    for (uint32_t i = 0; i < count; i++) {
        const void *address = magazine_block((uintptr_t)blocks[i]);
        struct block block = block_at(page_source_owner(address), address);

        if (block.chunk != batch.chunk || block.span != batch.span) {
            send(held, &batch);
            batch = (struct batch){.chunk = block.chunk, .span = block.span};
        }
        if (__builtin_expect((batch.bits & block.bit) != 0, 0))
            subheap_double_free(&block.chunk->spans[block.span], block.bit);
        batch.bits |= block.bit;
        batch.bytes += block.bytes;
    }
    send(held, &batch);
}

static void unload_here(char *const *blocks, uint32_t count)
{
    struct subheap *heap = lock_here();

    unload(heap, blocks, count);
    if (heap != NULL)
        subheap_unlock(heap);
}

/* Empties a level of this CPU's magazine by sequences. */
static void unload_level(ptrdiff_t area, unsigned size_class, unsigned level)
{
    char *blocks[MAGAZINE_PLACES];
    uint32_t count = 0;

    while (count < MAGAZINE_PLACES) {
        uintptr_t waiting = magazine_pop(area, size_class, level, MAGAZINE_UNLOAD);

        if (waiting == 0)
            break;
        blocks[count++] = (char *)waiting;
    }
    unload_here(blocks, count);
}

/* The same for the holder of the magazine; held as above. */
static void unload_level_held(struct subheap *held, struct magazine *magazine, unsigned level)
{
    char *blocks[MAGAZINE_PLACES];
    uint32_t count = 0;
    uintptr_t waiting;

    while ((waiting = magazine_pop_held(magazine, level, MAGAZINE_UNLOAD)) != 0)
        blocks[count++] = (char *)waiting;
    unload(held, blocks, count);
}

/* What a load brought, by place, but the first of it; blocks that find their place taken (two of a
   slot were due, or two slots share it) are moved to the beginning of blocks. */
struct load {
    char *blocks[MAGAZINE_PLACES];
    char *place[MAGAZINE_PLACES];
    uint64_t occupied;
    uint32_t left_over;
};

static void sort_load(struct load *load, unsigned size_class, uint32_t count)
{
    load->occupied = 0;
    load->left_over = 0;
    for (uint32_t i = 1; i < count; i++) {
        char *block = load->blocks[i];
        uint32_t place = magazine_place(size_class, block);

        if ((load->occupied >> place & 1) != 0) {
            load->blocks[1 + load->left_over++] = block;
            continue;
        }
        load->occupied |= (uint64_t)1 << place;
        load->place[place] = block;
    }
}

/* The holder of the lock allocates, from and for the magazine unless that is NULL. 0 when out of
   memory. */
static uintptr_t allocate_under_lock(struct subheap *heap, struct magazine *magazine,
                                     unsigned size_class)
{
    struct load load;
    uintptr_t block = 0;

    if (magazine == NULL)
        return subheap_load(heap, size_class, load.blocks, 1) == 1 ? (uintptr_t)load.blocks[0] : 0;
    block = magazine_pop_held(magazine, 0, MAGAZINE_SERVE);
    if (__builtin_expect(block != 0, 1))
        return block;
    block = magazine_pop_held(magazine, 1, MAGAZINE_SERVE);
    if (block != 0)
        return block;
    uint32_t count = subheap_load(heap, size_class, load.blocks, magazine_load(size_class));
    if (count == 0)
        return 0;
    sort_load(&load, size_class, count);
    for (uint64_t left = load.occupied; left != 0; left &= left - 1) {
        uint32_t place = (uint32_t)__builtin_ctzll(left);

        magazine->level[0].place[place] = load.place[place];
    }
    atomic_store_explicit(&magazine->level[0].occupied, load.occupied, memory_order_release);
    unload(heap, load.blocks + 1, load.left_over);
    return (uintptr_t)load.blocks[0];
}

static __attribute__((noinline)) uintptr_t supply_under_lock(unsigned size_class)
{
    struct subheap *heap = heap_acquire();
    struct magazine *magazine = NULL;
    uintptr_t block;

    if (__builtin_expect(heap == NULL, 0))
        return 0;
    if (heap->magazines != NULL && size_class < MAGAZINE_CLASSES)
        magazine = magazine_use(heap->magazines, size_class);
    /* With sequences, this is a thread that may not use them. */
    block = allocate_under_lock(heap, magazines_use_sequences() ? NULL : magazine, size_class);
    subheap_unlock(heap);
    return block;
}

/* Puts a load into this CPU's magazine: by now it may be another one, or another thread's load be
   there. */
static void load_by_sequences(struct load *load, unsigned size_class)
{
    if (load->occupied != 0 && !magazine_load_empty(size_class, load->place, load->occupied)) {
        for (uint64_t left = load->occupied; left != 0; left &= left - 1)
            load->blocks[1 + load->left_over++] = load->place[__builtin_ctzll(left)];
    }
    if (load->left_over > 0)
        unload_here(load->blocks + 1, load->left_over);
}

static uintptr_t supply_by_sequences(unsigned size_class)
{
    struct load load;
    uint32_t count, most = 1;
    struct subheap *heap;

    heap = heap_acquire();
    if (__builtin_expect(heap == NULL, 0))
        return 0;
    if (heap->magazines != NULL)
        magazine_use(heap->magazines, size_class);
    if (magazine_here(size_class) != NULL)
        most = magazine_load(size_class);
    count = subheap_load(heap, size_class, load.blocks, most);
    subheap_unlock(heap);
    if (count == 0)
        return 0;
    sort_load(&load, size_class, count);
    load_by_sequences(&load, size_class);
    return (uintptr_t)load.blocks[0];
}

uintptr_t supply_block(unsigned size_class)
{
    ptrdiff_t area = magazine_area_here();

    if (size_class < MAGAZINE_CLASSES && magazine_area_is_usable(area)) {
        uintptr_t block = magazine_pop(area, size_class, 1, MAGAZINE_SERVE);

        return block != 0 ? block : supply_by_sequences(size_class);
    }
    return supply_under_lock(size_class);
}

/*
 * The second level has more than this of its places taken when it is emptied; else one block goes
 * back by itself. Where frees and mallocs of all slots are about as many it is nearly empty, and
 * what is in it will be wanted; where blocks are freed one after the other it is full at once.
 */
static bool is_nearly_full(unsigned size_class, uint32_t taken)
{
    return taken > magazine_geometry[size_class].mask * 3u / 4;
}

static _Noreturn void freed_twice(struct chunk *chunk, const void *address)
{
    struct block block = block_at(chunk, address);

    subheap_double_free(&chunk->spans[block.span], block.bit);
}

/* Into the second level of this CPU's magazine, or the first if that has been freed meanwhile. */
static bool put_by_sequences(struct chunk *chunk, unsigned size_class, void *address)
{
    ptrdiff_t area = magazine_area_here();
    uint32_t place;
    enum magazine_answer answer;

    if (size_class >= MAGAZINE_CLASSES || !magazine_area_is_usable(area))
        return false;
    place = magazine_place(size_class, address);
    answer = magazine_push(area, size_class, 0, place, address);
    if (answer == MAGAZINE_OCCUPIED)
        answer = magazine_push(area, size_class, 1, place, address);
    if (__builtin_expect(answer == MAGAZINE_TAKEN, 1))
        return true;
    if (answer == MAGAZINE_TWICE)
        freed_twice(chunk, address);
    if (answer == MAGAZINE_OCCUPIED) {
        const struct magazine *here = magazine_here(size_class);

        if (here != NULL && is_nearly_full(size_class, magazine_second_level(here))) {
            unload_level(area, size_class, 1);
            return magazine_push(area, size_class, 1, place, address) == MAGAZINE_TAKEN;
        }
    }
    return false;
}

/* The same for the holder of the lock. */
static bool put_under_lock(struct subheap *heap, struct chunk *chunk, unsigned size_class,
                           void *address)
{
    struct magazine *magazine;
    uint32_t place;
    enum magazine_answer answer;

    if (heap->magazines == NULL || size_class >= MAGAZINE_CLASSES)
        return false;
    magazine = magazine_use(heap->magazines, size_class);
    if (magazine == NULL || magazines_use_sequences())
        return false;
    place = magazine_place(size_class, address);
    answer = magazine_push_held(magazine, 0, place, address);
    if (answer == MAGAZINE_OCCUPIED)
        answer = magazine_push_held(magazine, 1, place, address);
    if (__builtin_expect(answer == MAGAZINE_TAKEN, 1))
        return true;
    if (answer == MAGAZINE_TWICE)
        freed_twice(chunk, address);
    if (!is_nearly_full(size_class, magazine_second_level(magazine)))
        return false;
    unload_level_held(heap, magazine, 1);
    return magazine_push_held(magazine, 1, place, address) == MAGAZINE_TAKEN;
}

void supply_take_back(struct chunk *chunk, unsigned size_class, void *address)
{
    if (put_by_sequences(chunk, size_class, address))
        return;
    /* The sub-heap of this CPU: anyone else's line would be taken away from them. */
    struct subheap *heap = lock_here();
    if (heap == NULL || !put_under_lock(heap, chunk, size_class, address)) {
        struct block block = block_at(chunk, address);

        send_block(heap, &block);
    }
    if (heap != NULL)
        subheap_unlock(heap);
}

static void empty_held(struct magazines *magazines, struct subheap *held)
{
    for (unsigned i = 0; i < MAGAZINE_CLASSES; i++) {
        for (unsigned level = 0; level < 2; level++)
            unload_level_held(held, &magazines->storage[i], level);
    }
}

void supply_empty_magazines(void)
{
    struct magazines_withdrawn withdrawn;
    uint32_t index = 0, passed_over = 0;

    if (magazines_withdraw(&withdrawn)) {
        struct magazines *magazines;

        while ((magazines = magazines_withdrawn_next(&withdrawn, &index)) != NULL)
            empty_held(magazines, NULL);
        magazines_return(&withdrawn);
    } else if (magazines_use_sequences()) {
        ptrdiff_t area = magazine_area_here();

        /* At least this CPU's. */
        for (unsigned i = 0; magazine_area_is_usable(area) && i < 2 * MAGAZINE_CLASSES; i++)
            unload_level(area, i / 2, i % 2);
    } else {
        struct subheap *heap;

        while ((heap = heap_lock_next(&index, CPU_HEAPS, &passed_over)) != NULL) {
            empty_held(heap->magazines, heap);
            subheap_unlock(heap);
        }
    }
}
