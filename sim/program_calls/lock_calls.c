/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See lock_calls.h.
 */
#include "lock_calls.h"

#include "objects.h"

static const HChar *const locks[] = {"pthread_mutex_lock",
                                     "pthread_mutex_trylock",
                                     "pthread_mutex_timedlock",
                                     "pthread_mutex_clocklock",
                                     "mtx_lock",
                                     "mtx_trylock",
                                     "mtx_timedlock",
                                     "pthread_rwlock_rdlock",
                                     "pthread_rwlock_wrlock",
                                     "pthread_rwlock_tryrdlock",
                                     "pthread_rwlock_trywrlock",
                                     "pthread_rwlock_timedrdlock",
                                     "pthread_rwlock_timedwrlock",
                                     "pthread_rwlock_clockrdlock",
                                     "pthread_rwlock_clockwrlock",
                                     "pthread_spin_lock",
                                     "pthread_spin_trylock",
                                     NULL};
/* To libc for x86-64 unlocking a spin lock is to make a new one: one function has both names. */
static const HChar *const unlocks[] = {"pthread_mutex_unlock",  "mtx_unlock",
                                       "pthread_rwlock_unlock", "pthread_spin_unlock",
                                       "pthread_spin_init",     NULL};
static const HChar *const waits[] = {"pthread_cond_wait",      "pthread_cond_timedwait",
                                     "pthread_cond_clockwait", "cnd_wait",
                                     "cnd_timedwait",          NULL};

/* libc's own names begin with underscores and may end with a version. */
static Bool is_one_of(const HChar *name, const HChar *const *list)
{
    for (; *list != NULL; list++) {
        SizeT length = VG_(strlen)(*list);
        if (VG_(strncmp)(name, *list, length) == 0 && (name[length] == '\0' || name[length] == '@'))
            return True;
    }
    return False;
}

Int lock_call_kind_of(const HChar *name)
{
    while (*name == '_')
        name++;
    if (is_one_of(name, locks))
        return LOCK_CALL_LOCK;
    if (is_one_of(name, unlocks))
        return LOCK_CALL_UNLOCK;
    return is_one_of(name, waits) ? (Int)LOCK_CALL_WAIT : (Int)PROGRAM_CALL_NONE;
}

/* The call's last byte: what it returns to may be the next function's first. */
Bool lock_call_is_of_c_library(const struct program_call *call)
{
    Addr back = ((const Addr *)call->stack_at_return)[-1];

    return object_is_c_library(VG_(current_DiEpoch)(), back - 1);
}
