/*
 * SPDX-License-Identifier: MIT
 *
 * What the fast paths of allocator.h leave, except blocks of the classes (cpu_cache/refill.h):
 * aligned and large blocks, the end of memory, changes of size.
 */
#include "cia_malloc/api/allocator.h"

#include "base/pages.h"
#include "base/probes.h"
#include "cia_malloc/cpu_cache/flush.h"
#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/cpu_cache/housekeeping.h"
#include "cia_malloc/cpu_cache/magazine_overflow.h"
#include "cia_malloc/cpu_cache/refill.h"
#include "cia_malloc/hardened/hardened.h"
#include "cia_malloc/large/large.h"
#include "cia_malloc/pages/allocator_mode.h"
#include "cia_malloc/profile/profile.h"
#include "malloc_family/linked_allocator.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/*
 * One block from the locked sub-heap's class for it, aligned to more than a line: the class's
 * blocks have all colours and are each long enough for an aligned address, so the aligned ones take
 * in turn all sets that their alignment leaves.
 */
static void *take_aligned(struct subheap *heap, size_t alignment, size_t bytes)
{
    bool untouched;
    char *block = subheap_allocate(heap, size_class_of(bytes + alignment - LINE_BYTES), &untouched);

    if (block == NULL)
        return NULL;
    char *aligned = block + (-(uintptr_t)block & (alignment - 1));
    if (aligned != block) {
        struct block at = block_at(page_map_chunk(block), block);

        class_heap_hand_out_inside(&at.chunk->spans[at.span], at.bit, block, alignment);
    }
    return aligned;
}

/* The class of a block aligned to a line at most. */
static unsigned class_for(size_t alignment, size_t bytes)
{
    return alignment > GRANULE_BYTES ? size_class_of(bytes) : size_class_for(bytes);
}

/* A block from the locked sub-heap, which is unlocked. */
static void *take_and_unlock(struct subheap *heap, size_t alignment, size_t bytes, bool *zeroed)
{
    void *block;

    if (harden_is_on())
        return hardened_allocate_and_unlock(heap, alignment, bytes, zeroed);
    if (large_is_needed(bytes, alignment))
        return large_allocate_and_unlock(heap, bytes, alignment, zeroed);
    block = alignment > LINE_BYTES ? take_aligned(heap, alignment, bytes)
                                   : subheap_allocate(heap, class_for(alignment, bytes), zeroed);
    subheap_unlock(heap);
    return block;
}

static void *allocate_here(size_t alignment, size_t bytes, bool *zeroed)
{
    struct subheap *heap = heap_acquire();

    return heap != NULL ? take_and_unlock(heap, alignment, bytes, zeroed) : NULL;
}

/*
 * From whichever sub-heap has such a block free: that of this CPU has none, nor can it grow. Begins
 * where the last block was found, because the next one usually is there as well.
 */
static void *allocate_anywhere(size_t alignment, size_t bytes, bool *zeroed)
{
    static _Atomic uint32_t found_in; /* relaxed: a hint */
    uint32_t index = atomic_load_explicit(&found_in, memory_order_relaxed);
    uint32_t end = index + ALL_HEAPS, passed_over = 0;
    void *block = NULL;
    struct subheap *heap;

    while (block == NULL && (heap = heap_lock_next(&index, end, &passed_over)) != NULL) {
        block = take_and_unlock(heap, alignment, bytes, zeroed);
        if (block != NULL)
            atomic_store_explicit(&found_in, heap->number, memory_order_relaxed);
    }
    return block;
}

/* The same; and where the class is packed now, from what was freed of it before it was. */
static void *allocate_whatever_is_free(size_t alignment, size_t bytes, bool *zeroed)
{
    void *block = allocate_anywhere(alignment, bytes, zeroed);

    if (block == NULL && alignment < LINE_BYTES && !harden_is_on())
        block = allocate_anywhere(LINE_BYTES, bytes, zeroed);
    return block;
}

