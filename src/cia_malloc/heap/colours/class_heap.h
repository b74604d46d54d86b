/*
 * SPDX-License-Identifier: MIT
 *
 * The blocks of one class in one sub-heap, and which of them to hand out next so that the live ones
 * lie evenly over the L1 sets. All of it under the sub-heap's lock.
 *
 * Balance. count[s] is the number of live blocks in slot s (one slot, one colour; of a compact
 * class up to four slots share one). C is the number of slots. A slot is under quota when
 * count[s] < quota. A free block of such a slot is eligible: blocks are handed out from eligible
 * ones, as long as there are any.
 *
 *     invariant    bit s of under_quota  <=>  count[s] < quota
 *     invariant    live / C < quota <= (live + C / 2) / C + 1    after every raise and lower
 *
 * The quota rises when no slot is under it, that is when every slot holds quota blocks, and falls
 * when live has fallen half a cycle under the point where it rose: so each move costs C steps and
 * happens at most once in C / 2 calls. Since every span holds each slot of its type once, a slot
 * with few live blocks is a slot with many free ones: what balance asks for is there. So
 *   - never-used blocks: no slot gets its (k + 1)th block before each has k. N in a row put at most
 *     ceil(N / C) + 1 into a slot, and so into a set; packed ones ceil(N / 64) + 3 lines into a
 *     set;
 *   - recycled blocks: no slot is given more than about one block above its even share, whatever
 *     was freed before. It is the frees of the program that can leave a set fuller than that.
 *
 * Which span. A program that frees at random leaves one or two free blocks in every span, so that a
 * new current span is soon needed: every second malloc of a large tree. The span of a block just
 * freed is the best one: its block is nearly always eligible, and its words are in the cache. So a
 * span that was used up goes to the front of its list, as those of a new run do, and malloc looks
 * there first.
 *
 *     invariant    a span with free blocks is listed
 *     invariant    a listed span has free blocks, or is current
 */
#ifndef MPLACE_CIA_CLASS_HEAP_H
#define MPLACE_CIA_CLASS_HEAP_H

#include "cia_malloc/heap/colours/populate.h"
#include "cia_malloc/pages/chunk.h"

struct class_heap {
    struct span *current; /* blocks come from here; NULL at first */
    uint64_t allocations; /* since the process started */
    uint64_t live;        /* blocks handed out and not yet back */
    uint64_t capacity;    /* blocks in all spans */
    uint64_t lower_at;    /* lower the quota when live is less */
    uint64_t untouched;   /* bits set in the untouched words of all spans */
    uint32_t quota;       /* see above; from 1 */
    uint32_t block_bytes; /* constant, beside what malloc reads with it */
    uint8_t block_mask;   /* constant: span_blocks - 1 */
    uint8_t span_shift;   /* constant: log2 span_blocks */
    uint8_t first_bit;    /* where the search in a span begins; constant but with CIA_HARDEN=1 */
    uint8_t next_type;    /* wanted of the next current span: see find_eligible */
    uint8_t types;        /* constant */
    uint8_t size_class;   /* constant */
    _Alignas(LINE_BYTES) uint64_t under_quota[TYPES_GREATEST];
    struct circle_link *partial[TYPES_GREATEST]; /* spans with free blocks, by type */
    uint64_t run_pages[TYPES_GREATEST]; /* by type: where runs that begin with it lie, subheap.c */
    uint32_t count[SLOTS_GREATEST];     /* live blocks by slot: type << span_shift | bit */
};

/* The blocks of a cycle: its slots. */
static inline uint32_t class_heap_slots(const struct class_heap *heap)
{
    return (uint32_t)heap->types << heap->span_shift;
}

static_assert(offsetof(struct class_heap, under_quota) == LINE_BYTES, "the hot words are one line");
static_assert(sizeof(struct class_heap) / LINE_BYTES % 2 == 1,
              "an odd number of lines: heaps of different classes begin in different sets");

/* ---- next_block.c: quota, and which span and block come next ---- */

/* Makes every slot's bit in under_quota agree with the quota: C steps. */
void class_heap_set_quota(struct class_heap *heap, uint32_t quota);

static inline uint64_t class_heap_live_bytes(const struct class_heap *heap)
{
    return heap->live * heap->block_bytes;
}

