/*
 * SPDX-License-Identifier: MIT
 *
 * See allocator.h.
 */
#include "bank_malloc/api/allocator.h"

#include "bank_malloc/memory/growth.h"
#include "bank_malloc/memory/kept.h"
#include "bank_malloc/memory/together.h"
#include "base/current_cpu.h"
#include "base/memory_nodes.h"
#include "base/pages.h"
#include "base/report.h"
#include "malloc_family/linked_allocator.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct bank_settings bank_settings;

static struct bank_lock start_lock;
static atomic_bool is_started; /* the acquire pairs with the release behind all that start writes */
static pthread_key_t key;      /* its destructor tells that a thread ends */
static bool has_key;

/*
 * The destructor of the key has run. What the thread allocates later, in destructors of others,
 * gets a heap for one call: libc calls destructors four times at most, and nobody would tell that
 * the thread has left a heap that it got after the last one. Initial-exec: as heap_of_thread.
 */
static _Thread_local bool has_left __attribute__((tls_model("initial-exec")));

static void leave_heap(void *heap)
{
    heap_of_thread = NULL;
    has_left = true;
    heap_abandon(heap);
}

static uint64_t pool_limit(void)
{
    if (bank_settings.pool != 0)
        return bank_settings.pool;
    /* Without banks nothing is locked; locked memory is others' loss. */
    bool has_banks = arena.frames.knowledge != FRAMES_UNKNOWN;
    return has_banks ? bank_machine_memory() / 4 : bank_machine_memory() * 2;
}

/* Where there are not so many addresses the pool is smaller. */
static bool start_arena(const struct frames *frames)
{
    uint64_t bytes;

    arena.frames = *frames;
    for (bytes = pool_limit(); bytes >= HUGE_PAGE_BYTES; bytes /= 2) {
        if (arena_start(frames, bytes))
            return true;
        if (frames->knowledge == FRAMES_RELATIVE)
            return false;
    }
    return false;
}

static void start_memory(void)
{
    struct frames frames;

    frames_start_unknown(&frames);
    if (bank_settings.has_map)
        frames_start(&frames, &bank_settings.map, bank_settings.is_simulated);
    if (start_arena(&frames))
        return;
    if (frames.knowledge == FRAMES_RELATIVE)
        report_line("mplace: libbank_malloc.so: the kernel tells no frame numbers (they need "
                    "CAP_SYS_ADMIN) and gives no huge pages: memory is allocated without regard to "
                    "banks");
    frames_start_unknown(&frames);
    (void)start_arena(&frames);
}

static void start_colours(void)
{
    const char *text = bank_settings.colours, *near = bank_settings.near;
    bool are_nodes = arena.frames.map.nodes;

    /* Without banks there is one colour, whatever was asked for; a line has said so. */
    if (arena.frames.knowledge == FRAMES_UNKNOWN)
        text = near = NULL;
    if (!colours_start(text, arena.frames.controllers, arena.frames.banks, are_nodes))
        report_line("mplace: BANK_COLOURS=%s is not allowed (near, cpu, thread, or "
                    "CONTROLLER:BANKS;CONTROLLER:BANKS... of controllers 0 to %u and banks 0 to "
                    "%u); using near",
                    text, arena.frames.controllers - 1, arena.frames.banks - 1);
    if (near == NULL)
        return;
    uint32_t cpus = possible_cpus();
    if (!colours_set_near(near, cpus))
        report_line("mplace: BANK_NEAR=%s is not allowed (a list of CPUs as 0-3,8 for each of %u "
                    "controllers, with slashes between; CPUs 0 to %u, each once); using the "
                    "default",
                    near, arena.frames.controllers, cpus - 1);
}

static void take_pool(void)
{
    uint32_t chunks = (uint32_t)(bank_settings.pool >> arena.shift);

    if (bank_settings.pool == 0 || arena.base == NULL)
        return;
    arena_lock(); /* another thread may ask for an address's bank before the start is over */
    bool is_short = arena_grow(chunks) < chunks;
    uint64_t bytes = (uint64_t)arena.owned << arena.shift;
    arena_unlock();
    if (is_short)
        report_line("mplace: BANK_POOL: the kernel gave only %luM", bytes >> 20);
}

/*
 * --- fork ---
 *
 * The forking thread does not hold the pool's lock: between its handlers and the copy libc takes
 * locks of its own (of stdio's list of streams, of NSS), and a thread that has one of those may
 * want memory before it lets go. What another thread was changing is half changed in the child,
 * which therefore trusts only what is a word of its own: see arena_start_child.
 */
static void start_child(void)
{
    if (arena.base == NULL)
        return;
    arena_start_child();
    together_start_child();
    kept_start_child();
    colours_start_child();
    heap_start_child();
    if (has_key)
        (void)pthread_setspecific(key, NULL);
    memset(refill_counts, 0, sizeof refill_counts);
    refill_forget_yield();
}