/* inside_runs: see subheap_trim. */
static bool trim(bool inside_runs)
{
    uint32_t index = 0, passed_over = 0;
    bool trimmed = huge_give_back_all() > 0;
    struct subheap *heap;

    if (harden_is_on())
        hardened_release_all();
    flush_all(); /* before any sub-heap is trimmed: cached blocks belong to any of them */
    while ((heap = heap_lock_next(&index, ALL_HEAPS, &passed_over)) != NULL) {
        bool more = subheap_trim(heap, inside_runs);

        trimmed |= more;
        subheap_unlock(heap);
        /* What was in work already went in part: once more. */
        if (more && subheap_lock_soon(heap, false)) {
            (void)subheap_trim(heap, false);
            subheap_unlock(heap);
        }
    }
    return trimmed;
}

/*
 * After a failure. What other CPUs have free comes before what must be gathered for it: a trim
 * empties the magazines of all CPUs, so that the next call of each would end up here too, and as
 * memory ends every call of every thread would be a trim.
 */
static __attribute__((noinline)) void *allocate_at_the_limit(size_t alignment, size_t bytes,
                                                             bool *zeroed)
{
    bool in_chunk = bytes <= (size_t)LARGE_GREATEST_PAGES * PAGE_BYTES;
    void *block = in_chunk ? allocate_whatever_is_free(alignment, bytes, zeroed) : NULL;

    if (block != NULL)
        return block;
    /* Gathering may do if all that is mapped would, with what the kernel still has. */
    size_t mapped = atomic_load_explicit(&page_source_mapped_bytes, memory_order_relaxed);
    size_t wanted = alignment > PAGE_BYTES ? bytes + alignment : bytes; /* 2^63 at most */
    if (wanted > mapped && !page_source_has_room(wanted - mapped))
        return NULL;
    /* Then it is tried again whether pages went back or not: what one CPU's magazines held may be
       just what another CPU wants. */
    (void)trim(false);
    page_heap_ask_again();
    block = allocate_here(alignment, bytes, zeroed);
    return block != NULL ? block : allocate_whatever_is_free(alignment, bytes, zeroed);
}

/* A block of any length and alignment, in any mode, never sampled; NULL for more than PTRDIFF_MAX,
   too. Leaves errno alone. */
static __attribute__((noinline)) void *allocate(size_t alignment, size_t bytes, bool *zeroed)
{
    void *block;

    if (__builtin_expect(bytes > PTRDIFF_MAX, 0))
        return NULL;
    if (alignment <= LINE_BYTES && bytes <= SIZE_CLASS_LARGEST && !harden_is_on()) {
        uintptr_t refilled = refill_block(class_for(alignment, bytes));

        *zeroed = (refilled & MAGAZINE_UNTOUCHED) != 0;
        block = magazine_block(refilled);
    } else {
        block = allocate_here(alignment, bytes, zeroed);
        if (large_is_needed(bytes, alignment))
            housekeeping_tick();
    }
    if (__builtin_expect(block == NULL, 0))
        block = allocate_at_the_limit(alignment, bytes, zeroed);
    return block;
}

/* For malloc, when its quick ways gave nothing. errno is set here, so that they need not look. */
static __attribute__((noinline)) void *allocate_or_fail(size_t bytes)
{
    bool zeroed;
    void *block = allocate(GRANULE_BYTES, bytes, &zeroed);

    if (block == NULL)
        errno = ENOMEM;
    return block;
}

/* For a thread that may have slept since its last call: a program may have no other slow paths. */
static inline void check_clock(void)
{
    /* One that may not use sequences never has anything announced: it would look each time. */
    if (magazines_use_sequences() && !magazine_has_announced(magazine_areas.all) &&
        magazine_thread_area != MAGAZINE_AREA_OFF)
        housekeeping_tick();
}

