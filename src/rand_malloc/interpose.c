/*
 * SPDX-License-Identifier: MIT
 *
 * The malloc family of librand_malloc.so: each request grows by a random extra and goes on to the
 * next allocator. That one does everything else: argument checks, errno, blocks, free.
 *
 * What holds:
 * - A request that fails is tried again as it came: jitter never makes one fail that would succeed,
 *   and a failure has the next allocator's own errno.
 * - malloc_usable_size is the next allocator's answer for the block that really is there.
 * - realloc to what a block already has stays where it is: see realloc below.
 * - No lock, no shared line that is written, nothing to do at fork; in a signal handler it is as
 *   safe as the next allocator is.
 */
#include "base/text/mistyped_settings.h"
#include "mplace.h"
#include "rand_malloc/bootstrap.h"
#include "rand_malloc/jitter.h"
#include "rand_malloc/next_allocator.h"
#include "rand_malloc/statistics.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { PAGE = 4096 }; /* x86-64's; valloc and pvalloc speak of no other */

/*
 * Written before is_prepared is stored with release, read after it was loaded with acquire (a plain
 * load on x86-64). Threads that get here together write the same values.
 */
static struct next_allocator next;
static struct jitter jitter;
static bool counting;
static atomic_bool is_prepared;

/*
 * The thread's generator; 0: not seeded yet. A signal handler that interrupts a draw may repeat a
 * number, which harms nothing. Initial-exec and 8 bytes: no allocation at first use, and room for
 * it even where this library is loaded by dlopen.
 */
static _Thread_local uint64_t generator __attribute__((tls_model("initial-exec")));
static _Atomic uint64_t threads_seen; /* relaxed: only that each thread gets another number */

/* False to a call that comes from the look-up itself: bootstrap serves that one. */
static __attribute__((noinline, cold)) bool prepare(void)
{
    struct next_allocator found;
    struct jitter settings;
    int saved_errno = errno;

    if (!next_allocator_find(&found))
        return false;
    next = found;
    jitter_read_settings(&settings);
    jitter = settings;
    counting = statistics_start();
    atomic_store_explicit(&is_prepared, true, memory_order_release);
    errno = saved_errno;
    return true;
}

static inline bool is_ready(void)
{
    return __builtin_expect(atomic_load_explicit(&is_prepared, memory_order_acquire), 1) ||
           prepare();
}

static __attribute__((noinline, cold)) void seed_generator(void)
{
    generator = jitter_thread_state(
        &jitter, atomic_fetch_add_explicit(&threads_seen, 1, memory_order_relaxed));
}

/* The extra of this request. */
static inline size_t draw(size_t size, size_t alignment)
{
    size_t extra = 0;

    if (__builtin_expect(jitter.threshold != 0, 1)) {
        if (__builtin_expect(generator == 0, 0))
            seed_generator();
        extra = jitter_extra(&jitter, &generator, size, alignment);
    }
    if (__builtin_expect(counting, 0))
        statistics_count(extra);
    return extra;
}

EXPORT const char *mplace_malloc_name(void)
{
    return "rand";
}

EXPORT void *malloc(size_t size)
{
    if (!is_ready())
        return bootstrap_allocate(size, 1);
    size_t extra = draw(size, 1);
    if (__builtin_expect(extra == 0, 0))
        return next.malloc(size);
    int saved_errno = errno;
    void *block = next.malloc(size + extra);
    if (__builtin_expect(block == NULL, 0)) {
        errno = saved_errno;
        block = next.malloc(size);
    }
    return block;
}

EXPORT void free(void *block)
{
    if (bootstrap_owns(block))
        return;
    /* Not ready: the look-up itself frees something that this library never gave out. Leave it. */
    if (is_ready())
        next.free(block);
}

/* C23. The program's size is not the one that the next allocator gave: it must not be told. */
EXPORT void free_sized(void *block, size_t size);
EXPORT void free_sized(void *block, size_t size)
{
    (void)size;
    free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);
EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    free(block);
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t total;

    if (!is_ready())
        return __builtin_mul_overflow(count, size, &total) ? bootstrap_allocate(SIZE_MAX, 1)
                                                           : bootstrap_allocate(total, 1);
    if (__builtin_mul_overflow(count, size, &total))
        return next.calloc(count, size);
    size_t extra = draw(total, 1);
    if (extra == 0)
        return next.calloc(count, size);
    int saved_errno = errno;
    void *block = next.calloc(1, total + extra);
    if (block == NULL) {
        errno = saved_errno;
        block = next.calloc(count, size);
    }
    return block;
}

EXPORT size_t malloc_usable_size(void *block)
{
    if (block == NULL)
        return 0;
    if (bootstrap_owns(block))
        return bootstrap_size(block);
    /* An allocator that cannot say promises nothing. */
    return is_ready() && next.malloc_usable_size != NULL ? next.malloc_usable_size(block) : 0;
}

/* A block from the arena moves out of it. */
static void *leave_bootstrap(void *block, size_t size)
{
    size_t old_size = bootstrap_size(block);
    void *moved = malloc(size);

    if (moved != NULL)
        memcpy(moved, block, old_size < size ? old_size : size);
    return moved;
}

/*
 * Whether a block has what is asked for, and no more above it than jitter and the next allocator's
 * rounding (a quarter, in jemalloc's classes) may have put there. Such a block stays untouched:
 * realloc to the same size or to the usable size neither moves nor grows nor loses its jitter,
 * however often it is called. The cap is what a shrunk large block may keep for nothing.
 */
static bool fits_already(size_t usable, size_t size)
{
    size_t rounding = size / 4 < PAGE ? size / 4 + 32 : PAGE;

    return size <= usable && usable - size <= jitter.max_extra + rounding;
}