/* The eligible blocks of the current span. */
static inline uint64_t class_heap_eligible(const struct class_heap *heap)
{
    const struct span *span = heap->current;

    return span != NULL ? span->free & heap->under_quota[span->type] : 0;
}

/*
 * Makes a span with an eligible block current, if the current one has none; failing that, one with
 * the block whose slot has the fewest live ones, which is eligible then. False when every
 * block is handed out, or, unless at_any_price, when a colour would get more than twice its share:
 * then carve a run.
 */
bool class_heap_find(struct class_heap *heap, bool at_any_price);

/*
 * Takes eligible blocks of the current span, of which there is one, from the bit where the search
 * begins on: at most so many, and so that the load has at most one of each colour, of a packed
 * class MAGAZINE_OF_A_COLOUR_MOST. of_colour: how many it has, by magazine_colour; these are added.
 * The first one is stored below end, the others below that. Bit 0 of each says MAGAZINE_UNTOUCHED.
 * Returns how many. A nanosecond each.
 */
uint32_t class_heap_take_many(struct class_heap *heap, char **end, uint32_t most,
                              uint8_t *of_colour);

/* The type that a new run should begin with: one with slots under quota. */
uint32_t class_heap_wanted_type(struct class_heap *heap);

/* Lists a span that is not listed, before the others of its type, and takes one that is out of its
   list. */
void class_heap_list(struct class_heap *heap, struct span *span);
void class_heap_unlist(struct class_heap *heap, struct span *span);

/*
 * Lets go of the current span, for class_heap_run_is_idle. Then
 *
 *     invariant    a chunk with an idle run is among those that may have one
 *
 * because it is put there when a run is carved, when a span is retired and entirely free, and when
 * class_heap_reconcile finds one so.
 */
void class_heap_retire_current(struct class_heap *heap);

/* ---- class_heap.c: the runs of a class ---- */

void class_heap_initialise(struct class_heap *heap, unsigned size_class);

/* Carves the run's pages, already taken from the chunk, into spans. */
void class_heap_add_run(struct class_heap *heap, struct chunk *chunk, uint32_t page,
                        uint32_t run_type, bool clean);

/*
 * A block of the current span just taken is handed out from an address inside it: a multiple of the
 * alignment, 128 to 1024. Until it is put back its first line begins no block for free().
 */
void class_heap_hand_out_inside(struct span *span, uint64_t bit, char *start, size_t alignment);

/* A block that was, put back: its first line begins a block again. */
void class_heap_put_inside(struct class_heap *heap, struct span *span, uint64_t bit);

/*
 * Puts blocks of a span back. Returns true when it is entirely free and not current: the caller
 * then calls class_heap_reconcile.
 */
static inline bool class_heap_put(struct class_heap *heap, struct span *span, uint64_t bits)
{
    uint32_t *counts = &heap->count[(uint32_t)span->type << heap->span_shift];
    uint64_t under_quota = heap->under_quota[span->type];
    uint64_t live = heap->live;

    span->free |= bits;
    for (uint64_t inside = span->interior & bits; __builtin_expect(inside != 0, 0);
         inside &= inside - 1)
        class_heap_put_inside(heap, span, inside & -inside);
    for (; bits != 0; bits &= bits - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(bits);

        /* Half of the slots are under quota: no branch. */
        under_quota |= (uint64_t)(--counts[bit] < heap->quota) << bit;
        live--;
    }
    heap->under_quota[span->type] = under_quota;
    heap->live = live;
    if (__builtin_expect(live < heap->lower_at, 0))
        class_heap_set_quota(heap, live / class_heap_slots(heap) + 1);
    if (span == heap->current)
        return false;
    if (__builtin_expect(!span->listed, 0)) {
        class_heap_list(heap, span);
        heap->next_type = span->type;
    }
    return span->free == ~(uint64_t)0 >> (63 - heap->block_mask);
}

/*
 * Of a span that is entirely free: true when its run has no live block, is not in use, and the
 * class has enough without it: remove it.
 */
bool class_heap_reconcile(struct class_heap *heap, struct span *span);

/* Takes the spans of a run out of the lists. The run must have no live block. */
void class_heap_remove_run(struct class_heap *heap, struct chunk *chunk, uint32_t page);

/* Whether every span of the run is entirely free and none is current. */
bool class_heap_run_is_idle(const struct class_heap *heap, const struct chunk *chunk,
                            uint32_t page);

#endif
