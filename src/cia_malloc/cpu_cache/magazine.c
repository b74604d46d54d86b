/*
 * SPDX-License-Identifier: MIT
 *
 * Making magazines, looking at them, and taking those of other CPUs; see magazine.h.
 */
#include "cia_malloc/cpu_cache/magazine.h"

#include "base/system_call.h"
#include "cia_malloc/pages/allocator_mode.h"
#include "cia_malloc/pages/page_source.h"

#include <linux/membarrier.h>
#include <sys/single_threaded.h>

atomic_bool magazine_sequences;
_Thread_local ptrdiff_t magazine_thread_area;

/*
 * Until the process's first call has run, an offset where each thread has zero: before that nothing
 * of ours can have been. It is a word of the thread's control block that glibc reserves for
 * transactional memory (tcbhead_t.__private_tm[2]) and that nobody uses: libitm takes the first
 * two.
 */
enum { UNUSED_WORD = 96 };
_Alignas(LINE_BYTES) struct magazine_areas magazine_areas = {UNUSED_WORD - 8, UNUSED_WORD - 8};

/* Announced here: nothing, ever. */
static __attribute__((tls_model("initial-exec"))) _Thread_local uint64_t no_area[2];
_Atomic(struct magazine_region *) magazine_to_take[CPU_HEAPS], magazine_to_put[CPU_HEAPS];

static unsigned region_count;

struct magazine_region magazines_without_room[MAGAZINE_NODES];

/* What was published for each CPU; the tables lead there, or to magazines_without_room. Set once,
   by compare-and-swap. */
_Atomic(struct magazines *) magazines_published[CPU_HEAPS];

/* The thread between revoke and restore, by its thread pointer, which the child of a fork shares.
   Claimed by compare-and-swap from NULL (acquire), released. */
static _Atomic(void *) revoker;

static uint32_t load_of(unsigned size_class)
{
    uint32_t most = MAGAZINE_LOAD_BYTES / (uint32_t)size_class_bytes(size_class);

    return most < MAGAZINE_LOAD_MOST ? most : MAGAZINE_LOAD_MOST;
}

/* Blocks of the stack at most. Fewer than a full and a loaded magazine take where they are long. */
static uint32_t ceiling_of(unsigned size_class)
{
    uint32_t load = load_of(size_class);
    bool is_long = load < MAGAZINE_LOAD_MOST;
    uint32_t room = is_long ? MAGAZINE_LOADS_OF_LONG * load
                            : MAGAZINE_STACK_BYTES / (uint32_t)size_class_bytes(size_class);
    uint32_t most = is_long ? MAGAZINE_LONG_MOST : MAGAZINE_STACK_MOST;

    return room < most ? room : most;
}

static size_t bytes_of_regions(void)
{
    return offsetof(struct magazines, region) + region_count * sizeof(struct magazine_region);
}

void magazines_choose(bool sequences, unsigned nodes)
{
    region_count = nodes > 1 ? MAGAZINE_NODES : 1; /* nodes have any numbers */
    for (uint32_t cpu = 0; sequences && cpu < CPU_HEAPS; cpu++) {
        struct magazine_region *none = NULL;

        /* Another thread may be further already, and publish. */
        atomic_compare_exchange_strong(&magazine_to_put[cpu], &none, magazines_without_room);
        none = NULL;
        atomic_compare_exchange_strong(&magazine_to_take[cpu], &none, magazines_without_room);
    }
    /* Release: a thread that finds this finds the tables. */
    atomic_store_explicit(&magazine_sequences, sequences, memory_order_release);
    ptrdiff_t none = (const char *)no_area - (const char *)__builtin_thread_pointer();
    ptrdiff_t all = sequences ? __rseq_offset : none;
    __atomic_store_n(&magazine_areas.all, all, __ATOMIC_RELEASE);
    __atomic_store_n(&magazine_areas.take, profile_is_on() ? none : all, __ATOMIC_RELEASE);
}

void magazines_destroy(struct magazines *magazines)
{
    page_source_unmap_metadata(magazines, bytes_of_regions());
}

/* Puts those of a CPU in the tables. */
static void enter(uint32_t cpu, struct magazines *magazines)
{
    /* Release: a thread that finds them sees all that was done to them. to_put comes last: a
       thread that finds them there finds to_take stored. */
    atomic_store_explicit(&magazine_to_take[cpu], magazines->own, memory_order_release);
    atomic_store_explicit(&magazine_to_put[cpu], magazines->region, memory_order_release);
}

/* Has the kernel fill in the pages of a store up to a place: a free inside a transaction would
   abort it where the stack first reaches a page. Pages that the stack never reaches take no memory.
   Writes what is there, for a magazine that begins anew may have been filled before. */
