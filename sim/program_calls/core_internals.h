/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the tools use of Valgrind beyond its public tool interface: functions of the core and of
 * VEX that the linker wraps (--wrap=SYMBOL), and a few that they call. No installed header declares
 * them; rtmgrind's CMakeLists.txt checks with nm that the static libraries have every one of them.
 *
 * The core calls __wrap_SYMBOL where it would have called SYMBOL, and __real_SYMBOL is the
 * original. That works between object files only: each symbol below is defined in another object
 * file than the call that matters.
 */
#ifndef PROGRAM_CALLS_CORE_INTERNALS_H
#define PROGRAM_CALLS_CORE_INTERNALS_H

#include "program_calls/valgrind_api.h"

/* VEX: one guest instruction to IR. Layout and values as in VEX's own guest_generic_bb_to_IR.h. */
struct decoded {
    UInt length;
    enum { DECODED_STOP_HERE = 0x10, DECODED_CONTINUE = 0x11 } next;
    enum { DECODED_NO_HINT = 0x20 } hint;
    IRJumpKind jump; /* Ijk_INVALID with DECODED_CONTINUE */
};

#define DECODE_PARAMETERS                                                                          \
    IRSB *block, const UChar *code, Long delta, Addr address, VexArch architecture,                \
        const VexArchInfo *architecture_info, const VexAbiInfo *abi_info, VexEndness endness,      \
        Bool diagnose
struct decoded __real_disInstr_AMD64(DECODE_PARAMETERS);
struct decoded __wrap_disInstr_AMD64(DECODE_PARAMETERS);

/* Makes a translation of the code at an address, and files it. */
Bool __real_vgPlain_translate(ThreadId thread, Addr address, Bool debugging, Int debug_level,
                              ULong blocks_done, Bool by_address);
Bool __wrap_vgPlain_translate(ThreadId thread, Addr address, Bool debugging, Int debug_level,
                              ULong blocks_done, Bool by_address);
void __real_vgPlain_add_to_transtab(const VexGuestExtents *extents, Addr entry, Addr code,
                                    UInt code_length, Bool checks_itself, Int profile_offset,
                                    UInt instructions);
void __wrap_vgPlain_add_to_transtab(const VexGuestExtents *extents, Addr entry, Addr code,
                                    UInt code_length, Bool checks_itself, Int profile_offset,
                                    UInt instructions);

/* Why translated code was left, besides the reasons in libvex_trc_values.h: no translation for an
 * address was at hand; the event counter was used up. As in Valgrind's own pub_core_dispatch_asm.h.
 */
enum { CORE_FAST_CACHE_MISS = 37, CORE_EVENTS_USED_UP = 41 };

/* Runs translated code of the running thread until something needs the scheduler. */
void __real_vgPlain_disp_run_translations(HWord *outcome, volatile void *guest, Addr host_code);
void __wrap_vgPlain_disp_run_translations(HWord *outcome, volatile void *guest, Addr host_code);

/* The lock that the running thread holds: who gets it next is who runs next. */
struct sched_lock;
struct sched_lock *__wrap_vgModuleLocal_create_sched_lock(void);
void __wrap_vgModuleLocal_destroy_sched_lock(struct sched_lock *lock);
int __wrap_vgModuleLocal_get_sched_lock_owner(struct sched_lock *lock);
void __wrap_vgModuleLocal_acquire_sched_lock(struct sched_lock *lock);
void __wrap_vgModuleLocal_release_sched_lock(struct sched_lock *lock);

/* A fault that the host processor found in translated code. True: deliver it to the program. */
Bool __real_vgPlain_gdbserver_report_signal(vki_siginfo_t *info, ThreadId thread);
Bool __wrap_vgPlain_gdbserver_report_signal(vki_siginfo_t *info, ThreadId thread);

/* The core's handler of these faults asks it whether the program blocks the signal. */
Bool __real_vgPlain_sigismember(const vki_sigset_t *set, Int number);
Bool __wrap_vgPlain_sigismember(const vki_sigset_t *set, Int number);

/* Faults that the core makes up, for instance for a jump to unmapped memory. */
void __real_vgPlain_synth_fault(ThreadId thread);
void __wrap_vgPlain_synth_fault(ThreadId thread);
void __real_vgPlain_synth_fault_mapping(ThreadId thread, Addr address);
void __wrap_vgPlain_synth_fault_mapping(ThreadId thread, Addr address);
void __real_vgPlain_synth_fault_perms(ThreadId thread, Addr address);
void __wrap_vgPlain_synth_fault_perms(ThreadId thread, Addr address);
void __real_vgPlain_synth_sigill(ThreadId thread, Addr address);
void __wrap_vgPlain_synth_sigill(ThreadId thread, Addr address);
void __real_vgPlain_synth_sigtrap(ThreadId thread);
void __wrap_vgPlain_synth_sigtrap(ThreadId thread);
void __real_vgPlain_synth_sigbus(ThreadId thread);
void __wrap_vgPlain_synth_sigbus(ThreadId thread);
void __real_vgPlain_synth_sigfpe(ThreadId thread, UInt code);
void __wrap_vgPlain_synth_sigfpe(ThreadId thread, UInt code);

/* Builds the frame of a signal handler. */
#define SIGFRAME_PARAMETERS                                                                        \
    ThreadId thread, Bool on_alternate_stack, Addr top, const vki_siginfo_t *info,                 \
        const struct vki_ucontext *context, void *handler, UInt flags, const vki_sigset_t *mask,   \
        void *restorer
void __real_vgPlain_sigframe_create(SIGFRAME_PARAMETERS);
void __wrap_vgPlain_sigframe_create(SIGFRAME_PARAMETERS);

/* Called, not wrapped. */
SysRes VG_(do_syscall)(UWord number, RegWord a1, RegWord a2, RegWord a3, RegWord a4, RegWord a5,
                       RegWord a6, RegWord a7, RegWord a8);

/* The running thread is in translated code, or in a helper that this called. */
extern Bool VG_(in_generated_code);

/* fcntl(2); -1: it failed. */
Int VG_(fcntl)(Int descriptor, Int command, Addr argument);

/* Moves a file descriptor to where the program does not see it. */
Int VG_(safe_fd)(Int descriptor);

/* Forgets what code at these addresses was translated to. */
void VG_(discard_translations)(Addr start, ULong length, const HChar *who);

/* 0 where the file is there and may be used so. */
Int VG_(access)(const HChar *path, Bool to_read, Bool to_write, Bool to_execute);

#endif
