/*
 * SPDX-License-Identifier: MIT
 *
 * What is kept of samples, for the life of the process: stacks and sites, and the calls of what was
 * written, each different one once. Lock-free: any thread, signal handler or child of a fork may
 * use it at any moment.
 */
#ifndef MPLACE_CIA_PROFILE_KEPT_H
#define MPLACE_CIA_PROFILE_KEPT_H

#include <stddef.h>
#include <stdint.h>

enum kept_kind { KEPT_CALL, KEPT_STACK, KEPT_SITE, KEPT_KINDS };

/* The words of its key stand behind it, and behind those its values. */
struct kept {
    struct kept *next;  /* of the same hash */
    struct kept *older; /* of the same kind */
    uint32_t kind, words;
};

static inline const uint64_t *kept_key(const struct kept *kept)
{
    return (const uint64_t *)(kept + 1);
}

/* For the constructor, before anything is kept. */
void kept_start(void);

/*
 * What has that key, with zeroes for values where it is new. Two threads that come at once may keep
 * it twice. NULL when out of memory; errno stays. At most KEPT_BYTES_MOST for key and values.
 */
enum { KEPT_BYTES_MOST = 4096 };
struct kept *keep(enum kept_kind kind, const uint64_t *key, uint32_t words, size_t value_bytes);

/* The newest one of the kind; NULL: there is none. The chain from it on does not change. */
struct kept *kept_newest(enum kept_kind kind);

#endif