static void touch(struct magazine_store *store, const void *from, uint32_t places)
{
    char *end = (char *)&store->stack[places];

    for (char *at = (char *)from; at < end; at += PAGE_BYTES)
        __atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
    __atomic_fetch_or(end - 1, 0, __ATOMIC_RELAXED);
}

/* Whether so many blocks more of the class are within what all may hold together. Ceilings are
   counted anew each time: a rise may be lost, see magazine_rise. */
static bool there_is_room(const struct magazines *magazines, unsigned size_class, uint32_t blocks)
{
    uint64_t bytes = (uint64_t)blocks * size_class_bytes(size_class);

    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
        bytes += (uint64_t)atomic_load_explicit(&magazines->own->of_class[i].ceiling,
                                                memory_order_relaxed) *
                 size_class_bytes(i);
    return bytes <= MAGAZINES_BYTES;
}

void magazine_rise(struct magazines *magazines, unsigned size_class)
{
    struct magazine *magazine = &magazines->own->of_class[size_class];
    uint32_t ceiling = atomic_load_explicit(&magazine->ceiling, memory_order_relaxed);
    uint32_t risen = ceiling + MAGAZINE_CEILING_STEP;

    if (!atomic_load_explicit(&magazine->overflowed, memory_order_relaxed) ||
        risen > ceiling_of(size_class))
        return;
    atomic_store_explicit(&magazine->overflowed, false, memory_order_relaxed);
    if (!there_is_room(magazines, size_class, MAGAZINE_CEILING_STEP))
        return;
    touch(magazine->store, &magazine->store->stack[ceiling], risen);
    atomic_store_explicit(&magazine->ceiling, (uint16_t)risen, memory_order_release);
}

bool magazine_open(struct magazines *magazines, unsigned size_class)
{
    struct magazine *magazine = &magazines->own->of_class[size_class];
    uint32_t most = ceiling_of(size_class);
    uint32_t ceiling = most < MAGAZINE_FIRST_CEILING ? most : MAGAZINE_FIRST_CEILING;
    union magazine_bounds bounds = {.word = 0};

    magazines->uses[size_class] = 0;
    if (magazine->store == NULL) {
        size_t bytes = offsetof(struct magazine_store, stack) + most * sizeof(char *);

        /* An odd number of lines: stores of different classes begin in different sets. */
        bytes = ((bytes + LINE_BYTES - 1) / LINE_BYTES | 1) * LINE_BYTES;
        magazine->store = page_source_map_metadata(bytes);
        if (magazine->store == NULL)
            return false; /* the kernel is asked again after as many uses */
    }
    /* Each time: the child of a fork may find a store alone. */
    magazine->load = load_of(size_class);
    magazine->multiplier = size_class_multiplier[size_class];
    /* Blocks of 16 B that are freed in a row fill their lines. */
    magazine->no_blocks = MAGAZINE_COUNT_FULL - (size_class_bytes(size_class) == GRANULE_BYTES
                                                     ? MAGAZINE_OF_A_COLOUR_MOST
                                                     : MAGAZINE_OF_A_COLOUR);
    if (!there_is_room(magazines, size_class, ceiling))
        ceiling = 2 * (uint32_t)magazine->load;
    magazine_count(magazine, NULL, 0);
    touch(magazine->store, magazine->store, ceiling);
    bounds.ceiling = (uint16_t)ceiling;
    /* Release: a sequence that finds the ceiling finds the others. */
    atomic_store_explicit(&magazine->bounds, bounds.word, memory_order_release);
    return true;
}

/* Threads that may use sequences, ended ones too; counted before their first one (seq_cst). So a
   thread that is not seen here when magazines have been taken away finds them taken away. */
static _Atomic uint32_t threads_counted;

ptrdiff_t magazine_area_here(void)
{
    if (magazine_thread_area == MAGAZINE_AREA_UNKNOWN &&
        atomic_load_explicit(&magazine_sequences, memory_order_acquire)) {
        atomic_fetch_add(&threads_counted, 1);
        magazine_thread_area = rseq_cpu() >= 0 ? __rseq_offset : MAGAZINE_AREA_OFF;
    }
    return magazine_thread_area;
}

/* Acquire: the places are as new as the count or newer. */
uint32_t magazine_cached(const struct magazine *magazine)
{
    return atomic_load_explicit(&magazine->top, memory_order_acquire) & MAGAZINE_TOP_MASK;
}

