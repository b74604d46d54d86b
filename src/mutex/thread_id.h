/*
 * SPDX-License-Identifier: MIT
 *
 * The calling thread's id as libc writes it into __owner. No copy is kept: libc's own changes in a
 * child of fork or _Fork, and programs that make children by clone put it right there themselves
 * (the sandboxes of Chromium and Firefox, which then ask a mutex who owns it).
 */
#ifndef MPLACE_MUTEX_THREAD_ID_H
#define MPLACE_MUTEX_THREAD_ID_H

#include <stdint.h>

/*
 * Where libc keeps it, in bytes above the thread pointer; 0: not known. Written by a constructor
 * alone; relaxed, for in a library that is loaded late other threads may lock meanwhile.
 */
extern uintptr_t thread_id_offset __attribute__((visibility("hidden")));

/* libc's answer, without a system call. Async-signal-safe. */
int thread_id_ask_libc(void);

/* 0: libc has to be asked, as before glibc 2.34. */
static inline int thread_id_if_known(void)
{
    uintptr_t offset = __atomic_load_n(&thread_id_offset, __ATOMIC_RELAXED);
    int id;

    if (__builtin_expect(offset == 0, 0))
        return 0;
    __asm__ volatile("movl %%fs:(%1), %0" : "=r"(id) : "r"(offset)); /* fork changes it */
    return id;
}

static inline int thread_id(void)
{
    int known = thread_id_if_known();

    return __builtin_expect(known != 0, 1) ? known : thread_id_ask_libc();
}

#endif