void *cia_allocate_slow(size_t bytes)
{
    PROBE1(malloc_slow_path, bytes);
    check_clock();
    if (bytes <= MAGAZINE_LARGEST && !magazines_use_sequences()) {
        uintptr_t popped = refill_pop_locked(magazine_offset_of(bytes));

        if (__builtin_expect(popped != 0, 1))
            return magazine_block(popped);
    }
    /* Without allocate, which would ask for the same: it costs a malloc under the lock 3 ns of 15.
     */
    if (__builtin_expect(bytes <= SIZE_CLASS_LARGEST, 1)) {
        uintptr_t refilled = refill_block(size_class_for(bytes));

        if (__builtin_expect(refilled != 0, 1))
            return magazine_block(refilled);
    }
    return allocate_or_fail(bytes);
}

/* As allocate, from the magazine first. bytes: 1 at least if the alignment is above a line. The
   class is chosen once for the magazine and once behind it: of an exclusive one for more than a
   granule's alignment, either time. */
static void *allocate_quietly(size_t alignment, size_t bytes, bool *zeroed)
{
    uintptr_t popped = 0;

    if (alignment <= LINE_BYTES && bytes <= MAGAZINE_LARGEST &&
        magazine_has_announced(magazine_areas.all))
        popped = magazine_pop(magazine_areas.all, alignment > GRANULE_BYTES
                                                      ? magazine_offset(size_class_of(bytes), 0)
                                                      : magazine_offset_of(bytes));
    if (__builtin_expect(popped == 0, 0))
        return allocate(alignment, bytes, zeroed);
    *zeroed = (popped & MAGAZINE_UNTOUCHED) != 0;
    return magazine_block(popped);
}

/*
 * In a mode that is not plain, for calls that are not malloc; hardened, no sequence is ever used. A
 * sampled block is of an exclusive class: whether one of a packed class begins somewhere is not
 * asked of its page.
 */
static __attribute__((noinline)) void *allocate_in_mode(size_t alignment, size_t bytes,
                                                        bool *zeroed)
{
    void *block;

    if (!profile_is_on() || !profile_count(bytes))
        return allocate_quietly(alignment, bytes, zeroed);
    block = allocate_quietly(alignment < LINE_BYTES ? LINE_BYTES : alignment, bytes, zeroed);
    profile_record(block, bytes, __builtin_frame_address(0));
    return block;
}

/* malloc's sample. All ways here from malloc are jumps: the frame above this one's is the
   program's. */
static __attribute__((noinline)) void *allocate_sampled(size_t bytes)
{
    bool zeroed;
    void *block = allocate_quietly(LINE_BYTES, bytes, &zeroed);

    profile_record(block, bytes, __builtin_frame_address(0));
    if (block == NULL)
        errno = ENOMEM;
    return block;
}

void *cia_allocate_by_mode(size_t bytes)
{
    if (mode_is_plain())
        return cia_allocate_slow(bytes);
    if (harden_is_on())
        return allocate_or_fail(bytes);
    /* Profiled; or the first call of a plain process, when nothing is due yet. */
    bool is_due = bytes <= MAGAZINE_LARGEST ? profile_is_due(bytes) : profile_count(bytes);
    return is_due ? allocate_sampled(bytes) : cia_allocate_slow(bytes);
}

void *cia_allocate_zeroed(size_t bytes)
{
    bool zeroed = false;

    if (bytes == 0) /* one byte is the caller's */
        bytes = 1;
    void *block = mode_is_plain() ? allocate_quietly(GRANULE_BYTES, bytes, &zeroed)
                                  : allocate_in_mode(GRANULE_BYTES, bytes, &zeroed);

    return block != NULL && !zeroed ? pages_zero_block(block, bytes) : block;
}

void *cia_allocate_aligned(size_t alignment, size_t bytes)
{
    bool zeroed;

    if (bytes == 0)
        bytes = 1;
    return mode_is_plain() ? allocate_quietly(alignment, bytes, &zeroed)
                           : allocate_in_mode(alignment, bytes, &zeroed);
}

