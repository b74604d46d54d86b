/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See objects.h.
 */
#include "memtrace/objects.h"

#include "pub_tool_hashtable.h"

static VgHashTable *objects;

struct object *objects_at(Addr address)
{
    struct object *object;

    if (objects == NULL)
        objects = VG_(HT_construct)("memtrace.objects");
    object = VG_(HT_lookup)(objects, address);
    if (object == NULL) {
        object = VG_(calloc)("memtrace.object", 1, sizeof *object);
        object->address = address;
        object->last = &object->first;
        VG_(HT_add_node)(objects, object);
    }
    return object;
}

void objects_reset(struct object *object)
{
    while (object->first != NULL)
        (void)objects_take(object);
    object->latest = (struct post){.number = 0};
    object->is_held = object->is_exclusive = object->is_once = False;
    object->threads = object->arrived = 0;
    object->credits = 0;
}

void objects_queue(struct object *object, struct post post)
{
    struct queued_post *queued = VG_(malloc)("memtrace.post", sizeof *queued);

    *queued = (struct queued_post){.post = post};
    *object->last = queued;
    object->last = &queued->next;
}

struct post objects_take(struct object *object)
{
    struct queued_post *queued = object->first;
    struct post post = {.number = 0};

    if (object->credits > 0) {
        object->credits--;
        return post;
    }
    if (queued == NULL)
        return post;
    post = queued->post;
    object->first = queued->next;
    if (object->first == NULL)
        object->last = &object->first;
    VG_(free)(queued);
    return post;
}
