/*
 * SPDX-License-Identifier: MIT
 *
 * See stack_walk.h.
 *
 * Tables. No lock of the program is waited for: libgcc finds a function's table by _dl_find_object,
 * which is lock-free. Before glibc 2.35 it would ask dl_iterate_phdr, whose lock another thread may
 * hold while it waits for one of this thread's: without _dl_find_object there are frame pointers
 * alone. Where the program has registered tables (__register_frame) libgcc has a lock of its own
 * for them, and calls malloc while it holds it: a call from libgcc is walked without it. libgcc
 * reads the stack without a question: a walk ends where that may not be readable.
 *
 * Known lengths. At a return address a frame has the same length each time, unless its function has
 * arrays of variable length: then two lengths are seen, and the address is walked by tables ever
 * after. A wrong length leads to a word that is no return address with a known length, and so back
 * to the tables; and one walk in CHECKED_EACH is by tables in any case.
 */
#include "cia_malloc/profile/stack_walk.h"

#include "base/system_call.h"
#include "cia_malloc/pages/geometry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unwind.h>

enum { WORD = sizeof(uintptr_t) };

/* The longest frame that is followed. */
#define LENGTH_MOST ((uintptr_t)1 << 19)

/* Longer than most frames: so much of the stack must be readable above one for the next step. */
enum { READ_AHEAD = 256 };

static struct dl_find_object libgcc;
static _Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*instruction_of)(struct _Unwind_Context *, int *);
static _Unwind_Word (*stack_pointer_of)(struct _Unwind_Context *);

/* ---- what may be read ---- */

/* The page that was found readable last. */
struct reader {
    uintptr_t page;
};

/* Of a word. The kernel reads the mask before it refuses to know what to do with it. */
static bool is_readable(struct reader *reader, uintptr_t at)
{
    enum { NO_SUCH_HOW = 99 };
    uintptr_t page = at / PAGE_BYTES;

    if (at % WORD != 0 ||
        (page != reader->page && system_call_6(SYS_rt_sigprocmask, NO_SUCH_HOW, (long)at, 0,
                                               sizeof(uint64_t), 0, 0) == -EFAULT))
        return false;
    reader->page = page;
    return true;
}

/* The word there, or 0. */
static __attribute__((no_sanitize("address", "thread"))) uintptr_t read_word(struct reader *reader,
                                                                             uintptr_t at)
{
    return is_readable(reader, at) ? *(const uintptr_t *)at : 0;
}

/* ---- known lengths ---- */

/*
 * A return address in the low 47 bits, and above them the length of its frame in words: how far the
 * stack pointer is from where it is after the return to where it is after the next. Relaxed: a word
 * says it all.
 */
enum { KNOWN_SHIFT = 12, ADDRESS_SHIFT = 47, LENGTH_OUTERMOST = 0, LENGTH_VARIES = (1 << 17) - 1 };

static _Atomic uint64_t known[1 << KNOWN_SHIFT];

static _Atomic uint64_t *known_at(uintptr_t address)
{
    return &known[address * 0x9e3779b97f4a7c15u >> (64 - KNOWN_SHIFT)];
}

/* LENGTH_VARIES: not known. */
static uint32_t known_length(uintptr_t address)
{
    uint64_t word = atomic_load_explicit(known_at(address), memory_order_relaxed);

    return (word ^ address) << (64 - ADDRESS_SHIFT) == 0 ? (uint32_t)(word >> ADDRESS_SHIFT)
                                                         : LENGTH_VARIES;
}

static void learn(uintptr_t address, uint64_t length)
{
    _Atomic uint64_t *at = known_at(address);
    uint64_t word = atomic_load_explicit(at, memory_order_relaxed);
    bool same = (word ^ address) << (64 - ADDRESS_SHIFT) == 0;

    if (address >> ADDRESS_SHIFT != 0 || (same && word >> ADDRESS_SHIFT == length))
        return;
    atomic_store_explicit(at, address | (same ? LENGTH_VARIES : length) << ADDRESS_SHIFT,
                          memory_order_relaxed);
}

/* False when a length is not known. */
static bool walk_known(const void *frame, struct stack_walk *walk)
{
    uintptr_t at = (uintptr_t)frame + 2 * WORD; /* the stack pointer after the return */
    struct reader reader = {at / PAGE_BYTES};

    for (walk->depth = 0; walk->depth < STACK_MOST;) {
        uintptr_t address = read_word(&reader, at - WORD);
        uint32_t length = known_length(address);

        if (address == 0 || length == LENGTH_VARIES)
            return false;
        walk->address[walk->depth++] = address;
        if (length == LENGTH_OUTERMOST)
            return true;
        at += length * (uintptr_t)WORD;
    }
    return true;
}

