/*
 * SPDX-License-Identifier: MIT
 *
 * See thread_id.h. Where the id lies is taken from what glibc tells debuggers of struct pthread
 * (nptl_db), and used only if it is the same number there that libc gives.
 */
#include "mutex/thread_id.h"

#include "base/real_symbol.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

uintptr_t thread_id_offset;

/* The kernel's clock ids (CPUCLOCK_PID) hold the thread's id, complemented, above three bits that
 * say which clock. */
int thread_id_ask_libc(void)
{
    clockid_t clock;

    if (pthread_getcpuclockid(pthread_self(), &clock) == 0 && clock < 0 && (clock & 7) == 6)
        return ~(clock >> 3);
    return gettid();
}

__attribute__((constructor)) static void find_offset(void)
{
    enum { STRUCT_MOST = 1 << 16 };
    const struct {
        uint32_t bits, count, offset;
    } *field = real_symbol("_thread_db_pthread_tid", NULL);

    if (field == NULL || field->bits != 8 * sizeof(int) || field->offset % sizeof(int) != 0 ||
        field->offset >= STRUCT_MOST ||
        *(const int *)((uintptr_t)pthread_self() + field->offset) != thread_id_ask_libc())
        return;
    __atomic_store_n(&thread_id_offset, field->offset, __ATOMIC_RELAXED);
}
