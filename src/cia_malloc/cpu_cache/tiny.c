/*
 * SPDX-License-Identifier: MIT
 *
 * Who gets a tiny block, and where a freed one waits; see tiny.h.
 */
#include "cia_malloc/cpu_cache/tiny.h"

#include "cia_malloc/cpu_cache/double_free.h"
#include "cia_malloc/cpu_cache/flush.h"
#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/cpu_cache/tiny_flush.h"

enum {
    LEVEL_BLOCKS = 64, /* of a magazine's level and boxes */
    LOAD_BLOCKS = 32,  /* at once into a magazine; at most 16 lines ahead of their use */
};

/* Where the magazine is for malloc. */
static uint32_t offset_of(unsigned tiny)
{
    return magazine_offset(TINY_MAGAZINES + tiny, 0);
}

/*
 * Puts a block on top of the level, if this is the CPU. False: it is another one, or the level is
 * full, or the CPU has no magazine for it. As magazine_push, without colours: what is compared in
 * their place is the CPU.
 */
static inline bool push(ptrdiff_t area, uint32_t offset, uint32_t cpu, void *block)
{
    __asm__ goto(RSEQ_BEGIN("%%r8") /* */
                 "cmpl %k[cpu], %%fs:%c[cpu_id](%[area])\n\t"
                 "jne %l[refused]\n\t"
                 "leaq magazine_to_put(%%rip), %%r9\n\t"
                 "movq (%%r9, %[cpu], 8), %%r9\n\t"
                 "leaq (%%r9, %[offset], 8), %%r9\n\t"
                 "movq (%%r9), %%r8\n\t"
                 "movzwl %c[at_floor](%%r9), %%r11d\n\t" /* floor */
                 "cmpw %c[at_ceiling](%%r9), %%r8w\n\t"  /* ceiling */
                 "jae %l[refused]\n\t"
                 "movzwl %%r8w, %%r10d\n\t"
                 "addl %[places], %%r11d\n\t"
                 "cmpl %%r11d, %%r10d\n\t"
                 "jae %l[refused]\n\t"
                 "incq %%r8\n\t"
                 "movq %c[at_store](%%r9), %%r11\n\t" /* store */
                 "movq %[block], %c[at_stack](%%r11, %%r10, 8)\n\t"
                 "movq %%r8, (%%r9)\n\t" RSEQ_COMMITTED
                 :
                 : [area] "r"(area), [offset] "r"((uint64_t)offset), [cpu] "r"((uint64_t)cpu),
                   [block] "r"(block), [places] "i"(LEVEL_BLOCKS), MAGAZINE_LAYOUT
                 : "memory", "cc", "r8", "r9", "r10", "r11"
                 : refused);
    return true;
refused:
    return false;
}

static bool push_exclusive(struct magazine *magazine, void *block)
{
    uint64_t top = magazine_word(&magazine->top);
    union magazine_bounds bounds = magazine_bounds_of(magazine);

    if ((top & MAGAZINE_TOP_MASK) >= bounds.ceiling ||
        magazine_level_blocks(magazine) >= LEVEL_BLOCKS)
        return false;
    magazine->store->stack[top & MAGAZINE_TOP_MASK] = block;
    magazine_set_word(&magazine->top, top + 1);
    return true;
}

static struct tiny_place place_of(const struct page_info *info, const void *block)
{
    return tiny_place_of(page_source_owner(block), info->size_class - CLASS_TINY, block);
}

static void send_block(struct subheap *locked, const struct page_info *info, const void *block)
{
    struct tiny_place place = place_of(info, block);

    tiny_flush_place(locked, &place, tiny_bytes(info->size_class - CLASS_TINY));
}

/*
 * A block from the pages, or a magazine under the lock; others into the magazine, the last first,
 * so that they come out in the order of their addresses.
 */
static __attribute__((noinline)) uintptr_t refill(unsigned tiny, ptrdiff_t area)
{
    char *blocks[LOAD_BLOCKS];
    uint32_t count, most = 1;
    struct magazine *magazine = NULL;
    struct subheap *heap = heap_acquire();

    if (__builtin_expect(heap == NULL, 0))
        return 0;
    if (heap->magazines != NULL && magazine_use(heap->magazines, TINY_MAGAZINES + tiny) &&
        (!magazines_use_sequences() || magazine_area_is_usable(area))) {
        magazine = &heap->magazines->own[TINY_MAGAZINES + tiny];
        most = LOAD_BLOCKS;
    }
    if (magazine != NULL && !magazines_use_sequences()) {
        struct magazine_access access = {.exclusive = magazine};
        uintptr_t block = access_take_cached(&access);

        if (block != 0) {
            subheap_unlock(heap);
            return block;
        }
    }
    count = tiny_heap_take(&heap->tiny, tiny, blocks, most);
    bool may_rise =
        magazine != NULL && count > 0 && magazine_may_rise(heap->magazines, TINY_MAGAZINES + tiny);
    heap->tiny.classes[tiny].allocations += count > 0;
    if (magazines_use_sequences()) {
        subheap_unlock(heap);
        /* By now this may be another CPU, or another thread's blocks be there. */
        uint32_t offset = magazine_offset(TINY_MAGAZINES + tiny, heap->pages.node);

        while (count > 1 && push(area, offset, heap->tiny.cpu, blocks[count - 1]))
            count--;
        if (count > 1)
            tiny_flush_blocks(NULL, tiny, blocks + 1, count - 1);
        if (may_rise)
            magazine_raise_ceiling(area, offset_of(tiny));
    } else {
        while (count > 1 && push_exclusive(magazine, blocks[count - 1]))
            count--;
        if (count > 1)
            tiny_flush_blocks(heap, tiny, blocks + 1, count - 1);
        if (may_rise)
            magazine_raise_ceiling_exclusive(magazine);
        subheap_unlock(heap);
    }
    flush_housekeeping();
    return count > 0 ? (uintptr_t)blocks[0] : 0;
}

