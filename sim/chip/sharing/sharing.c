/*
 * SPDX-License-Identifier: MIT
 *
 * Moves of lines; see sharing.h.
 */
#include "chip/sharing/sharing.h"

#include "chip/engine/allocation.h"

#include <string.h>

/* Of a core and a line that has moved to it. */
struct sharing_stay {
    uint64_t read, written;             /* by the core, in the stay */
    uint64_t others_wrote, others_used; /* what the stay is judged by */
    uint64_t written_since, used_since; /* by others, for the next stay */
    struct sharing_tally began;         /* its moves */
    uint32_t core;
    uint8_t blocks; /* live ones, a bit each of the line's */
    bool is_first, has_write;
};

/* Accesses that wait for a miss: of its read, and of the write that follows. */
struct sharing_part {
    uint64_t read, written;
    uint64_t first_read, first_written; /* by the access that started it */
    uint32_t site;
    bool any;
};

struct sharing_miss {
    struct sharing_part part[2];
};

struct sharing *sharing_new(unsigned block, unsigned cores, unsigned window)
{
    struct sharing *sharing = allocation_checked(calloc(1, sizeof *sharing));

    sharing->block = block;
    sharing->shift = (unsigned)__builtin_ctz(block);
    sharing->window = window;
    sharing->misses = allocation_checked(calloc((size_t)cores * window, sizeof *sharing->misses));
    return sharing;
}

static void forget_lines(struct sharing *sharing)
{
    for (size_t i = 0; i < sharing->line_count; i++) {
        free(sharing->lines[i]->sites);
        free(sharing->lines[i]->stays);
        free(sharing->lines[i]);
    }
    sharing->line_count = 0;
    block_map_destroy(&sharing->index);
    sharing->index = (struct block_map){0};
}

void sharing_free(struct sharing *sharing)
{
    if (sharing == NULL)
        return;
    forget_lines(sharing);
    free(sharing->lines);
    block_map_destroy(&sharing->lock_index);
    free(sharing->locks);
    heap_destroy(&sharing->heap);
    free(sharing->misses);
    free(sharing);
}

static struct sharing_line *line_of(const struct sharing *sharing, uint64_t block)
{
    const uint64_t *place = block_map_find(&sharing->index, block);

    return place == NULL ? NULL : sharing->lines[*place - 1];
}

/* NULL: there are SHARING_LINES already. */
static struct sharing_line *follow(struct sharing *sharing, uint64_t block)
{
    struct sharing_line *line;

    if (sharing->line_count == SHARING_LINES)
        return NULL;
    if (sharing->line_count == sharing->line_room) {
        sharing->line_room = sharing->line_room == 0 ? 256 : 2 * sharing->line_room;
        sharing->lines = allocation_checked(
            realloc(sharing->lines, sharing->line_room * sizeof(struct sharing_line *)));
    }
    line = allocation_checked(calloc(1, sizeof *line));
    line->block = block;
    sharing->lines[sharing->line_count++] = line;
    *block_map_add(&sharing->index, block) = sharing->line_count;
    return line;
}

/* The access's bytes of its line, a bit each. */
static uint64_t bytes_of(const struct sharing *sharing, const struct sharing_access *access)
{
    uint64_t line = access->address >> sharing->shift;
    uint64_t own = access->block << 16 >> 16; /* without the program */
    uint64_t last = access->address + (access->size > 0 ? access->size - 1 : 0);
    unsigned from = line < own ? 0 : (unsigned)(access->address & (sharing->block - 1));
    unsigned to =
        last >> sharing->shift > own ? sharing->block - 1 : (unsigned)(last & (sharing->block - 1));

    if (SHARING_MUTANT(sharing, BYTES))
        return ~UINT64_C(0);
    return ~UINT64_C(0) >> (63 - (to - from)) << from;
}

