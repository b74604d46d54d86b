/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See allocation_calls.h.
 */
#include "allocation_calls.h"

/* Names as a program calls them; allocators also export them under a prefix of their own, and which
 * of several names at one address the symbol reader keeps is its choice. */
static const struct {
    const HChar *name;
    enum allocation_call kind;
} family[] = {
    {"malloc", ALLOCATION_SIZE},
    {"valloc", ALLOCATION_SIZE},
    {"pvalloc", ALLOCATION_SIZE},
    {"calloc", ALLOCATION_PRODUCT},
    {"memalign", ALLOCATION_ALIGNED},
    {"aligned_alloc", ALLOCATION_ALIGNED},
    {"realloc", ALLOCATION_RESIZE},
    {"reallocarray", ALLOCATION_RESIZE_PRODUCT},
    {"posix_memalign", ALLOCATION_STORED},
    {"free", ALLOCATION_FREE},
    {"cfree", ALLOCATION_FREE},
};
static const HChar *const prefixes[] = {"__libc_", "tc_", "mi_", "je_", "__"};

static Bool begins_with(const HChar *text, const HChar *beginning)
{
    return VG_(strncmp)(text, beginning, VG_(strlen)(beginning)) == 0;
}

Int allocation_kind_of(const HChar *name)
{
    /* Forms with a place given allocate nothing. */
    if (begins_with(name, "operator new"))
        return VG_(strstr)(name, "void*") == NULL ? ALLOCATION_SIZE : ALLOCATION_NONE;
    if (begins_with(name, "operator delete"))
        return ALLOCATION_FREE;
    for (UInt i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (begins_with(name, prefixes[i])) {
            name += VG_(strlen)(prefixes[i]);
            break;
        }
    }
    for (UInt i = 0; i < sizeof family / sizeof family[0]; i++) {
        if (VG_(strcmp)(name, family[i].name) == 0)
            return family[i].kind;
    }
    return ALLOCATION_NONE;
}

void allocation_entered(const struct allocation_reader *reader, ThreadId thread,
                        struct program_call *call)
{
    /* From here on a free is a call like any other, whose inner calls do not count. */
    if (call->kind == ALLOCATION_FREE)
        reader->gone(call->argument[0]);
    else
        call->origin = VG_(record_ExeContext)(thread, 0);
}

void allocation_returned(const struct allocation_reader *reader, const struct program_call *call,
                         UWord result)
{
    const UWord *argument = call->argument;
    SizeT size = argument[0];

    switch (call->kind) {
    case ALLOCATION_SIZE:
        break;
    case ALLOCATION_PRODUCT:
        size = argument[0] * argument[1];
        break;
    case ALLOCATION_ALIGNED:
        size = argument[1];
        break;
    case ALLOCATION_RESIZE:
    case ALLOCATION_RESIZE_PRODUCT:
        size = argument[1] * (call->kind == ALLOCATION_RESIZE ? 1 : argument[2]);
        if (result == 0 && size != 0)
            return; /* it failed, and the block stays */
        reader->gone(argument[0]);
        break;
    case ALLOCATION_STORED:
        size = argument[2];
        result = (UInt)result == 0 ? *(const Addr *)argument[0] : 0;
        break;
    default: /* free */
        return;
    }
    if (result != 0)
        reader->appeared(result, size, call->origin);
}
