/*
 * SPDX-License-Identifier: MIT
 *
 * See placement.h.
 */
#include "placement.h"

#include "harness/options.h"
#include "harness/random.h"
#include "mplace_bank.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum policy_kind kind;
    bool may_count, must_count;
} policies[] = {
    {"malloc", POLICY_MALLOC, false, false},
    {"colours", POLICY_COLOURS, true, true},
    {"only", POLICY_ONLY, true, true},
    {"local", POLICY_LOCAL, true, false},
    {"opposite", POLICY_OPPOSITE, false, false},
    {"one-node", POLICY_ONE_NODE, false, false},
    {"two-nodes", POLICY_TWO_NODES, false, false},
    {"circular", POLICY_CIRCULAR, false, false},
};
enum { POLICIES = sizeof policies / sizeof *policies, BANKS_MOST = 1 << 16 };

static void *(*ask)(size_t size, uint32_t controller, uint32_t bank, unsigned modes);
static int (*tell)(const void *address, uint32_t *controller, uint32_t *bank);
static _Atomic uint64_t asked_for, found_elsewhere;

bool placement_parse(struct placement *placement, const char *text)
{
    for (size_t i = 0; i < POLICIES; i++) {
        size_t length = strlen(policies[i].name);
        uint64_t count = 0;

        if (strncmp(text, policies[i].name, length) != 0)
            continue;
        if (text[length] == '\0' ? policies[i].must_count
                                 : !policies[i].may_count || text[length] != '-' ||
                                       !options_number(text + length + 1, 1, BANKS_MOST, &count))
            continue;
        placement->kind = policies[i].kind;
        placement->count = (unsigned)count;
        return true;
    }
    return false;
}

const char *placement_start(struct placement *placement, uint64_t seed)
{
    void (*figures)(struct bank_figures * out, size_t size);
    struct bank_figures found = {0};

    placement->seed = seed;
    placement->controllers = placement->banks = 1;
    *(void **)&ask = dlsym(RTLD_DEFAULT, "bank_malloc");
    *(void **)&tell = dlsym(RTLD_DEFAULT, "bank_of");
    *(void **)&figures = dlsym(RTLD_DEFAULT, "bank_figures");
    if (placement->kind == POLICY_MALLOC)
        return NULL;
    if (ask == NULL || tell == NULL || figures == NULL)
        return "this --policy needs libbank_malloc.so: mplace run --malloc bank";
    figures(&found, sizeof found);
    if (found.chunk_bytes > PAGE_BYTES || found.controllers * found.banks <= 1)
        return "this --policy needs banks of pages of 8 KiB: set BANK_MAP";
    placement->controllers = found.controllers;
    placement->banks = found.banks;
    return placement->count <= found.banks ? NULL : "--policy names more banks than there are";
}

/* A number that worker, page and seed fix, whichever thread asks first. */
static uint32_t draw(const struct placement *placement, const struct worker *worker, size_t page,
                     uint32_t bound)
{
    uint64_t state = placement->seed * 0x9e3779b97f4a7c15 + worker->number * 1000003ull + page;

    random_next(&state);
    return (uint32_t)random_below(&state, bound);
}

void *placement_page(const struct placement *placement, const struct worker *worker, size_t page)
{
    uint32_t controllers = placement->controllers, banks = placement->banks;
    uint32_t controller = worker->quadrant % controllers, bank = worker->index % banks;
    uint32_t count = placement->count, is_controller, is_bank;
    void *memory;

    switch (placement->kind) {
    case POLICY_MALLOC:
        return malloc(PAGE_BYTES);
    case POLICY_COLOURS:
        bank = worker->index % count;
        bank += count * (uint32_t)(page % ((banks - bank + count - 1) / count));
        break;
    case POLICY_ONLY:
        bank = worker->index % count;
        break;
    case POLICY_LOCAL:
        bank = draw(placement, worker, page, count != 0 ? count : banks);
        break;
    case POLICY_OPPOSITE:
        controller = controllers - 1 - controller;
        break;
    case POLICY_ONE_NODE:
        controller = 0;
        bank = worker->number % banks;
        break;
    case POLICY_TWO_NODES:
        controller = controller % 2;
        bank = worker->number % banks;
        break;
    case POLICY_CIRCULAR:
        controller = (controller + (uint32_t)page) % controllers;
        break;
    }
    memory = ask(PAGE_BYTES, controller, bank, 0);
    if (memory == NULL)
        return NULL;
    asked_for++;
    if (tell(memory, &is_controller, &is_bank) != 0 || is_controller != controller ||
        is_bank != bank)
        found_elsewhere++;
    return memory;
}

void placement_counts(uint64_t *asked, uint64_t *elsewhere)
{
    *asked = asked_for;
    *elsewhere = found_elsewhere;
}

bool placement_of(const void *page, uint32_t *controller, uint32_t *bank)
{
    return tell != NULL && tell(page, controller, bank) == 0;
}