static struct sharing_site *site_of(struct sharing_line *line, uint32_t site)
{
    for (unsigned i = 0; i < line->site_count; i++)
        if (line->sites[i].site == site)
            return &line->sites[i];
    if (line->site_count == SHARING_SITES)
        return NULL;
    if ((line->site_count & (line->site_count - 1)) == 0) {
        size_t room = line->site_count == 0 ? 1 : 2 * (size_t)line->site_count;

        line->sites = allocation_checked(realloc(line->sites, room * sizeof *line->sites));
    }
    line->sites[line->site_count] = (struct sharing_site){.site = site};
    return &line->sites[line->site_count++];
}

static void record_site(struct sharing_line *line, unsigned core, uint32_t number, uint64_t read,
                        uint64_t written)
{
    struct sharing_site *site = site_of(line, number);

    if (site == NULL)
        return;
    site->read |= read;
    site->written |= written;
    site->cores |= UINT64_C(1) << core;
}

static struct sharing_stay *stay_of(struct sharing_line *line, unsigned core)
{
    for (unsigned i = 0; i < line->stay_count; i++)
        if (line->stays[i].core == core)
            return &line->stays[i];
    return NULL;
}

/* The core's accesses are done: they belong to its stay, and are others' accesses to the rest. */
static void done(const struct sharing *sharing, struct sharing_line *line, unsigned core,
                 uint64_t read, uint64_t written)
{
    for (unsigned i = 0; i < line->stay_count; i++) {
        struct sharing_stay *stay = &line->stays[i];

        if (stay->core == core) {
            stay->read |= read;
            stay->written |= written;
        } else {
            stay->written_since |= written;
            stay->used_since |= SHARING_MUTANT(sharing, READS) ? written : read | written;
        }
    }
}

static uint64_t bytes_of_block(const struct sharing *sharing, const struct sharing_line *line,
                               const struct sharing_block *block)
{
    uint64_t begin = HEAP_ADDRESS(line->block >> 48, line->block << 16 >> 16 << sharing->shift);
    uint64_t end = begin + sharing->block;
    uint64_t from = block->address > begin ? block->address : begin;
    uint64_t to = block->end < end ? block->end : end;

    return from >= to ? 0 : ~UINT64_C(0) >> (64 - (to - from)) << (from - begin);
}

static enum sharing_kind kind_of_false(const struct sharing *sharing,
                                       const struct sharing_line *line,
                                       const struct sharing_stay *stay, uint64_t theirs)
{
    uint64_t own = stay->read | stay->written;
    bool own_in_block = false, theirs_in_block = false;

    for (unsigned i = 0; i < line->block_count; i++) {
        uint64_t bytes;

        if ((stay->blocks & 1u << i) == 0 || SHARING_MUTANT(sharing, BLOCKS))
            continue;
        bytes = bytes_of_block(sharing, line, &line->blocks[i]);
        if ((bytes & own) != 0 && (bytes & theirs) != 0)
            return SHARING_IN_BLOCK;
        own_in_block |= (bytes & own) != 0;
        theirs_in_block |= (bytes & theirs) != 0;
    }
    return own_in_block && theirs_in_block ? SHARING_BETWEEN : SHARING_ELSEWHERE;
}

static enum sharing_kind kind_of(const struct sharing *sharing, const struct sharing_line *line,
                                 const struct sharing_stay *stay)
{
    uint64_t own = stay->read | stay->written, theirs = stay->others_wrote | stay->others_used;

    if (stay->is_first && !SHARING_MUTANT(sharing, FIRST))
        return SHARING_FIRST;
    if (((own & stay->others_wrote) | (stay->written & stay->others_used)) != 0)
        return SHARING_TRUE;
    return theirs == 0 ? SHARING_AGAIN : kind_of_false(sharing, line, stay, theirs);
}

static void judge(const struct sharing *sharing, struct sharing_line *line,
                  struct sharing_stay *stay)
{
    uint64_t own = stay->read | stay->written;
    struct sharing_tally *tally;