uint32_t magazine_cached_untouched(const struct magazine *magazine)
{
    uint32_t top = magazine_cached(magazine), untouched = 0;

    /* Relaxed: any of them may be taken or written anew meanwhile. The store is there for ever. */
    for (uint32_t i = 0; i < top; i++)
        untouched += (uintptr_t)__atomic_load_n(&magazine->store->stack[i], __ATOMIC_RELAXED) &
                     MAGAZINE_UNTOUCHED;
    return untouched;
}

uint64_t magazine_served(const struct magazine *magazine)
{
    return atomic_load_explicit(&magazine->top, memory_order_relaxed) >> MAGAZINE_TOP_BITS;
}

void magazine_begin_anew(struct magazines *magazines, unsigned size_class)
{
    struct magazine *magazine = &magazines->own->of_class[size_class];
    uint64_t served = magazine_served(magazine);

    if (atomic_load_explicit(&magazine->ceiling, memory_order_relaxed) == 0 ||
        magazine_cached(magazine) != 0)
        return;
    atomic_store_explicit(&magazine->bounds, 0, memory_order_release); /* not counted as its own */
    if (served != magazines->served[size_class])
        magazine_open(magazines, size_class);
    magazines->served[size_class] = served;
}

struct magazines *magazines_provide(uint32_t cpu, unsigned node)
{
    struct magazines *magazines = page_source_map_metadata(bytes_of_regions());
    struct magazines *expected = NULL;

    if (magazines == NULL)
        return NULL;
    magazines->own = &magazines->region[node % MAGAZINE_NODES];
    if (!magazines_use_sequences())
        return magazines;
    if (!atomic_compare_exchange_strong_explicit(&magazines_published[cpu], &expected, magazines,
                                                 memory_order_acq_rel, memory_order_acquire)) {
        magazines_destroy(magazines);
        return expected;
    }
    enter(cpu, magazines);
    return magazines;
}

struct magazines *magazines_of(uint32_t cpu)
{
    return atomic_load_explicit(&magazines_published[cpu], memory_order_acquire);
}

static long membarrier(int what, int32_t cpu)
{
    return system_call_6(SYS_membarrier, what, cpu < 0 ? 0 : MEMBARRIER_CMD_FLAG_CPU, cpu, 0, 0, 0);
}

/*
 * Interrupts every section that runs now, on the CPU or on any. That of this thread, below a signal
 * handler, the signal has interrupted; so with one thread nothing is asked of the kernel:
 * sandboxes, sshd's for one, kill a process that calls membarrier. libc's word and the count are
 * both needed: libc does not know of the threads of another libc in the process (dlmopen), nor the
 * count of a thread that had sequences of its own before its first block.
 */
static bool interrupt_sections(int32_t cpu)
{
    (void)magazine_area_here(); /* counts this thread, which perhaps has no block yet */
    return (__libc_single_threaded && atomic_load(&threads_counted) <= 1) ||
           (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, ALL_CPUS) == 0 &&
            /* Another kernel than Linux may know no single CPU. */
            (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, cpu) == 0 ||
             membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, ALL_CPUS) == 0));
}

bool magazines_revoke(int32_t of_cpu)
{
    void *expected = NULL;

    if (!magazines_use_sequences() || magazine_thread_is_vforked() ||
        !atomic_compare_exchange_strong_explicit(&revoker, &expected, __builtin_thread_pointer(),
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++) {
        /* One that is published from now on stays in use. */
        if ((of_cpu < 0 || cpu == (uint32_t)of_cpu) && !magazines_are_revoked(cpu)) {
            atomic_store(&magazine_to_put[cpu], magazines_without_room);
            atomic_store(&magazine_to_take[cpu], magazines_without_room);
            magazines_of(cpu)->revoked = true;
        }
    }
    /* A section that began before finds itself at its beginning, and there NULL. */
    if (interrupt_sections(of_cpu))
        return true;
    magazines_restore();
    return false;
}

void magazines_restore(void)
{
    for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++) {
        struct magazines *magazines = magazines_of(cpu);

        if (magazines != NULL && magazines->revoked) {
            magazines->revoked = false;
            enter(cpu, magazines);
        }
    }
    atomic_store_explicit(&revoker, NULL, memory_order_release);
}

void magazines_after_fork(void)
{
    /* Forked by a signal handler of the thread that has them: it goes on, and returns them. */
    if (!magazines_use_sequences() ||
        atomic_load_explicit(&revoker, memory_order_relaxed) == __builtin_thread_pointer())
        return;
    for (uint32_t cpu = 0; cpu < CPU_HEAPS; cpu++) {
        struct magazines *magazines = magazines_of(cpu);

        /* Another thread may have been about to say so. */
        if (magazines != NULL)
            magazines->revoked = true;
    }
    magazines_restore();
}
