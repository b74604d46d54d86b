/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See sites.h. A site is named once: code that is loaded later to the same addresses gets new ones.
 */
#include "memtrace/sites.h"

#include "memtrace/pipe.h"

#include "pub_tool_hashtable.h"

enum { FRAMES_MOST = 64 };

/* Both begin as the hash table wants it. */
struct site {
    struct site *next;
    UWord address;
    DiEpoch epoch;
    UInt number;
};
struct stack {
    struct stack *next;
    UWord unique; /* the core's number */
    UInt number, site;
};

static VgHashTable *sites, *stacks;
static UInt sites_used, stacks_used;

/* The text of a level of inlining, "0x1234: function (file:line)"; the address goes where there is
 * a function. */
static const HChar *name_of(DiEpoch epoch, Addr address)
{
    InlIPCursor *level = VG_(new_IIPC)(epoch, address);
    const HChar *text = VG_(describe_IP)(epoch, address, level);
    const HChar *colon = VG_(strstr)(text, ": ");

    VG_(delete_IIPC)(level);
    if (colon == NULL || VG_(strncmp)(colon, ": ???", 5) == 0)
        return text;
    return colon + 2;
}

static UInt site_at(DiEpoch epoch, Addr address)
{
    struct site *site;
    const HChar *name;

    if (sites == NULL)
        sites = VG_(HT_construct)("memtrace.sites");
    site = VG_(HT_lookup)(sites, address);
    if (site != NULL && site->epoch.n == epoch.n)
        return site->number;
    if (site == NULL) {
        site = VG_(malloc)("memtrace.site", sizeof *site);
        site->address = address;
        VG_(HT_add_node)(sites, site);
    }
    site->epoch = epoch;
    site->number = ++sites_used;
    name = name_of(epoch, address);
    pipe_define(WIRE_SITE, site->number, name, VG_(strlen)(name));
    return site->number;
}

UInt sites_of(Addr instruction)
{
    return site_at(VG_(current_DiEpoch)(), instruction);
}

struct frames {
    UInt count;
    UInt site[FRAMES_MOST];
};

static void collect(UInt number, DiEpoch epoch, Addr frame, void *argument)
{
    struct frames *frames = argument;

    if (number > 0 && frames->count < FRAMES_MOST)
        frames->site[frames->count++] = site_at(epoch, frame);
}

UInt sites_of_stack(ExeContext *context, UInt *site)
{
    UWord unique = VG_(get_ECU_from_ExeContext)(context);
    struct frames frames = {.count = 0};
    struct stack *stack;

    if (stacks == NULL)
        stacks = VG_(HT_construct)("memtrace.stacks");
    stack = VG_(HT_lookup)(stacks, unique);
    if (stack == NULL) {
        VG_(apply_ExeContext)(collect, &frames, context);
        stack = VG_(malloc)("memtrace.stack", sizeof *stack);
        *stack = (struct stack){
            .unique = unique,
            .number = ++stacks_used,
            .site = frames.count > 0 ? frames.site[0] : 0,
        };
        VG_(HT_add_node)(stacks, stack);
        pipe_define(WIRE_STACK, stack->number, frames.site, frames.count * sizeof(UInt));
    }
    *site = stack->site;
    return stack->number;
}
