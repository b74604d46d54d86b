/*
 * SPDX-License-Identifier: MIT
 *
 * See frames.h. Documentation/admin-guide/mm/pagemap.rst: eight bytes a page, bits 0 to 54 are the
 * frame number, bit 63 says that the page is present.
 */
#include "bank_malloc/memory/frames.h"

#include "base/report.h"
#include "base/system_call.h"
#include "mplace_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <string.h>

enum { PAGES_AT_ONCE = 256, NODES_MOST = 256 };

static const uint64_t entry_frame = ((uint64_t)1 << 55) - 1, entry_present = (uint64_t)1 << 63;

static int open_file(const char *path)
{
    return (int)system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

static int open_pagemap(void)
{
    return open_file("/proc/self/pagemap");
}

/* The entries of `pages` pages; those that cannot be read are 0. Returns 0 or the error, negated.
 */
static long read_entries(int file, const char *from, uint32_t pages, uint64_t *entries)
{
    size_t bytes = pages * sizeof *entries;
    long got = system_call_6(SYS_pread64, file, (long)entries, (long)bytes,
                             (long)((uintptr_t)from >> FRAME_SHIFT << 3), 0, 0);
    size_t read = got > 0 ? (size_t)got : 0;

    memset((char *)entries + read, 0, bytes - read);
    return got < 0 ? got : 0;
}

/* Whether what this error refused may be had later. One line says so once. */
static bool is_for_now(long error)
{
    static bool is_said;

    if (error != -EMFILE && error != -ENFILE && error != -ENOMEM && error != -EINTR)
        return false;
    if (!is_said)
        report_line("mplace: libbank_malloc.so: the kernel cannot be asked which frames memory has "
                    "(error %ld): the pool grows when it can be asked again",
                    -error);
    is_said = true;
    return true;
}

/* Whether the kernel tells this process frame numbers: tried with a page of the stack. */
static bool frames_are_told(void)
{
    volatile char here = 1;
    uint64_t entry = 0;
    int file = open_pagemap();

    if (file < 0)
        return false;
    (void)read_entries(file, (const char *)&here, 1, &entry);
    system_call(SYS_close, file, NULL, 0);
    return (entry & entry_frame) != 0 && (entry & entry_present) != 0;
}

/* The numbers of this process's memory nodes are below the result. */
static uint32_t count_nodes(void)
{
    unsigned long mask[NODES_MOST / 64] = {0};
    uint32_t count = 1;

    if (system_call_6(SYS_get_mempolicy, 0, (long)mask, NODES_MOST, 0, MPOL_F_MEMS_ALLOWED, 0) < 0)
        return 1;
    for (uint32_t node = 0; node < NODES_MOST; node++) {
        if ((mask[node / 64] >> node % 64 & 1) != 0)
            count = node + 1;
    }
    return count;
}

/* An address bit of its own for each bit of the controller number, the highest there is. */
static void find_steering(struct frames *frames)
{
    for (uint32_t i = 0; i < frames->map.controllers; i++) {
        for (unsigned bit = 47; bit >= 16 && frames->steer[i] == 0; bit--) {
            uint64_t address = (uint64_t)1 << bit;

            if (dram_map_controller(&frames->map, address) == (uint32_t)1 << i)
                frames->steer[i] = address;
        }
        frames->steering |= frames->steer[i];
    }
}

void frames_start_unknown(struct frames *frames)
{
    memset(frames, 0, sizeof *frames);
    frames->controllers = frames->banks = 1;
}

void frames_start(struct frames *frames, const struct dram_map *map, bool simulated)
{
    frames_start_unknown(frames);
    frames->map = *map;
    frames->banks = (uint32_t)1 << map->banks;
    frames->controllers = (uint32_t)1 << map->controllers;
    if (simulated) {
        frames->knowledge = FRAMES_SIMULATED;
        find_steering(frames);
    } else {
        frames->knowledge = frames_are_told() ? FRAMES_KNOWN : FRAMES_RELATIVE;
        if (map->nodes)
            frames->controllers = count_nodes();
    }
}

uint64_t frames_simulated(const struct frames *frames, uint64_t offset)
{
    enum { PIECE_SHIFT = 16 };
    uint64_t piece = offset >> PIECE_SHIFT, address = 0;
    uint32_t wanted = (uint32_t)(piece % frames->controllers);

    /* The bits of piece / controllers go to the address bits from PIECE_SHIFT on, except those that
       choose the controller. */
    piece /= frames->controllers;
    for (unsigned bit = PIECE_SHIFT; piece != 0 && bit < 64; bit++) {
        if ((frames->steering >> bit & 1) == 0) {
            address |= (piece & 1) << bit;
            piece >>= 1;
        }
    }
    wanted ^= dram_map_controller(&frames->map, address);
    for (uint32_t i = 0; i < frames->map.controllers; i++) {
        if ((wanted >> i & 1) != 0)
            address ^= frames->steer[i];
    }
    return address | (offset & (((uint64_t)1 << PIECE_SHIFT) - 1));
}

static uint16_t colour_of(const struct frames *frames, uint64_t physical, uint32_t controller)
{
    return (uint16_t)(controller * frames->banks + dram_map_bank(&frames->map, physical));
}

/* Colours of some pages whose frames are known by their entries; false: not this time. */
static bool read_colours(const struct frames *frames, int file, const char *from, uint32_t pages,
                         uint16_t *colours)
{
    uint64_t entries[PAGES_AT_ONCE];
    void *addresses[PAGES_AT_ONCE];
    int nodes[PAGES_AT_ONCE];

    if (is_for_now(read_entries(file, from, pages, entries)))
        return false;
    for (uint32_t i = 0; i < pages; i++) {
        addresses[i] = (char *)(uintptr_t)from + ((size_t)i << FRAME_SHIFT);
        nodes[i] = -1;
    }
    if (frames->map.nodes &&
        is_for_now(system_call_6(SYS_move_pages, 0, pages, (long)addresses, 0, (long)nodes, 0)))
        return false;
    for (uint32_t i = 0; i < pages; i++) {
        uint64_t physical = (entries[i] & entry_frame) << FRAME_SHIFT;
        uint32_t controller =
            frames->map.nodes ? (uint32_t)nodes[i] : dram_map_controller(&frames->map, physical);
        bool is_known = (entries[i] & entry_present) != 0 && physical != 0;

        colours[i] = is_known && controller < frames->controllers
                         ? colour_of(frames, physical, controller)
                         : (uint16_t)FRAMES_NO_COLOUR;
    }
    return true;
}

/* What is known without asking: of huge pages, and of simulated frames. */
static uint16_t computed_colour(const struct frames *frames, const char *page, uint64_t offset)
{
    uint64_t physical = frames->knowledge == FRAMES_SIMULATED
                            ? frames_simulated(frames, offset)
                            : (uintptr_t)page & (HUGE_PAGE_BYTES - 1);

    if (frames->knowledge == FRAMES_UNKNOWN)
        return 0;
    return colour_of(frames, physical,
                     frames->map.nodes ? 0 : dram_map_controller(&frames->map, physical));
}

/* A chunk's colour from its pages', which follow each other. */
static void merge(uint16_t *chunk, uint16_t page, bool is_first)
{
    *chunk = is_first || *chunk == page ? page : (uint16_t)FRAMES_NO_COLOUR;
}

bool frames_colours(const struct frames *frames, const char *from, uint64_t index, uint32_t chunks,
                    unsigned chunk_shift, uint16_t *colours)
{
    unsigned shift = chunk_shift - FRAME_SHIFT; /* pages in a chunk */
    uint64_t pages = (uint64_t)chunks << shift;
    bool is_asked = frames->knowledge == FRAMES_KNOWN, is_known = true;
    int file = is_asked ? open_pagemap() : -1;

    if (is_asked && file < 0 && is_for_now(file))
        return false;
    for (uint64_t done = 0, now = PAGES_AT_ONCE; is_known && done < pages; done += now) {
        uint16_t some[PAGES_AT_ONCE];

        if (now > pages - done)
            now = pages - done;
        if (is_asked)
            is_known =
                read_colours(frames, file, from + (done << FRAME_SHIFT), (uint32_t)now, some);
        for (uint64_t i = done; is_known && i < done + now; i++) {
            uint64_t offset = (index << chunk_shift) + (i << FRAME_SHIFT);
            uint16_t page = is_asked ? some[i - done]
                                     : computed_colour(frames, from + (i << FRAME_SHIFT), offset);

            merge(&colours[i >> shift], page, (i & (((uint64_t)1 << shift) - 1)) == 0);
        }
    }
    if (file >= 0)
        system_call(SYS_close, file, NULL, 0);
    return is_known;
}

void frames_announce(const struct frames *frames, const char *from, uint64_t offset, size_t bytes)
{
    if (frames->knowledge != FRAMES_SIMULATED)
        return;
    for (size_t at = 0; at < bytes; at += FRAME_BYTES)
        mplace_trace_frame(from + at, frames_simulated(frames, offset + at) >> FRAME_SHIFT);
}

/* --- huge pages: the lines "AnonHugePages:  2048 kB" of smaps --- */

struct text_file {
    int file;
    long length, at;
    char buffer[4096];
};

static int next_character(struct text_file *text)
{
    if (text->at == text->length) {
        text->length = system_call(SYS_read, text->file, text->buffer, sizeof text->buffer);
        text->at = 0;
        if (text->length <= 0) {
            text->length = 0;
            return -1;
        }
    }
    return (unsigned char)text->buffer[text->at++];
}

/* A line up to its newline, cut where it does not fit; false at the end. */
static bool next_line(struct text_file *text, char *line, size_t room)
{
    size_t length = 0;
    int c = next_character(text);

    if (c < 0)
        return false;
    for (; c >= 0 && c != '\n'; c = next_character(text)) {
        if (length < room - 1)
            line[length++] = (char)c;
    }
    line[length] = '\0';
    return true;
}

static const char *read_number(const char *at, unsigned base, uint64_t *number)
{
    *number = 0;
    for (;; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                    : base;
        if (digit >= base)
            return at;
        *number = *number * base + digit;
    }
}

enum frames_answer frames_are_huge(const char *from, size_t bytes)
{
    static const char key[] = "AnonHugePages:";
    struct text_file text = {.file = open_file("/proc/self/smaps")};
    uint64_t begin = (uintptr_t)from, end = begin + bytes, start = 0, stop = 0, length, huge;
    size_t covered = 0;
    char line[128];

    if (text.file < 0)
        return is_for_now(text.file) ? FRAMES_NOT_ASKED : FRAMES_NO;
    while (next_line(&text, line, sizeof line)) {
        const char *dash = read_number(line, 16, &length);

        if (*dash == '-') {
            start = length;
            (void)read_number(dash + 1, 16, &stop);
        } else if (strncmp(line, key, sizeof key - 1) == 0 && start < end && stop > begin) {
            const char *digits = line + sizeof key - 1;

            while (*digits == ' ')
                digits++;
            (void)read_number(digits, 10, &huge);
            if (huge * 1024 == stop - start)
                covered += (stop < end ? stop : end) - (start > begin ? start : begin);
        }
    }
    system_call(SYS_close, text.file, NULL, 0);
    return covered == bytes ? FRAMES_YES : FRAMES_NO;
}