/* Whose the address is if it is in no run and no mapping of ours; NULL: ours, or nobody's. */
static const struct linked_allocator *other_owner(const void *address)
{
    return page_info_is_used(page_map_find(address)) ? NULL : linked_allocator();
}

/* What begins at the address is no block that may be cached: it goes back to where it came from. */
static __attribute__((noinline)) void give_back(void *address)
{
    struct huge *huge = huge_at(address);

    if (huge != NULL) {
        huge_free(huge);
        housekeeping_tick();
        return;
    }
    const struct linked_allocator *other = other_owner(address);
    if (other != NULL) {
        other->free(address);
        return;
    }
    struct block block = block_at(block_chunk(address), address);
    block_check_start(&block, address);
    /* Its span knows if it was handed out from its inside. */
    flush_block_here(&block);
}

void cia_free_slow(void *address)
{
    const struct page_info *info = page_map_find(address);
    struct sample forgotten;

    if (__builtin_expect(address == NULL, 0))
        return;
    PROBE1(free_slow_path, address);
    if (harden_is_on()) {
        const struct linked_allocator *other = other_owner(address);

        if (other != NULL)
            other->free(address);
        else
            hardened_free(address, NULL, 0);
        return;
    }
    check_clock();
    bool begins = info != NULL && block_begins(info, address);
    if (!begins && profile_is_on()) /* perhaps it is sampled; or it is no block of a class */
        begins = profile_forget(address, &forgotten) && forgotten.hidden;
    if (__builtin_expect(!begins, 0)) {
        give_back(address);
        return;
    }
    if (!magazines_use_sequences()) {
        if (overflow_push_locked(info, address))
            return;
    } else {
        ptrdiff_t area = magazine_area_here();

        /* The fast path did not try the loaded magazine: nothing was announced. */
        if (magazine_area_is_usable(area) &&
            (magazine_push(area, info->magazine, info->start, address) ||
             overflow_by_sequence(area, info, address)))
            return;
    }
    overflow_block(info, address);
}

void cia_free_refused(void *address, const struct page_info *info, ptrdiff_t area)
{
    if (__builtin_expect(!block_begins(info, address), 0)) {
        cia_free_slow(address);
        return;
    }
    PROBE1(free_slow_path, address);
    if (__builtin_expect(!overflow_by_sequence(area, info, address), 0))
        overflow_block(info, address);
}

size_t cia_usable(const void *address)
{
    const struct page_info *info = page_map_find(address);
    bool is_hardened = harden_is_on();

    /* Where a block begins, the class says it all. */
    if (__builtin_expect(!is_hardened && info != NULL && block_begins(info, address), 1))
        return size_class_bytes(info->size_class);
    const struct linked_allocator *other = other_owner(address);
    if (__builtin_expect(other != NULL, 0))
        return other->usable_size((void *)(uintptr_t)address);
    if (is_hardened)
        return hardened_usable(address);
    const struct huge *huge = huge_at(address);

    if (huge != NULL)
        return (size_t)(huge_end(huge) - huge->block);
    struct block block = block_at(block_chunk(address), address);
    block_check_start(&block, address);
    return block.bytes - (size_t)((const char *)address - block.start);
}

size_t cia_usable_class(size_t bytes)
{
    if (bytes > PTRDIFF_MAX)
        return 0;
    /* The settings are read for the first block. */
    if (heap_of_this_cpu() == NULL)
        cia_free(cia_allocate(1));
    if (harden_is_on()) /* what is behind them is not the caller's */
        return bytes != 0 ? bytes : 1;
    if (bytes <= SIZE_CLASS_LARGEST)
        return size_class_bytes(size_class_for(bytes));
    return (bytes + LINE_BYTES - 1) & ~((size_t)LINE_BYTES - 1);
}