/*
 * A real shrink draws a new extra and still shrinks, because what fits_already turned down has more
 * than max_extra to spare; a real growth draws one as malloc does. The next allocator is thus never
 * asked for more than max_extra above what this very call asked for, and what an earlier call added
 * is not added to: nothing creeps.
 */
EXPORT void *realloc(void *block, size_t size)
{
    if (block == NULL)
        return malloc(size);
    if (bootstrap_owns(block))
        return leave_bootstrap(block, size);
    if (!is_ready())
        return NULL; /* cannot be: whoever looks up has only blocks of the arena */
    /* What realloc(block, 0) means is the next allocator's to say. */
    if (size == 0 || jitter.threshold == 0 || jitter.max_extra < JITTER_GRAIN ||
        next.malloc_usable_size == NULL)
        return next.realloc(block, size);

    size_t usable = next.malloc_usable_size(block);
    if (fits_already(usable, size))
        return block;
    size_t extra = draw(size, 1);
    if (extra == 0)
        return next.realloc(block, size);
    int saved_errno = errno;
    void *moved = next.realloc(block, size + extra);
    if (moved == NULL) {
        errno = saved_errno; /* the old block is still there: try as asked */
        moved = next.realloc(block, size);
    }
    return moved;
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, total);
}

static bool is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* The next allocator's memalign, or the nearest that it has. */
static void *next_memalign(size_t alignment, size_t size)
{
    void *block;

    if (next.memalign != NULL)
        return next.memalign(alignment, size);
    if (next.posix_memalign != NULL) {
        int error = next.posix_memalign(
            &block, alignment < sizeof(void *) ? sizeof(void *) : alignment, size);
        if (error == 0)
            return block;
        errno = error;
        return NULL;
    }
    if (next.aligned_alloc != NULL)
        return next.aligned_alloc(alignment, size);
    if (is_power_of_two(alignment) && alignment <= _Alignof(max_align_t))
        return next.malloc(size);
    errno = ENOMEM;
    return NULL;
}

static void *next_aligned_alloc(size_t alignment, size_t size)
{
    return next.aligned_alloc != NULL ? next.aligned_alloc(alignment, size)
                                      : next_memalign(alignment, size);
}

/* An odd alignment is the next allocator's business, errors included: such a call goes on as it is.
 */
static void *jittered_aligned(void *(*allocate)(size_t, size_t), size_t alignment, size_t size)
{
    size_t extra = is_power_of_two(alignment) ? draw(size, alignment) : 0;

    if (extra != 0) {
        int saved_errno = errno;
        void *block = allocate(alignment, size + extra);

        if (block != NULL)
            return block;
        errno = saved_errno;
    }
    return allocate(alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    if (!is_ready())
        return bootstrap_allocate(size, is_power_of_two(alignment) ? alignment : PAGE);
    return jittered_aligned(next_memalign, alignment, size);
}

/* The extra is a multiple of the alignment: a size that was one stays one, as C11 wanted it. */
EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    if (!is_ready())
        return bootstrap_allocate(size, is_power_of_two(alignment) ? alignment : PAGE);
    return jittered_aligned(next_aligned_alloc, alignment, size);
}

static int next_posix_memalign(void **block, size_t alignment, size_t size)
{
    if (next.posix_memalign != NULL)
        return next.posix_memalign(block, alignment, size);
    if (!is_power_of_two(alignment) || alignment % sizeof(void *) != 0)
        return EINVAL;
    int saved_errno = errno;
    void *found = next_memalign(alignment, size);
    errno = saved_errno;
    if (found == NULL)
        return ENOMEM;
    *block = found;
    return 0;
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (!is_ready()) {
        void *found = bootstrap_allocate(size, is_power_of_two(alignment) ? alignment : PAGE);
        if (found != NULL)
            *block = found;
        return found != NULL ? 0 : ENOMEM;
    }
    size_t extra = is_power_of_two(alignment) ? draw(size, alignment) : 0;
    if (extra != 0) {
        int saved_errno = errno;

        if (next_posix_memalign(block, alignment, size + extra) == 0)
            return 0;
        errno = saved_errno;
    }
    return next_posix_memalign(block, alignment, size);
}

static void *next_valloc(size_t alignment, size_t size)
{
    return next.valloc != NULL ? next.valloc(size) : next_memalign(alignment, size);
}

EXPORT void *valloc(size_t size)
{
    if (!is_ready())
        return bootstrap_allocate(size, PAGE);
    return jittered_aligned(next_valloc, PAGE, size);
}

/* Whole pages; jemalloc, for one, has none of its own. */
static void *next_pvalloc(size_t alignment, size_t size)
{
    size_t rounded;

    if (next.pvalloc != NULL)
        return next.pvalloc(size);
    if (__builtin_add_overflow(size, alignment - 1, &rounded)) {
        errno = ENOMEM;
        return NULL;
    }
    rounded &= ~(alignment - 1);
    return next_memalign(alignment, rounded != 0 ? rounded : alignment);
}

EXPORT void *pvalloc(size_t size)
{
    if (!is_ready())
        return bootstrap_allocate(size, PAGE);
    return jittered_aligned(next_pvalloc, PAGE, size);
}

static __attribute__((constructor)) void begin(void)
{
    mistyped_settings_report("librand_malloc.so", SETTINGS_RAND);
    if (is_ready() && counting)
        pthread_atfork(NULL, NULL, statistics_reset);
}

static __attribute__((destructor)) void end(void)
{
    if (counting)
        statistics_report(&jitter, next.object);
}
