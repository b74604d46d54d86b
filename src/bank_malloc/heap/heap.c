/*
 * SPDX-License-Identifier: MIT
 *
 * See heap.h.
 */
#include "bank_malloc/heap/heap.h"

#include "base/current_cpu.h"
#include "base/pages.h"
#include "base/report.h"
#include "base/system_call.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(_Alignof(struct heap) > OWNER_MARKS, "the low bits of a heap's address are free");

_Thread_local struct heap *heap_of_thread __attribute__((tls_model("initial-exec")));
unsigned heap_modes;
bool heap_follows;

static struct heap *all_heaps;
/* Since the last sweep blocks came back to such heaps, or slabs were set aside. Mostly read. */
static atomic_bool orphan_changed, other_changed;
/* In a child that another thread than the one that forked put in order: that one goes on with its
   heap, and alone may release what it has inherited. */
static bool forker_goes_on;

/* A slab without blocks, so that heap_take need not ask whether there is one. Never written. */
static uint64_t no_slab_bytes[sizeof(struct chunk) / sizeof(uint64_t) + 1];
#define no_slab ((struct chunk *)(void *)no_slab_bytes)

void heap_misuse(const void *block, const char *what)
{
    report_line("libbank_malloc: %p given to free, realloc or malloc_usable_size %s", block, what);
    abort();
}

static bool is_full(const struct chunk *slab)
{
    return slab->used == slab->blocks;
}

static void link_partial(struct heap *heap, struct chunk *slab)
{
    struct chunk **head = &heap->partial[slab->class];

    slab->previous = NULL;
    slab->next = *head;
    if (*head != NULL)
        (*head)->previous = slab;
    *head = slab;
}

static void unlink_partial(struct heap *heap, struct chunk *slab)
{
    if (slab->next != NULL)
        slab->next->previous = slab->previous;
    if (slab->previous != NULL)
        slab->previous->next = slab->next;
    else
        heap->partial[slab->class] = slab->next;
}

/* A slab without a block in use goes back to the pool. */
static void release(struct chunk *slab)
{
    arena_lock();
    arena_release(arena_number(slab));
    arena_unlock();
}

void heap_record_free(struct heap *heap, struct chunk *slab)
{
    bool was_full = is_full(slab);

    slab->used--;
    if (was_full)
        owner_take_back_freeing(heap, slab);
    if (slab == heap->current[slab->class])
        return;
    if (slab->used == 0) {
        if (!was_full)
            unlink_partial(heap, slab);
        release(slab);
    } else if (was_full) {
        link_partial(heap, slab);
    }
}

static void mark_changed(atomic_bool *changed)
{
    if (!atomic_load(changed))
        atomic_store(changed, true);
}

/* What the heap allocated from so far. */
static void put_away(struct heap *heap, struct chunk *slab)
{
    if (slab != no_slab && is_full(slab)) {
        owner_set_aside(heap, slab);
        mark_changed(&other_changed);
    } else if (slab != no_slab) {
        link_partial(heap, slab);
    }
}

/* Pushes the slab on its owner's stack, unless it is on one. */
static void push(struct chunk *slab)
{
    if (atomic_exchange(&slab->notified_in, arena.generation) == arena.generation)
        return;
    struct heap *owner = owner_heap(atomic_load(&slab->owner));
    struct chunk *top = atomic_load(&owner->notified);
    do {
        slab->notified_next = top;
    } while (!atomic_compare_exchange_weak(&owner->notified, &top, slab));
    if (atomic_load(&owner->is_orphan))
        mark_changed(&orphan_changed);
}

static void notify(struct chunk *slab)
{
    push(slab);
    mark_changed(&other_changed);
}

/* Releases an inherited slab if its last block is free. No thread allocates from such a slab,
   unless the one that forked goes on. */
static void release_inherited(struct chunk *slab)
{
    arena_lock();
    bool is_empty = !forker_goes_on && slab->kind == CHUNK_SLAB && slab->is_inherited;
    for (uint32_t index = 0; is_empty && index < slab->blocks; index++) {
        uint64_t word = slab->bits[index / 64] | chunk_remote(slab)[index / 64];

        is_empty = (word >> index % 64 & 1) != 0;
    }
    if (is_empty)
        arena_release(arena_number(slab));
    arena_unlock();
}

void heap_free_remote(struct chunk *slab, uint32_t index)
{
    uint64_t bit = (uint64_t)1 << index % 64;
    /* Asked before the block is free: with its last block free an inherited slab is released by any
       thread, and looks as one of the child's own. */
    bool is_inherited = slab->is_inherited;

    /* The owner cleared the bit when it handed the block out, and sets it when it frees the block.
     */
    bool is_free = (__atomic_load_n(&slab->bits[index / 64], __ATOMIC_RELAXED) & bit) != 0;
    if (is_free || (atomic_fetch_or(&chunk_remote(slab)[index / 64], bit) & bit) != 0)
        heap_misuse(slab->base + (size_t)index * slab->size, "is free already");
    if (is_inherited)
        release_inherited(slab);
    else
        notify(slab);
}