    if (stay->began.moves == 0)
        return;
    tally = &line->of[kind_of(sharing, line, stay)];
    tally->moves += stay->began.moves;
    tally->cycles += stay->began.cycles;
    for (unsigned i = 0; i < line->block_count; i++) {
        struct sharing_block *block = &line->blocks[i];

        if ((stay->blocks & 1u << i) == 0 || (bytes_of_block(sharing, line, block) & own) == 0)
            continue;
        block->moves += stay->began.moves;
        block->cores |= UINT64_C(1) << stay->core;
    }
    stay->began = (struct sharing_tally){0};
    stay->is_first = false;
}

/* The place of a live block among those of the line; of a full line, that of the one with fewest
 * moves. */
static unsigned place_of_block(struct sharing_line *line, const struct heap_block *block)
{
    unsigned place = 0;

    for (unsigned i = 0; i < line->block_count; i++) {
        if (line->blocks[i].address == block->address && line->blocks[i].end == block->end &&
            line->blocks[i].stack == block->stack)
            return i;
        if (line->blocks[i].moves < line->blocks[place].moves)
            place = i;
    }
    if (line->block_count < SHARING_BLOCKS)
        place = line->block_count++;
    else
        for (unsigned i = 0; i < line->stay_count; i++)
            line->stays[i].blocks &= (uint8_t) ~(1u << place);
    line->blocks[place] =
        (struct sharing_block){.address = block->address, .end = block->end, .stack = block->stack};
    return place;
}

static uint8_t live_blocks(struct sharing *sharing, struct sharing_line *line)
{
    const struct heap_block *blocks[SHARING_BLOCKS / 2];
    uint64_t begin = HEAP_ADDRESS(line->block >> 48, line->block << 16 >> 16 << sharing->shift);
    size_t count = heap_blocks_in(&sharing->heap, begin, begin + sharing->block, blocks,
                                  sizeof blocks / sizeof blocks[0]);
    unsigned live = 0;

    for (size_t i = 0; i < count; i++)
        live |= 1u << place_of_block(line, blocks[i]);
    return (uint8_t)live;
}

/* The core's stay for a move that has come: a new one, or the read's that this write goes on. */
static struct sharing_stay *begin_stay(struct sharing *sharing, struct sharing_line *line,
                                       unsigned core, bool write)
{
    struct sharing_stay *stay = stay_of(line, core);

    if (stay == NULL) {
        line->stays =
            allocation_checked(realloc(line->stays, (line->stay_count + 1u) * sizeof *stay));
        stay = &line->stays[line->stay_count++];
        *stay = (struct sharing_stay){.core = core, .is_first = true};
    } else if (write && !stay->has_write && stay->written_since == 0 && stay->began.moves > 0 &&
               !SHARING_MUTANT(sharing, JOINS)) {
        stay->others_used = stay->used_since;
        stay->has_write = true;
        stay->used_since = 0;
        return stay;
    } else {
        judge(sharing, line, stay);
    }
    stay->read = 0;
    stay->written = 0;
    stay->others_wrote = stay->written_since;
    stay->others_used = write ? stay->used_since : 0;
    stay->has_write = write;
    stay->written_since = 0;
    if (write)
        stay->used_since = 0;
    stay->blocks = live_blocks(sharing, line);
    return stay;
}

static void add_move(struct sharing_tally *tally, uint64_t cycles)
{
    tally->moves++;
    tally->cycles += cycles;
}

static struct sharing_miss *miss_of(const struct sharing *sharing, unsigned core, unsigned mshr)
{
    return &sharing->misses[(size_t)core * sharing->window + mshr];
}

void sharing_hit(struct sharing *sharing, unsigned core, const struct sharing_access *access)
{
    struct sharing_line *line = line_of(sharing, access->block);
    uint64_t bytes;

    if (line == NULL || sharing->stopped)
        return;
    bytes = bytes_of(sharing, access);
    record_site(line, core, access->site, access->reads ? bytes : 0, access->writes ? bytes : 0);
    done(sharing, line, core, access->reads ? bytes : 0, access->writes ? bytes : 0);
}

