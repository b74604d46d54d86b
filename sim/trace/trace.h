/*
 * SPDX-License-Identifier: MIT
 *
 * What a program did, thread by thread: the events of a trace, and how to read them from a file.
 * docs/trace-format.md describes the file.
 *
 * A stream has the events of one thread in that thread's order. Streams are read independently of
 * each other, with a bounded amount of memory each, however long the trace is.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_kind {
    /* Accesses: address, size. */
    TRACE_LOAD,
    TRACE_STORE,
    TRACE_LOCKED,   /* a locked read-modify-write: one access, and a full fence */
    TRACE_NT_STORE, /* a non-temporal store: past the caches, ordered by fences only */
    TRACE_FLUSH,    /* what: enum trace_flush; address: in the line, of msync the first byte, then
                       value: the number of bytes */
    TRACE_FENCE,    /* what: enum trace_fence */

    /* The heap. */
    TRACE_ALLOC, /* address, value: the size that was asked for; stack: who asked */
    TRACE_FREE,  /* address; stack */

    /*
     * Synchronisation. Whatever the program called, a replay needs only this:
     *  - ACQUIRE waits until the lock at this address is free for it, in the order of the replay;
     *  - RELEASE gives it back;
     *  - POST is something that may end another thread's wait. A thread's posts are numbered from
     * 1;
     *  - WAIT ends when the given thread has replayed the given number of posts.
     * A failed try and a wait that ended by itself (its time was over, the value had changed) leave
     * no event. pthread_cond_wait is RELEASE, WAIT, ACQUIRE; the end of a thread is a POST, the
     * join a WAIT; pthread_create is a POST, the first event of the new thread a WAIT; the last
     * thread at a barrier makes a POST, the others WAIT for it.
     */
    TRACE_ACQUIRE, /* address of the lock, what: enum trace_call, shared: as a reader */
    TRACE_RELEASE, /* the same */
    TRACE_POST,    /* address of the object, what: enum trace_call */
    TRACE_WAIT,    /* the same; thread, value: the number of that thread's post that ended it */

    TRACE_MARK, /* what: enum trace_mark, address and value as the mark has them */
    TRACE_KINDS
};

enum trace_flush { TRACE_CLFLUSH, TRACE_CLFLUSHOPT, TRACE_CLWB, TRACE_MSYNC };
enum trace_fence { TRACE_MFENCE, TRACE_SFENCE, TRACE_LFENCE };

/* What the program called. */
enum trace_call {
    TRACE_MUTEX,
    TRACE_RWLOCK,
    TRACE_SPIN,
    TRACE_CONDITION,
    TRACE_BARRIER,
    TRACE_SEMAPHORE,
    TRACE_ONCE,
    TRACE_FUTEX,
    TRACE_THREAD, /* creation, end, join; address: the number of the thread that begins or ends */
    TRACE_TURN,   /* with values: a POST of the thread that ran until then, and a WAIT for it of the
                     one that goes on. So what is stored is stored in the order of the capture; a
                     replay that gives threads an order of its own passes by these WAITs */
};

/* Marks of include/mplace_trace.h. */
enum trace_mark {
    TRACE_REGION_BEGIN, /* the region of interest: what lies outside of it only warms caches up */
    TRACE_REGION_END,
    TRACE_TX_BEGIN, /* a transaction */
    TRACE_TX_COMMIT,
    TRACE_TX_ABORT,
    TRACE_PERSISTENT, /* address, value bytes from there on are persistent memory; 0: unmapped */
    TRACE_FRAME,      /* the page at this address lies in the physical frame of this number */
};

struct trace_event {
    uint8_t kind;          /* enum trace_kind */
    uint8_t what;          /* the kind's own, see there */
    bool dependent;        /* LOAD: its address came from an earlier load of the thread */
    bool shared;           /* ACQUIRE, RELEASE: as a reader */
    uint16_t size;         /* bytes of an access, 1 to 65535; else 0 */
    uint32_t instructions; /* executed since the previous event, the one of this event included */
    uint32_t site;         /* code site of the event, for trace_site; 0: not known */
    uint32_t stack;        /* ALLOC, FREE: for trace_stack; 0: not known */
    uint32_t thread;       /* WAIT: whose post */
    uint64_t address;
    uint64_t value;
    const uint8_t *bytes; /* what STORE, NT_STORE and LOCKED left in memory, size bytes, in traces
                             with values and valid until the next event; else NULL */
};

struct trace; /* an open file */

/*
 * Opens a trace. Returns NULL, and one line in `problem` (of `length` bytes) that says what is
 * wrong, if the file cannot be read or is no trace of a version that this code knows.
 */
struct trace *trace_open(const char *path, char *problem, size_t length);
void trace_close(struct trace *trace);

/* Threads of the trace, numbered from 0 in the order in which they began. */
uint32_t trace_threads(const struct trace *trace);

/* The command that was traced, for people. */
const char *trace_command(const struct trace *trace);

/* True if the capture ended as it should: what is read is all there was. */
bool trace_is_complete(const struct trace *trace);

/* True if the trace has what was stored: the events' `bytes`. */
bool trace_has_values(const struct trace *trace);

/* The number of accesses after which the capture was stopped, as asked for; 0: it was not. */
uint64_t trace_cut_at(const struct trace *trace);

/* One line about what is wrong with a trace that is not complete; else "". */
const char *trace_damage(const struct trace *trace);

/* "function (file:line)" of a code site, or its address; valid as long as the trace. */
const char *trace_site(struct trace *trace, uint32_t site);

/* The code sites of a stack, the innermost first. Returns how many there are. */
size_t trace_stack(struct trace *trace, uint32_t stack, const uint32_t **sites);

struct trace_stream;

enum trace_status {
    TRACE_EVENT,   /* an event was read */
    TRACE_END,     /* the stream is over */
    TRACE_DAMAGED, /* the file is cut or damaged here: what was read before it is right */
};

/* Reads the events of a thread from its first one on. NULL: out of memory. */
struct trace_stream *trace_stream_open(struct trace *trace, uint32_t thread);
void trace_stream_close(struct trace_stream *stream);
enum trace_status trace_next(struct trace_stream *stream, struct trace_event *event);

/*
 * The same for who counts with addresses: the stream is damaged at an event with addresses that no
 * program has on x86-64. They are below 2^47, and the end of what is accessed, allocated, flushed
 * or persistent is at most that.
 */
enum trace_status trace_next_in_user_space(struct trace_stream *stream, struct trace_event *event);

/* One line about the damage, after TRACE_DAMAGED. */
const char *trace_problem(const struct trace_stream *stream);

#endif