/* What others freed becomes the owner's; returns how many blocks. */
static uint32_t collect(struct chunk *slab, bool is_locked)
{
    _Atomic uint64_t *remote = chunk_remote(slab);
    uint32_t count = 0;

    for (uint32_t i = 0; i <= (slab->blocks - 1u) / 64; i++) {
        uint64_t freed = atomic_exchange(&remote[i], 0);

        if ((freed & slab->bits[i]) != 0) {
            if (is_locked) /* a handler of SIGABRT may allocate */
                arena_unlock();
            heap_misuse(slab->base +
                            (size_t)(i * 64 + (unsigned)__builtin_ctzll(freed & slab->bits[i])) *
                                slab->size,
                        "is free already");
        }
        slab->bits[i] |= freed;
        count += (uint32_t)__builtin_popcountll(freed);
    }
    return count;
}

/*
 * A slab from the stack. A thread that frees may be late: its block was collected with others, the
 * slab went, and perhaps is another heap's by now. That one is told in its place.
 */
static void drain_slab(struct heap *heap, struct chunk *slab, bool is_locked)
{
    atomic_store(&slab->notified_in, 0);
    if (atomic_load(&slab->kind) != CHUNK_SLAB)
        return;
    bool was_aside = owner_take_back(heap, slab);
    struct heap *owner = atomic_load(&slab->owner);
    if (owner != heap) {
        if (owner != owner_marked(heap, OWNER_SWEPT))
            notify(slab);
        return;
    }
    bool was_full = is_full(slab);
    uint32_t count = collect(slab, is_locked);
    slab->used = (uint16_t)(slab->used - count);
    if (count == 0 && was_aside)
        owner_set_aside(heap, slab);
    if (count == 0 || slab == heap->current[slab->class])
        return;
    if (slab->used > 0 || heap->partial[slab->class] == NULL) {
        if (was_full)
            link_partial(heap, slab);
        return;
    }
    if (!was_full)
        unlink_partial(heap, slab);
    if (is_locked)
        arena_release(arena_number(slab));
    else
        release(slab);
}

/* All slabs of the stack. Empty ones go back to the pool, except a class's only slab with free
   blocks. is_locked: arena.lock is held. */
static void drain(struct heap *heap, bool is_locked)
{
    struct chunk *slab = atomic_exchange(&heap->notified, NULL);

    for (struct chunk *next; slab != NULL; slab = next) {
        next = slab->notified_next;
        drain_slab(heap, slab, is_locked);
    }
}

/* The chunk becomes a slab of the class. Its owner is stored first: a late thread that finds the
   new kind finds the new owner too. */
static void begin_slab(struct heap *heap, struct chunk *slab, unsigned class)
{
    uint32_t size = size_classes.size[class], blocks = (1u << arena.shift) / size;

    slab->base = arena_address(arena_number(slab));
    slab->size = size;
    slab->reciprocal = UINT32_MAX / size + 1;
    slab->used = 0;
    slab->blocks = (uint16_t)blocks;
    slab->word = 0;
    slab->class = (uint8_t) class;
    memset(slab->bits, 0, 2 * arena.words * sizeof *slab->bits);
    memset(slab->bits, 0xff, blocks / 64 * sizeof *slab->bits);
    if (blocks % 64 != 0)
        slab->bits[blocks / 64] = ((uint64_t)1 << blocks % 64) - 1;
    atomic_store(&slab->owner, heap);
    atomic_store(&slab->kind, CHUNK_SLAB);
}

void heap_follow(struct heap *heap)
{
    enum { MOVED_FOR_GOOD = 8 };

    if (!heap_follows)
        return;
    heap->elsewhere = colours_are_others_on(heap->set, current_cpu()) ? heap->elsewhere + 1 : 0;
    if (heap->elsewhere < MOVED_FOR_GOOD)
        return;
    heap->elsewhere = 0;
    heap_of_thread = NULL;
}

static struct chunk *new_slab(struct heap *heap, unsigned class)
{
    heap_follow(heap);
    arena_lock();
    uint32_t chunk = refill_chunk(heap->set, &heap->turn, heap_modes);
    if (chunk != POOL_NONE)
        begin_slab(heap, arena_chunk(chunk), class);
    arena_unlock();
    return chunk != POOL_NONE ? arena_chunk(chunk) : NULL;
}