/*
 * A block above the classes that grows and has to move gets this part more than was asked for: one
 * that grows in small steps is copied once in so many of its lengths. What is not used of that has
 * addresses and no memory.
 */
enum { GROWTH_PART = 4 };

/*
 * A block of a mapping, up to this length, is copied when it grows by more than half. That is
 * seldom for what it grows, where under a hypervisor with shadow page tables an mremap may make it
 * forget all of the process's pages (perl, whose arrays double: 0.84 of the time). For a longer one
 * that costs more, and a copy fills in what the program did not.
 */
enum { COPIED_MOST = 4 << 20 };

/* As huge_resize; what is known of a sampled block goes with it as of a new one. */
static void *resize_huge(struct huge *huge, void *block, size_t bytes, bool is_profiled)
{
    struct sample sample;
    /* Before: once it has moved, another thread may begin a block there. */
    bool was_sampled = is_profiled && profile_forget(block, &sample);
    void *resized = huge_resize(huge, bytes);

    if (resized == NULL && was_sampled)
        profile_put_back(block, &sample);
    if (resized != NULL && is_profiled && profile_count(bytes))
        profile_record(resized, bytes, __builtin_frame_address(0));
    return resized;
}

static void *reallocate_hardened(void *block, size_t bytes)
{
    size_t old_bytes;
    bool zeroed;
    void *resized = hardened_resize(block, bytes, false, &old_bytes);

    if (resized != NULL)
        return resized;
    void *moved = allocate(LINE_BYTES, bytes, &zeroed);
    if (moved != NULL) {
        hardened_free(block, moved, bytes < old_bytes ? bytes : old_bytes);
    } else if (bytes <= old_bytes) { /* shrinking never fails */
        (void)hardened_resize(block, bytes, true, &old_bytes);
        moved = block;
    }
    return moved;
}

/* A block of a linked allocator's stays there, or is copied to one of ours and freed there. */
void *cia_reallocate(void *block, size_t bytes)
{
    if (harden_is_on() && other_owner(block) == NULL)
        return reallocate_hardened(block, bytes);
    size_t usable = cia_usable(block);
    bool is_long = usable > SIZE_CLASS_LARGEST, is_profiled = profile_is_on();
    struct huge *huge =
        is_long && bytes > (size_t)LARGE_GREATEST_PAGES * PAGE_BYTES ? page_map_huge(block) : NULL;

    /* A mapping follows its block's length to the page. */
    bool is_copied = huge != NULL && bytes > usable + usable / 2 && usable <= COPIED_MOST;
    void *moved = huge != NULL && !is_copied ? resize_huge(huge, block, bytes, is_profiled) : NULL;
    if (moved != NULL)
        return moved;
    /* In place while at least half of the block stays in use, five eighths of a long one, or none
       could be shorter. A long one that has grown is a fourth longer than was asked for. */
    size_t least = is_long ? usable - usable / 8 * 3 : usable / 2;
    if (bytes <= usable && (bytes >= least || usable <= LINE_BYTES))
        return block;
    bool zeroed, is_sampled = is_profiled && profile_count(bytes);
    size_t alignment = is_sampled ? LINE_BYTES : GRANULE_BYTES;
    if (is_long && !is_copied && bytes > usable)
        moved = allocate_quietly(alignment, bytes + bytes / GROWTH_PART, &zeroed);
    if (moved == NULL)
        moved = allocate_quietly(alignment, bytes, &zeroed);
    if (is_sampled)
        profile_record(moved, bytes, __builtin_frame_address(0));
    if (moved == NULL && bytes <= usable)
        return block; /* shrinking never fails */
    /* What was free is gathered now, and may do for a mapping that grows. */
    if (moved == NULL)
        return huge != NULL ? resize_huge(huge, block, bytes, is_profiled) : NULL;
    memcpy(moved, block, bytes < usable ? bytes : usable);
    cia_free(block);
    return moved;
}

bool cia_trim(void)
{
    return trim(true);
}