/* ---- tables ---- */

struct table_walk {
    struct stack_walk *walk;
    struct reader reader;
    uintptr_t frame_end; /* stack pointer after the return from the frame that the walk begins at */
    bool has_begun, has_signal, is_cut;
    uintptr_t stack_pointer[STACK_MOST];
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument)
{
    struct table_walk *at = argument;
    int before = 0;
    uintptr_t address = instruction_of(context, &before), stack = stack_pointer_of(context);

    at->has_begun |= stack == at->frame_end;
    if (!at->has_begun || address == 0)
        return _URC_NO_REASON;
    at->has_signal |= before != 0;
    at->is_cut = at->walk->depth == STACK_MOST;
    if (at->is_cut)
        return _URC_END_OF_STACK;
    at->stack_pointer[at->walk->depth] = stack;
    at->walk->address[at->walk->depth++] = address;
    at->is_cut = !is_readable(&at->reader, stack + READ_AHEAD);
    return at->is_cut ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* A frame that a signal interrupted is anywhere in its function: nothing is learnt from it. */
static void learn_lengths(const struct table_walk *at)
{
    uint32_t depth = at->walk->depth;

    if (at->has_signal)
        return;
    for (uint32_t i = 0; i < depth; i++) {
        uintptr_t length = 0;

        if (i + 1 < depth)
            length = at->stack_pointer[i + 1] - at->stack_pointer[i];
        else if (at->is_cut)
            return;
        if (length >= LENGTH_MOST || length % WORD != 0 || (length == 0 && i + 1 < depth))
            length = (uintptr_t)LENGTH_VARIES * WORD;
        learn(at->walk->address[i], length / WORD);
    }
}

/* ---- frame pointers ---- */

/* Ends at what cannot be a frame: not above the last one, far above it, or not readable. */
static void walk_frames(const void *frame, struct stack_walk *walk)
{
    uintptr_t at = (uintptr_t)frame;
    struct reader reader = {at / PAGE_BYTES};

    for (walk->depth = 0; walk->depth < STACK_MOST;) {
        uintptr_t above = read_word(&reader, at), address = read_word(&reader, at + WORD);

        if (address < PAGE_BYTES)
            return;
        walk->address[walk->depth++] = address;
        if (above <= at || above - at > LENGTH_MOST)
            return;
        at = above;
    }
}

static bool begins_with(const struct stack_walk *walk, const struct stack_walk *shorter)
{
    return shorter->depth < walk->depth &&
           memcmp(walk->address, shorter->address, shorter->depth * sizeof walk->address[0]) == 0;
}

static __attribute__((noinline)) void walk_slowly(const void *frame, struct stack_walk *walk)
{
    struct table_walk tables = {.walk = walk, .frame_end = (uintptr_t)frame + 2 * (uintptr_t)WORD};
    struct stack_walk frames;
    uintptr_t caller = *((const uintptr_t *)frame + 1);
    bool is_libgcc = caller - (uintptr_t)libgcc.dlfo_map_start <
                     (uintptr_t)libgcc.dlfo_map_end - (uintptr_t)libgcc.dlfo_map_start;

    walk->depth = 0;
    if (backtrace != NULL && !is_libgcc)
        (void)backtrace(add_frame, &tables);
    walk_frames(frame, &frames);
    if (begins_with(&frames, walk))
        *walk = frames;
    else
        learn_lengths(&tables);
}

void stack_walk_start(void)
{
    int (*find)(void *, struct dl_find_object *);
    struct stack_walk walk;
    void *library;

    *(void **)&find = dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (find == NULL)
        return;
    library = dlopen("libgcc_s.so.1", RTLD_NOW);
    if (library == NULL)
        return;
    *(void **)&instruction_of = dlsym(library, "_Unwind_GetIPInfo");
    *(void **)&stack_pointer_of = dlsym(library, "_Unwind_GetCFA");
    void *found = dlsym(library, "_Unwind_Backtrace");
    if (instruction_of != NULL && stack_pointer_of != NULL && found != NULL &&
        find(found, &libgcc) == 0)
        *(void **)&backtrace = found;
    walk_slowly(__builtin_frame_address(0), &walk);
}

void stack_walk(const void *frame, struct stack_walk *walk)
{
    enum { CHECKED_EACH = 64 };
    static _Atomic uint32_t walks;
    bool check = atomic_fetch_add_explicit(&walks, 1, memory_order_relaxed) % CHECKED_EACH == 0;

    if (check || !walk_known(frame, walk))
        walk_slowly(frame, walk);
}