void bank_start(void)
{
    int saved_errno = errno;

    if (atomic_load_explicit(&is_started, memory_order_acquire))
        return;
    bank_lock(&start_lock);
    if (!is_started) {
        bank_settings_read(&bank_settings);
        heap_modes = bank_settings.modes;
        heap_follows = bank_settings.follows;
        refill_sweep = heap_sweep;
        arena_child_begins = start_child;
        start_memory();
        if (arena.base != NULL) {
            together_start();
            size_classes_start(arena.shift);
        }
        start_colours();
        take_pool();
        has_key = pthread_key_create(&key, leave_heap) == 0;
        atomic_store_explicit(&is_started, true, memory_order_release);
    }
    bank_unlock(&start_lock);
    errno = saved_errno;
}

/* The thread leaves the heap that it had, if any, for this one; unless it has left its last one. */
static void enter_heap(struct heap *heap)
{
    if (has_left)
        return;
    struct heap *before = has_key ? pthread_getspecific(key) : NULL;

    heap_of_thread = heap;
    if (has_key)
        (void)pthread_setspecific(key, heap); /* may allocate, and finds the heap */
    if (before != NULL)
        heap_abandon(before);
}

/* The thread's heap, for one call: done_with ends it. NULL: out of memory. */
static struct heap *heap_for_thread(void)
{
    struct heap *heap = heap_of_thread;

    if (heap != NULL)
        return heap;
    bank_start();
    if (arena.base == NULL)
        return NULL;
    arena_lock();
    struct colour_set set = colours_of_new_thread(current_cpu());
    arena_unlock();
    heap = heap_adopt(set);
    if (heap != NULL)
        enter_heap(heap);
    return heap;
}

/* Of a thread that did not enter the heap. */
static void done_with(struct heap *heap)
{
    if (__builtin_expect(has_left, 0))
        heap_abandon(heap);
}

bool bank_set_thread_colours(struct colour_set set)
{
    struct heap *heap = set.count != 0 ? heap_adopt(set) : NULL;

    if (heap == NULL)
        return false;
    enter_heap(heap);
    done_with(heap);
    return true;
}

/* Bytes in whole chunks; 0 for a sum that no chunks hold. */
static size_t chunks_of(size_t bytes)
{
    size_t chunk = (size_t)1 << arena.shift;

    return bytes > SIZE_MAX - chunk ? 0 : bytes == 0 ? 1 : (bytes + chunk - 1) >> arena.shift;
}

static void *allocate_chunks(struct colour_set set, uint32_t *turn, size_t bytes, size_t alignment,
                             unsigned modes)
{
    size_t chunks = chunks_of(bytes), alignment_chunks = alignment >> arena.shift;
    void *block;

    if (chunks == 0)
        return NULL;
    arena_lock();
    block = refill_block(set, turn, chunks, alignment_chunks != 0 ? alignment_chunks : 1, modes);
    arena_unlock();
    return block;
}

void *bank_allocate_slowly(size_t bytes)
{
    struct heap *heap = heap_for_thread();
    void *block;

    if (heap == NULL)
        return NULL;
    if (bytes <= size_classes.longest) {
        block = heap_take(heap, size_class_of(bytes));
    } else {
        heap_follow(heap);
        block = allocate_chunks(heap->set, &heap->turn, bytes, 1, heap_modes);
    }
    done_with(heap);
    return block;
}

/* Where frames matter a block's memory is there all the time. */
void *bank_allocate_zeroed(size_t bytes)
{
    void *block = bank_allocate(bytes);

    if (block != NULL && arena.frames.knowledge == FRAMES_UNKNOWN)
        return pages_zero_block(block, bytes);
    return block != NULL ? memset(block, 0, bytes) : NULL;
}

void *bank_allocate_aligned(size_t alignment, size_t bytes)
{
    struct heap *heap = heap_for_thread();
    size_t least = bytes > alignment ? bytes : alignment;
    void *block;

    if (heap == NULL)
        return NULL;
    if (alignment <= BLOCK_ALIGNMENT)
        block = bank_allocate(bytes);
    else if (least <= size_classes.longest) /* a block of a power of two lies at a multiple of it */
        block = bank_allocate((size_t)1 << (64 - __builtin_clzl(least - 1)));
    else
        block = allocate_chunks(heap->set, &heap->turn, bytes, alignment, heap_modes);
    done_with(heap);
    return block;
}

void *bank_allocate_from(uint32_t controller, uint32_t bank, size_t bytes, unsigned modes)
{
    uint16_t colour = (uint16_t)pool_colour(&arena.pool, controller, bank);
    uint32_t turn = 0;

    arena_lock();
    struct colour_set set = colours_intern(&colour, 1);
    arena_unlock();
    return allocate_chunks(set, &turn, bytes, 1, modes);
}

