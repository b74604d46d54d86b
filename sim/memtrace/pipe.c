/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See pipe.h.
 */
#include "memtrace/pipe.h"

#include "program_calls/core_internals.h"

enum { PIPE_BYTES = 1 << 20, F_SETPIPE_SZ_NUMBER = 1031 };

Bool pipe_is_open;

static Int descriptor = -1;
static UChar *pending;
static SizeT pending_used, pending_room;

void pipe_open(void)
{
    SysRes opened;
    UChar values = options.values;

    if (options.pipe == NULL)
        return;
    opened = VG_(open)(options.pipe, VKI_O_WRONLY, 0);
    if (sr_isError(opened))
        VG_(fmsg_bad_option)(options.pipe, "--pipe=%s cannot be written\n", options.pipe);
    descriptor = VG_(safe_fd)((Int)sr_Res(opened));
    /* So that the program and the writer can run side by side; a file has no such size. */
    (void)VG_(fcntl)(descriptor, F_SETPIPE_SZ_NUMBER, PIPE_BYTES);
    pipe_is_open = True;
    pipe_send(WIRE_BEGIN, WIRE_VERSION, &values, sizeof values);
}

/* The writer is gone, and the kernel has a signal for this thread that the program must not get. */
static void drop_signal(void)
{
    vki_sigset_t broken_pipe = {.sig = {1UL << (VKI_SIGPIPE - 1)}};
    struct vki_timespec no_time = {.tv_sec = 0};

    (void)VG_(do_syscall)(__NR_rt_sigtimedwait, (UWord)&broken_pipe, 0, (UWord)&no_time,
                          sizeof broken_pipe, 0, 0, 0, 0);
}

static void send_bytes(const void *bytes, SizeT length)
{
    const UChar *at = bytes;

    while (length > 0 && pipe_is_open) {
        Int part = VG_(write)(descriptor, at, (Int)(length < 1 << 30 ? length : 1 << 30));
        if (part <= 0) {
            drop_signal();
            pipe_close();
            return;
        }
        at += part;
        length -= (SizeT)part;
    }
}

void pipe_define(enum wire_message message, UInt number, const void *content, SizeT bytes)
{
    struct wire_header header = {.message = message, .number = number, .bytes = (UInt)bytes};

    if (!pipe_is_open)
        return;
    if (pending_room - pending_used < sizeof header + bytes) {
        pending_room = 2 * (pending_room + sizeof header + bytes);
        pending = VG_(realloc)("memtrace.pending", pending, pending_room);
    }
    VG_(memcpy)(pending + pending_used, &header, sizeof header);
    if (bytes > 0)
        VG_(memcpy)(pending + pending_used + sizeof header, content, bytes);
    pending_used += sizeof header + bytes;
}

void pipe_send(enum wire_message message, UInt number, const void *content, SizeT bytes)
{
    struct wire_header header = {.message = message, .number = number, .bytes = (UInt)bytes};

    send_bytes(pending, pending_used);
    pending_used = 0;
    send_bytes(&header, sizeof header);
    send_bytes(content, bytes);
}

void pipe_close(void)
{
    if (descriptor >= 0)
        VG_(close)(descriptor);
    descriptor = -1;
    pipe_is_open = False;
}