void *tiny_pop(size_t bytes)
{
    ptrdiff_t area = magazine_area_here();
    uint32_t offset = bytes <= TINY_LARGEST ? offset_of(bytes > TINY_LEAST) : magazine_offset(0, 0);

    if (__builtin_expect(!magazine_area_is_usable(area), 0))
        return NULL;
    void *block = magazine_block(magazine_pop(area, offset));
    if (__builtin_expect(block != NULL, 1) && bytes <= TINY_LARGEST)
        *tiny_mark(block) = 0;
    return block;
}

void *tiny_allocate(size_t bytes)
{
    unsigned tiny = bytes > TINY_LEAST;
    ptrdiff_t area = magazine_area_here();
    uintptr_t found = 0;

    if (__builtin_expect(magazine_area_is_usable(area), 1)) {
        struct magazine_access access = access_to_take(area, TINY_MAGAZINES + tiny);

        found = access_take_cached(&access);
    }
    if (__builtin_expect(found == 0, 0))
        found = refill(tiny, area);
    void *block = (void *)found;
    if (__builtin_expect(block != NULL, 1))
        *tiny_mark(block) = 0;
    return block;
}

void *tiny_take_from(struct subheap *heap, size_t bytes)
{
    unsigned tiny = bytes > TINY_LEAST;
    char *block;

    if (tiny_heap_take(&heap->tiny, tiny, &block, 1) == 0)
        return NULL;
    heap->tiny.classes[tiny].allocations++;
    *tiny_mark(block) = 0;
    return block;
}

static void check_start(const struct page_info *info, const void *block)
{
    if (__builtin_expect((uintptr_t)block % tiny_bytes(info->size_class - CLASS_TINY) != 0, 0))
        block_is_wrong(block, "inside a block");
}

/*
 * A block with the mark: free already, unless the program wrote that number itself. It can wait in
 * one magazine only.
 */
static __attribute__((noinline, cold)) void check_not_free(const struct page_info *info,
                                                           const void *block)
{
    struct tiny_place place = place_of(info, block);
    const struct magazines *magazines = place.chunk->owner->magazines;

    if (tiny_is_free(&place) ||
        (magazines != NULL &&
         magazine_has(&magazines->own[TINY_MAGAZINES + info->size_class - CLASS_TINY], block,
                      UINT32_MAX)))
        tiny_double_free(block);
}

static bool put(const struct magazine_access *access, const struct page_info *info, void *block)
{
    return access->exclusive != NULL ? push_exclusive(access->exclusive, block)
                                     : push(access->area, access->offset, info->tiny_cpu, block);
}

/* After the level took no more: closes a box, or flushes a level. */
static bool push_elsewhere(const struct magazine_access *access, struct subheap *locked,
                           const struct page_info *info, void *block)
{
    if (!access_close_box(access, LEVEL_BLOCKS)) {
        char *blocks[MAGAZINE_LEVEL_MOST];
        uint32_t count = access_unload(access, blocks);

        if (count == 0)
            return false; /* the class is not in heavy use here */
        magazine_overflows(access->exclusive != NULL ? access->exclusive
                                                     : magazine_here(access->offset));
        tiny_flush_blocks(locked, info->size_class - CLASS_TINY, blocks, count);
        if (locked == NULL)
            flush_housekeeping();
    }
    return put(access, info, block);
}

static void free_under_lock(const struct page_info *info, void *block)
{
    unsigned tiny = info->size_class - CLASS_TINY;
    struct subheap *heap = ((struct chunk *)page_source_owner(block))->owner;

    if (info->tiny_cpu != current_cpu() || !subheap_try_lock(heap)) {
        send_block(NULL, info, block);
        return;
    }
    struct magazine_access access = {.exclusive = &heap->magazines->own[TINY_MAGAZINES + tiny]};
    if (!put(&access, info, block) && !push_elsewhere(&access, heap, info, block))
        send_block(heap, info, block);
    subheap_unlock(heap);
}

/* What the level of this CPU's magazine did not take, or was not asked to. */
static __attribute__((noinline)) void free_elsewhere(const struct page_info *info, void *block)
{
    ptrdiff_t area = magazine_area_here();
    struct magazine_access access = {.area = area, .offset = info->magazine, .side = MAGAZINE_PUT};

    if (!magazines_use_sequences())
        free_under_lock(info, block);
    else if (!magazine_area_is_usable(area) || info->tiny_cpu != current_cpu() ||
             (!put(&access, info, block) && !push_elsewhere(&access, NULL, info, block)))
        send_block(NULL, info, block);
}

void tiny_free(const struct page_info *info, void *block)
{
    ptrdiff_t area = magazine_area_here();

    check_start(info, block);
    if (__builtin_expect(*tiny_mark(block) == TINY_FREE_MARK, 0))
        check_not_free(info, block);
    *tiny_mark(block) = TINY_FREE_MARK;
    if (__builtin_expect(!magazine_area_is_usable(area), 0) ||
        __builtin_expect(!push(area, info->magazine, info->tiny_cpu, block), 0))
        free_elsewhere(info, block);
}

size_t tiny_usable(const struct page_info *info, const void *block)
{
    check_start(info, block);
    return tiny_bytes(info->size_class - CLASS_TINY);
}