/* The slab that a block is in; NULL: it has chunks of its own, or is none. */
static struct chunk *slab_of(const void *block)
{
    size_t chunk = arena_find(block);

    if (chunk >= arena.recorded || arena_chunk((uint32_t)chunk)->kind != CHUNK_SLAB)
        return NULL;
    return arena_chunk((uint32_t)chunk);
}

/* Whose the address is if no chunk has it; NULL: ours, or nobody's. */
static const struct linked_allocator *other_owner(const void *address)
{
    return arena_find(address) >= arena.recorded ? linked_allocator() : NULL;
}

size_t bank_usable(const void *block)
{
    const struct chunk *slab = slab_of(block);

    if (slab != NULL) {
        (void)slab_index(slab, block);
        return slab->size;
    }
    uint32_t length = refill_length(block);
    const struct linked_allocator *other = length == 0 ? other_owner(block) : NULL;
    if (other != NULL)
        return other->usable_size((void *)(uintptr_t)block);
    if (length == 0)
        heap_misuse(block, "is no block");
    return (size_t)length << arena.shift;
}

void bank_free_slowly(void *block)
{
    int saved_errno = errno;

    arena_lock();
    bool is_block = refill_length(block) != 0;
    if (is_block)
        refill_give_back(block);
    arena_unlock();
    /* Not with the lock: another allocator, or a handler of SIGABRT, may allocate. */
    const struct linked_allocator *other = is_block ? NULL : other_owner(block);
    if (other != NULL)
        other->free(block);
    else if (!is_block)
        heap_misuse(block, "is no block");
    errno = saved_errno;
}

/* A block that grew to its length grows on, often by little: it gets room for some of that. */
static void *allocate_grown(size_t usable, size_t bytes)
{
    size_t ahead = usable + usable / 8;
    void *block = usable > size_classes.longest && bytes < ahead ? bank_allocate(ahead) : NULL;

    return block != NULL ? block : bank_allocate(bytes);
}

/* A block stays if the request fits and does not leave more than half of it unused. One of a linked
   allocator's does so too, or is copied to one of ours and freed there. */
void *bank_reallocate(void *block, size_t bytes)
{
    size_t usable = bank_usable(block);

    if (bytes <= usable && (bytes >= usable / 2 || usable == BLOCK_ALIGNMENT))
        return block;
    void *moved = bytes > usable ? allocate_grown(usable, bytes) : bank_allocate(bytes);
    if (moved == NULL)
        return bytes <= usable ? block : NULL;
    memcpy(moved, block, usable < bytes ? usable : bytes);
    bank_release(block);
    return moved;
}

/*
 * Of this thread's and orphaned heaps, and of others what heap_sweep finds. Who asked for a pool
 * of some size (BANK_POOL) keeps it, with its frames: such a pool gets no others.
 */
bool bank_trim(void)
{
    uint32_t given = 0;

    bank_start();
    arena_lock();
    if (heap_of_thread != NULL)
        heap_shed(heap_of_thread);
    heap_sweep(false);
    (void)kept_shed();
    if (bank_settings.pool == 0 && arena.base != NULL)
        given = arena_trim();
    if (given != 0)
        refill_forget_yield();
    arena_unlock();
    return given != 0;
}

static bool is_moved(size_t unit)
{
    return unit < together.count && !runs_is_free(&together.runs, (uint32_t)unit);
}

/* The chunk whose pages are at that address and in use; POOL_NONE: there is none. */
static uint32_t chunk_at(const void *address)
{
    size_t chunk = arena_find(address), unit = together_find(address);

    if (arena.base == NULL)
        return POOL_NONE;
    if (chunk < arena.recorded) {
        uint8_t kind = arena_chunk((uint32_t)chunk)->kind;

        return kind == CHUNK_UNUSED || kind == CHUNK_MOVED ? (uint32_t)POOL_NONE : (uint32_t)chunk;
    }
    if (!is_moved(unit))
        return POOL_NONE;
    return together_unit(unit)->chunk;
}

/* Both take the lock: a thread that makes the pool larger replaces its tables. */
bool bank_has_memory(const void *address)
{
    arena_lock();
    bool has_memory = chunk_at(address) != POOL_NONE || is_moved(together_find(address));
    arena_unlock();
    return has_memory;
}

uint16_t bank_colour_of(const void *address)
{
    uint16_t colour = FRAMES_NO_COLOUR;

    arena_lock();
    uint32_t chunk = chunk_at(address);
    if (chunk != POOL_NONE && arena.frames.knowledge != FRAMES_UNKNOWN &&
        !arena_chunk(chunk)->is_inherited && arena_is_colour(arena.pool.colour[chunk]))
        colour = arena.pool.colour[chunk];
    arena_unlock();
    return colour;
}

void bank_register_fork(void)
{
    pthread_atfork(bank_start, NULL, arena_after_fork);
}
