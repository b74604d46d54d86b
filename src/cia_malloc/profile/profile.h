/*
 * SPDX-License-Identifier: MIT
 *
 * CIA_PROFILE: samples of what the program allocates, with stacks; see docs/profiles.md. A sampled
 * block is an ordinary block where it would have been anyway. Its page does not say that a block
 * begins there, so free() leaves its fast path for it and for no other.
 */
#ifndef MPLACE_CIA_PROFILE_H
#define MPLACE_CIA_PROFILE_H

#include "cia_malloc/profile/sampled.h"

/*
 * countdown: bytes to allocate until the next sample. random: 0 until the thread's first call.
 * Nobody else's.
 */
struct profile_thread {
    uint64_t countdown, random;
};
extern
    __attribute__((tls_model("initial-exec"))) _Thread_local struct profile_thread profile_thread;

/*
 * Counts an allocation of this thread. In profiled mode, true: profile_is_due must be asked. True
 * in every other mode, for up to MAGAZINE_LARGEST bytes: there the countdown begins at 0 and only
 * falls.
 */
static inline bool profile_count_down(size_t bytes)
{
    uint64_t left = profile_thread.countdown - (bytes + 1);

    profile_thread.countdown = left;
    return (int64_t)left < 0;
}

/* True: the allocation is to be sampled, by profile_record, which must follow. */
bool profile_is_due(size_t bytes);

/* Both. A length that no block can have is not counted: the countdown would go round. */
static inline bool profile_count(size_t bytes)
{
    return bytes <= PTRDIFF_MAX && __builtin_expect(profile_count_down(bytes), 0) &&
           profile_is_due(bytes);
}

/*
 * Samples the block that a call of the program for so many bytes got: of an exclusive class or of
 * pages; NULL if it got none. frame: __builtin_frame_address(0) of the caller. errno stays.
 */
void profile_record(void *block, size_t bytes, const void *frame);

/*
 * The block, which the program has, is to be freed; true if it was sampled. Off free's fast paths,
 * before it goes anywhere.
 */
bool profile_forget(void *block, struct sample *forgotten);

/* The block above the classes that was forgotten was not freed. */
void profile_put_back(void *block, const struct sample *forgotten);

/* Reads the settings; from then on there are samples. For the constructor. */
void profile_start(void);

#endif