static void wait_in(struct sharing *sharing, unsigned core, struct sharing_part *part,
                    const struct sharing_access *access)
{
    uint64_t bytes = bytes_of(sharing, access);
    uint64_t read = access->reads ? bytes : 0, written = access->writes ? bytes : 0;
    struct sharing_line *line = line_of(sharing, access->block);

    if (!part->any)
        *part = (struct sharing_part){
            .first_read = read, .first_written = written, .site = access->site, .any = true};
    part->read |= read;
    part->written |= written;
    if (line != NULL && !sharing->stopped)
        record_site(line, core, access->site, read, written);
}

void sharing_missed(struct sharing *sharing, unsigned core, unsigned mshr,
                    const struct sharing_access *access)
{
    struct sharing_miss *miss = miss_of(sharing, core, mshr);

    *miss = (struct sharing_miss){0};
    wait_in(sharing, core, &miss->part[0], access);
}

void sharing_merged(struct sharing *sharing, unsigned core, unsigned mshr, bool then,
                    const struct sharing_access *access)
{
    wait_in(sharing, core, &miss_of(sharing, core, mshr)->part[then], access);
}

static void count_move(struct sharing *sharing, struct sharing_line *line, unsigned core,
                       const struct sharing_part *part, const struct sharing_end *end)
{
    struct sharing_site *site;

    add_move(&line->all, end->cycles);
    add_move(&begin_stay(sharing, line, core, end->write)->began, end->cycles);
    record_site(line, core, part->site, part->first_read, part->first_written);
    site = site_of(line, part->site);
    if (site != NULL)
        add_move(&site->started, end->cycles);
}

void sharing_completed(struct sharing *sharing, unsigned core, const struct sharing_end *end)
{
    struct sharing_miss *miss = miss_of(sharing, core, end->mshr);
    struct sharing_part part = miss->part[0];
    struct sharing_line *line;

    miss->part[0] = miss->part[1];
    miss->part[1] = (struct sharing_part){0};
    if (end->over) { /* the write that follows needed nothing more */
        part.read |= miss->part[0].read;
        part.written |= miss->part[0].written;
    }
    if (sharing->stopped)
        return;
    line = line_of(sharing, end->block);
    if (end->moved) {
        if (line == NULL)
            line = follow(sharing, end->block);
        if (line == NULL)
            add_move(&sharing->not_followed, end->cycles);
        else
            count_move(sharing, line, core, &part, end);
    }
    if (line != NULL)
        done(sharing, line, core, part.read, part.written);
}

void sharing_locked(struct sharing *sharing, uint64_t address, unsigned call, uint32_t site)
{
    uint64_t *place = block_map_add(&sharing->lock_index, address);
    struct sharing_lock *lock;

    if (*place == 0) {
        size_t count = sharing->lock_count;

        if ((count & (count - 1)) == 0)
            sharing->locks = allocation_checked(
                realloc(sharing->locks, (count == 0 ? 1 : 2 * count) * sizeof *sharing->locks));
        sharing->locks[count] = (struct sharing_lock){.call = call};
        *place = ++sharing->lock_count;
    }
    lock = &sharing->locks[*place - 1];
    for (unsigned i = 0; i < lock->takers; i++)
        if (lock->taken_at[i] == site)
            return;
    if (lock->takers < SHARING_TAKERS)
        lock->taken_at[lock->takers++] = site;
}

const struct sharing_lock *sharing_lock_at(const struct sharing *sharing, uint64_t address)
{
    const uint64_t *place = block_map_find(&sharing->lock_index, address);

    return place == NULL ? NULL : &sharing->locks[*place - 1];
}

void sharing_restart(struct sharing *sharing)
{
    forget_lines(sharing);
    sharing->not_followed = (struct sharing_tally){0};
}

void sharing_stop(struct sharing *sharing)
{
    for (size_t i = 0; i < sharing->line_count && !sharing->stopped; i++)
        for (unsigned stay = 0; stay < sharing->lines[i]->stay_count; stay++)
            judge(sharing, sharing->lines[i], &sharing->lines[i]->stays[stay]);
    sharing->stopped = true;
}
