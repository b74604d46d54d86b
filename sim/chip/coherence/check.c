/*
 * SPDX-License-Identifier: MIT
 *
 * The checker; see check.h.
 */
#include "chip/coherence/check.h"

#include "chip/engine/allocation.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* What cannot be found in a cache. The values of `known`, one after the other. */
struct seen {
    uint64_t version; /* of the last store */
    uint64_t memory;  /* of memory's data */
    int64_t tokens;   /* on their way */
    int64_t owners;
};

struct check {
    struct fabric *fabric;
    struct block_map places; /* block to place in seen[], from 1 */
    struct seen *seen;
    size_t used, room;
    char finding[256];
};

struct check *check_new(struct fabric *fabric)
{
    struct check *check = calloc(1, sizeof *check);

    if (check != NULL)
        check->fabric = fabric;
    return check;
}

void check_free(struct check *check)
{
    if (check == NULL)
        return;
    block_map_destroy(&check->places);
    free(check->seen);
    free(check);
}

const char *check_finding(const struct check *check)
{
    return check->finding[0] != '\0' ? check->finding : NULL;
}

void check_report(struct check *check, const char *format, ...)
{
    va_list arguments;
    int used;

    if (check == NULL) {
        fputs("mplace-chip: the protocol is broken; --check says where\n", stderr);
        abort();
    }
    if (check->finding[0] != '\0')
        return;
    used = snprintf(check->finding, sizeof check->finding,
                    "cycle %llu: ", (unsigned long long)check->fabric->queue.now);
    va_start(arguments, format);
    vsnprintf(check->finding + used, sizeof check->finding - (size_t)used, format, arguments);
    va_end(arguments);
}

static struct seen *seen_of(struct check *check, uint64_t block)
{
    uint64_t *place = block_map_add(&check->places, block);

    if (*place == 0) {
        if (check->used == check->room) {
            check->room = check->room == 0 ? 1024 : 2 * check->room;
            check->seen =
                allocation_checked(realloc(check->seen, check->room * sizeof *check->seen));
        }
        check->seen[check->used] = (struct seen){0};
        *place = ++check->used;
    }
    return &check->seen[*place - 1];
}

void check_sent(struct check *check, const struct message *message)
{
    struct seen *seen = seen_of(check, message->block);

    seen->tokens += message->tokens;
    seen->owners += message->owner;
}

void check_received(struct check *check, const struct message *message)
{
    struct seen *seen = seen_of(check, message->block);

    seen->tokens -= message->tokens;
    seen->owners -= message->owner;
}

void check_load(struct check *check, unsigned core, uint64_t block, const struct line *line)
{
    uint64_t last = seen_of(check, block)->version;

    if (line->version != last)
        check_report(check, "core %u loads version %llu of block %#llx, the last store's is %llu",
                     core, (unsigned long long)line->version, (unsigned long long)block,
                     (unsigned long long)last);
}

void check_store(struct check *check, unsigned core, uint64_t block, struct line *line)
{
    struct fabric *fabric = check->fabric;

    for (unsigned i = 0; i < fabric->machine->core.count; i++) {
        const struct line *other =
            i == core ? NULL : private_cache_find(&fabric->cores[i].cache, block);

        if (other != NULL && other->valid)
            check_report(check, "core %u stores to block %#llx, which core %u may read", core,
                         (unsigned long long)block, i);
    }
    check_load(check, core, block, line); /* what it does not overwrite must be the last, too */
    line->version = ++seen_of(check, block)->version;
}

uint64_t check_memory(struct check *check, uint64_t block)
{
    return seen_of(check, block)->memory;
}

void check_memory_written(struct check *check, uint64_t block, uint64_t version)
{
    seen_of(check, block)->memory = version;
}

void check_block(struct check *check, uint64_t block, const struct line *at_home,
                 unsigned in_memory, bool owner_in_memory)
{
    struct fabric *fabric = check->fabric;
    const struct seen *seen = seen_of(check, block);
    int64_t tokens = seen->tokens + in_memory, owners = seen->owners + owner_in_memory;

    for (unsigned i = 0; i < fabric->machine->core.count; i++) {
        const struct line *line = private_cache_find(&fabric->cores[i].cache, block);

        if (line == NULL)
            continue;
        tokens += line->tokens;
        owners += line->owner;
        if ((line->valid || line->owner) && line->tokens == 0)
            check_report(check, "core %u has block %#llx without a token", i,
                         (unsigned long long)block);
    }
    if (at_home != NULL) {
        tokens += at_home->tokens;
        owners += at_home->owner;
    }
    if (tokens != (int64_t)fabric->tokens && tokens != 0)
        check_report(check, "block %#llx has %lld tokens, not %u", (unsigned long long)block,
                     (long long)tokens, fabric->tokens);
    else if (owners != (tokens != 0))
        check_report(check, "block %#llx has %lld owner tokens", (unsigned long long)block,
                     (long long)owners);
}
