/*
 * SPDX-License-Identifier: MIT
 *
 * The allocator's counts of another process: copies of its sub-heaps and magazines, one after the
 * other, given to the allocator's own sums. Nothing is locked: what a thread changes meanwhile is
 * read before or after.
 */
#include "cia_malloc/hardened/quarantine.h"
#include "cia_malloc/statistics/shared_statistics.h"
#include "stats_reader/reader.h"

/* Entries of all inboxes that are followed in one look, should the process change them all the
   time, or lead its reader in a circle. */
enum { INBOXES_MOST = 1 << 20 };
static int followed;

static void add_magazines(const struct target *target, uint64_t magazines,
                          struct cia_summary *summary)
{
    struct magazine own[SIZE_CLASS_COUNT];
    uint64_t region = target_read_u64(target, magazines + offsetof(struct magazines, own));
    uint64_t at = region + offsetof(struct magazine_region, of_class);

    if (region != 0 && target_read(target, at, own, sizeof own))
        cia_summary_add_magazines(summary, own);
}

/* ---- what other CPUs freed and the sub-heap has not taken back yet: free to the program ---- */

/* Blocks of one span. */
static void count_freed(const struct target *target, uint64_t span_address, uint64_t bits,
                        struct cia_summary *summary)
{
    uint64_t blocks = (uint64_t)__builtin_popcountll(bits);
    struct span span;

    if (!target_read(target, span_address, &span, sizeof span))
        return;
    if (span.size_class == CLASS_LARGE) {
        summary->large_away_blocks++;
        summary->large_away_bytes += (uint64_t)span.run_pages * PAGE_BYTES;
    } else if (span.size_class < SIZE_CLASS_COUNT) {
        summary->classes[span.size_class].waiting += blocks;
    }
}

static void read_inbox(const struct target *target, uint64_t remote_address,
                       struct cia_summary *summary)
{
    struct span_remote remote;

    for (; followed < INBOXES_MOST && remote_address != 0; followed++) {
        if (!target_read(target, remote_address, &remote, sizeof remote))
            return;
        uint64_t chunk = (uintptr_t)remote.chunk;
        uint64_t page = (remote_address - chunk - offsetof(struct chunk, remotes)) / sizeof remote;

        count_freed(target, chunk + offsetof(struct chunk, spans) + page * sizeof(struct span),
                    atomic_load_explicit(&remote.freed, memory_order_relaxed), summary);
        remote_address = (uintptr_t)remote.next;
    }
}

/* ---- all of it ---- */

static void add_subheap(const struct target *target, uint64_t address, bool sequences,
                        struct cia_summary *summary)
{
    static struct subheap heap;
    static struct quarantine quarantine;

    if (!target_read(target, address, &heap, sizeof heap)) {
        summary->totals.subheaps_not_counted++;
        return;
    }
    bool has_quarantine =
        heap.quarantine != NULL && target_read(target, (uintptr_t)heap.quarantine, &quarantine,
                                               offsetof(struct quarantine, drawn));
    cia_summary_add_subheap(summary, &heap, has_quarantine ? &quarantine : NULL);
    if (!sequences)
        add_magazines(target, (uintptr_t)heap.magazines, summary);
    read_inbox(target, (uintptr_t)atomic_load_explicit(&heap.inbox.newest, memory_order_relaxed),
               summary);
}

static size_t kept_bytes(const struct target *target, uint64_t slots)
{
    uint64_t kept[HUGE_CACHE_SLOTS] = {0};
    size_t bytes = 0;

    (void)target_read(target, slots, kept, sizeof kept);
    for (int i = 0; i < HUGE_CACHE_SLOTS; i++) {
        if (kept[i] != 0)
            bytes += target_read_u64(target, kept[i] + offsetof(struct huge, extent));
    }
    return bytes;
}

bool read_cia(const struct target *target, uint64_t page, struct cia_summary *summary)
{
    static uint64_t heaps[ALL_HEAPS], magazines[CPU_HEAPS];
    struct cia_totals *totals = &summary->totals;
    struct live_cia live;
    struct huge_totals huge;
    uint8_t sequences; /* a bool there, or anything */

    followed = 0;
    *summary = (struct cia_summary){.process = (int)target->process};
    if (!target_read(target, page, &live, sizeof live) ||
        !target_read(target, live.heap_table, heaps, sizeof heaps) ||
        !target_read(target, live.magazines, magazines, sizeof magazines) ||
        !target_read(target, live.sequences, &sequences, sizeof sequences) ||
        !target_read(target, live.huge, &huge, sizeof huge))
        return false;
    for (unsigned cpu = 0; sequences && cpu < CPU_HEAPS; cpu++) {
        if (magazines[cpu] != 0)
            add_magazines(target, magazines[cpu], summary);
    }
    for (unsigned i = 0; i < ALL_HEAPS; i++) {
        if (heaps[i] != 0)
            add_subheap(target, heaps[i], sequences != 0, summary);
    }
    totals->mapped_bytes = target_read_u64(target, live.mapped_bytes);
    totals->kept_bytes = kept_bytes(target, live.kept);
    totals->anon_huge_page_bytes = target_memory(target, "AnonHugePages:");
    totals->l1_colours = target_read_u32(target, live.colours);
    cia_summary_finish(summary, &huge);
    return true;
}
