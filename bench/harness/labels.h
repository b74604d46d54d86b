/*
 * SPDX-License-Identifier: MIT
 *
 * Which allocator and which lock serve this process: read from what is loaded, never from what a
 * script claims.
 */
#ifndef BENCH_HARNESS_LABELS_H
#define BENCH_HARNESS_LABELS_H

#include <stdbool.h>
#include <stddef.h>

struct labels {
    char malloc[128];         /* glibc, cia, rand, rand+jemalloc, ... */
    char lock[32];            /* pthread, tts, ttstle */
    char htm[16];             /* native, emulated, none */
    const char *policy;       /* of ttstle: paper, adaptive; else empty */
    const char *wait;         /* of tts and ttstle: spin, yield, park; else empty */
    bool time_is_meaningless; /* an emulator or another Valgrind tool runs this process */
};

/* May allocate (the dynamic linker does): see surroundings.h. */
void labels_read(struct labels *labels);

/* The library that runs this program's transactions of gcc -fgnu-tm: itm, tm_runtime. */
void labels_tm_runtime(char *to, size_t size);

/* The allocator's name in a shared object's path: /usr/lib/libjemalloc.so.2 gives jemalloc. */
void labels_object_name(char *to, size_t size, const char *path);

#endif
