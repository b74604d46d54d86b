/*
 * SPDX-License-Identifier: MIT
 *
 * The public interface of the mplace libraries.
 *
 * A program that does not link a library looks the functions up, for it may or may not be
 * preloaded,
 *     const char *(*name)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "mplace_malloc_name");
 * and treats NULL as "not loaded". A benchmark's label then names what is loaded, not what a script
 * claims. A program that links one (pkg-config --libs mplace-cia_malloc) calls them.
 */
#ifndef MPLACE_H
#define MPLACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "cia" from libcia_malloc.so, "rand" from librand_malloc.so. A static string; never NULL. */
const char *mplace_malloc_name(void);

/*
 * A figure of the allocator by its name, "bytes.allocated": docs/statistics.md and libcia_malloc(7)
 * have the list. -1 when there is no figure of that name, or name is NULL. Only libcia_malloc has
 * this function: where dlsym does not find it, that allocator is not loaded.
 *
 * Adds up what each CPU has, microseconds; locks nothing of the program's, allocates nothing,
 * leaves errno alone, and may be called in a signal handler. What a thread holds that is stopped or
 * interrupted in malloc is left out, and "subheaps.not_counted" says so. A program that has
 * libcia_malloc linked in and another allocator preloaded gets the figures of an allocator that
 * nobody calls.
 */
int64_t mplace_malloc_value(const char *name);

/*
 * What malloc_usable_size would say, at least, of a block of malloc(size): the length of the size's
 * class as classes are now. Above the classes (65,984 bytes) blocks end with a page, and it is size
 * in whole lines of 64 bytes. 0 for a size that malloc never serves. Only libcia_malloc has it.
 */
size_t mplace_malloc_usable_class(size_t size);

/* "tts" from libtts_lock.so, "ttstle" from libttstle_lock.so. A static string; never NULL. */
const char *mplace_lock_name(void);

/*
 * "native" when the loaded lock library elides with the processor's own transactions, "none" when
 * it does not elide (always for tts; for ttstle where RTM is absent, refused or switched off).
 */
const char *mplace_lock_htm(void);

/*
 * Counts since process start or the last reset; relaxed, exact when no thread is in a lock call.
 * Fields are only ever appended; out_size below makes that safe.
 */
struct mplace_lock_statistics {
    uint64_t acquisitions; /* successful locks and trylocks of mutexes, rwlocks and spin locks,
                              elided ones included */
    uint64_t slow_path;    /* those of them that took the lock physically */
    uint64_t tx_started;   /* outermost transactions begun */
    uint64_t tx_committed; /* outermost transactions committed */
    uint64_t abort_conflict;
    uint64_t abort_capacity;
    uint64_t abort_explicit;
    uint64_t abort_nested;
    uint64_t abort_debug;
    uint64_t abort_other; /* system call, page fault, interrupt, PAUSE, ... : no status bit */
};

/*
 * Copies min(out_size, sizeof(struct mplace_lock_statistics)) bytes of the counts to *out.
 * Returns 0, EINVAL when out is NULL or out_size is 0, ENODATA while nothing is being counted.
 */
int mplace_lock_statistics(struct mplace_lock_statistics *out, size_t out_size);

/* Zeroes the counts and starts counting, as TTS_STATS and TTSTLE_STATS do from process start. */
void mplace_lock_statistics_reset(void);

#ifdef __cplusplus
}
#endif
#endif