/* Sets word to one with a free block; false: the slab is full. */
static bool find_word(struct chunk *slab)
{
    if (is_full(slab))
        return false;
    for (slab->word = 0; slab->bits[slab->word] == 0;)
        slab->word++;
    return true;
}

/* A slab of the class in which the heap knows a free block; NULL: there is none. */
static struct chunk *known_slab(struct heap *heap, unsigned class)
{
    struct chunk *slab = heap->current[class];

    if (slab != no_slab && find_word(slab))
        return slab;
    slab = heap->partial[class];
    if (slab != NULL) {
        unlink_partial(heap, slab);
        (void)find_word(slab);
    }
    return slab;
}

/* When there is no chunk: slabs of the heap's may have been in the hands of a sweep, and not on its
   stack, when it drained that. No thread sweeps while this one has the lock. */
static struct chunk *known_or_new_slab(struct heap *heap, unsigned class)
{
    arena_lock();
    drain(heap, true);
    arena_unlock();
    struct chunk *slab = known_slab(heap, class);
    return slab != NULL ? slab : new_slab(heap, class);
}

void *heap_refill(struct heap *heap, unsigned class)
{
    struct chunk *slab = heap->current[class];

    if (slab == no_slab || !find_word(slab)) {
        drain(heap, false);
        slab = known_slab(heap, class);
        if (slab == NULL)
            slab = new_slab(heap, class);
        if (slab == NULL && (slab = known_or_new_slab(heap, class)) == NULL)
            return NULL;
        if (slab != heap->current[class]) {
            put_away(heap, heap->current[class]);
            heap->current[class] = slab;
        }
    }
    return heap_take(heap, class);
}

static struct heap *make_heap(struct colour_set set)
{
    struct heap *heap = pages_map(sizeof *heap, 0);

    if (heap == NULL)
        return NULL;
    heap->set = set;
    for (unsigned class = 0; class < CLASSES_MOST; class ++)
        heap->current[class] = no_slab;
    heap->next = all_heaps;
    all_heaps = heap;
    return heap;
}

struct heap *heap_adopt(struct colour_set set)
{
    struct heap *heap;

    arena_lock();
    for (heap = all_heaps; heap != NULL; heap = heap->next) {
        if (heap->is_orphan && heap->set.colour == set.colour && heap->set.count == set.count)
            break;
    }
    if (heap == NULL)
        heap = make_heap(set);
    if (heap != NULL)
        heap->is_orphan = false;
    arena_unlock();
    return heap;
}

void heap_shed(struct heap *heap)
{
    drain(heap, true);
    for (unsigned class = 0; class < size_classes.count; class ++) {
        struct chunk *slab = heap->current[class];

        put_away(heap, slab);
        heap->current[class] = no_slab;
        for (struct chunk *next = heap->partial[class]; (slab = next) != NULL;) {
            next = slab->next;
            if (slab->used == 0) {
                unlink_partial(heap, slab);
                arena_release(arena_number(slab));
            }
        }
    }
}

void heap_abandon(struct heap *heap)
{
    arena_lock();
    /* First: a slab that is pushed too late to be shed here finds an orphan. */
    atomic_store(&heap->is_orphan, true);
    heap_shed(heap);
    arena_unlock();
}

/* Of the stack of a heap that a thread has: slabs that nobody needs. The others go back to it, and
   are not looked at again before something changes. */
static void sweep_stack(struct heap *heap)
{
    struct chunk *slab = atomic_exchange(&heap->notified, NULL);

    for (struct chunk *next; slab != NULL; slab = next) {
        next = slab->notified_next;
        atomic_store(&slab->notified_in, 0);
        if (atomic_load(&slab->kind) != CHUNK_SLAB)
            continue;
        if (owner_take_to_release(slab))
            arena_release(arena_number(slab));
        else
            push(slab);
    }
}

void heap_sweep(bool orphans_only)
{
    bool orphans = atomic_exchange(&orphan_changed, false);
    bool others = !orphans_only && atomic_exchange(&other_changed, false);

    for (struct heap *heap = orphans || others ? all_heaps : NULL; heap != NULL;
         heap = heap->next) {
        if (atomic_load(&heap->notified) == NULL)
            continue;
        /* An orphan was shed when it was left: since then a slab changes only by what others
           free. */
        if (heap->is_orphan)
            heap_shed(heap);
        else if (others)
            sweep_stack(heap);
    }
}

void heap_start_child(void)
{
    all_heaps = NULL;
    heap_of_thread = NULL;
    /* The thread that forked has its process's id in the child. */
    forker_goes_on = system_call(SYS_gettid, 0, NULL, 0) != system_call(SYS_getpid, 0, NULL, 0);
}
