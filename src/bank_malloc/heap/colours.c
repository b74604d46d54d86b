/*
 * SPDX-License-Identifier: MIT
 *
 * See colours.h.
 */
#include "bank_malloc/heap/colours.h"

#include "bank_malloc/pool/pool.h"
#include "base/memory_nodes.h"
#include "base/pages.h"

#include <string.h>

static struct {
    enum colour_policy policy;
    uint32_t controllers, banks;
    bool are_nodes, near_is_set;
    uint32_t cpus;                        /* that the machine has */
    uint32_t threads;                     /* so far */
    uint32_t dealt[POOL_COLOURS_MOST];    /* of each controller: threads that got a bank of it */
    uint16_t identity[POOL_COLOURS_MOST]; /* identity[i] = i: sets of one colour */
    struct memory_nodes near;
    struct colour_set list[COLOUR_SETS_MOST];
    uint32_t listed;
} rule;

/* Sets of several colours, one behind the other, each as its count and its colours. */
enum { SETS_ROOM = 1 << 16 /* numbers */ };
static uint16_t *sets_begin, *sets_end;

struct colour_set colours_intern(const uint16_t *colours, uint32_t count)
{
    if (count == 1)
        return (struct colour_set){&rule.identity[colours[0]], 1};
    for (uint16_t *set = sets_begin; set != sets_end; set += 1 + *set) {
        if (*set == count && memcmp(set + 1, colours, count * sizeof *colours) == 0)
            return (struct colour_set){set + 1, count};
    }
    size_t left = (size_t)(SETS_ROOM - (sets_end - sets_begin));
    if (sets_begin == NULL || left < count + 1) {
        /* Older sets stay where they are, and may come twice. */
        sets_begin = sets_end = pages_map(SETS_ROOM * sizeof *sets_begin, 0);
        if (sets_begin == NULL || count >= SETS_ROOM)
            return (struct colour_set){NULL, 0};
    }
    uint16_t *set = sets_end;
    *set = (uint16_t)count;
    memcpy(set + 1, colours, count * sizeof *colours);
    sets_end += 1 + count;
    return (struct colour_set){set + 1, count};
}

void colours_start_child(void)
{
    sets_begin = sets_end = NULL;
}

/* A number that begins at *text, below bound; false: there is none. */
static bool parse_number(const char **text, uint32_t bound, uint32_t *number)
{
    const char *at = *text;

    *number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        *number = *number * 10 + (uint32_t)(*at - '0');
        if (*number >= bound)
            return false;
    }
    if (at == *text)
        return false;
    *text = at;
    return true;
}

bool colours_parse_set(const char **text, struct colour_set *set)
{
    uint16_t colours[POOL_COLOURS_MOST];
    uint32_t controller, first, last, count = 0;

    if (!parse_number(text, rule.controllers, &controller) || **text != ':')
        return false;
    do {
        ++*text; /* the colon, or a comma */
        if (!parse_number(text, rule.banks, &first))
            return false;
        last = first;
        if (**text == '-') {
            ++*text;
            if (!parse_number(text, rule.banks, &last))
                return false;
        }
        if (last < first || count + (last - first) >= POOL_COLOURS_MOST)
            return false;
        for (uint32_t bank = first; bank <= last; bank++)
            colours[count++] = (uint16_t)(controller * rule.banks + bank);
    } while (**text == ',');
    *set = colours_intern(colours, count);
    return set->count != 0;
}

static bool parse_list(const char *text)
{
    for (rule.listed = 0; rule.listed < COLOUR_SETS_MOST; text++) {
        if (!colours_parse_set(&text, &rule.list[rule.listed]))
            return false;
        rule.listed++;
        if (*text == '\0')
            return true;
        if (*text != ';')
            return false;
    }
    return false;
}

bool colours_start(const char *text, uint32_t controllers, uint32_t banks, bool are_nodes)
{
    static const char *const words[] = {"near", "cpu", "thread"};

    rule.controllers = controllers;
    rule.banks = banks;
    rule.are_nodes = are_nodes;
    rule.policy = COLOURS_NEAR;
    rule.cpus = possible_cpus();
    for (uint32_t i = 0; i < controllers * banks; i++)
        rule.identity[i] = (uint16_t)i;
    for (size_t i = 0; text != NULL && i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) == 0) {
            rule.policy = (enum colour_policy)i;
            return true;
        }
    }
    if (text == NULL)
        return true;
    if (!parse_list(text))
        return false;
    rule.policy = COLOURS_LIST;
    return true;
}

bool colours_set_near(const char *text, uint32_t cpus)
{
    uint32_t lists = 1, cpu;
    struct memory_nodes near;

    for (const char *at = text; *at != '\0'; at++) {
        lists += *at == '/';
        if (*at >= '0' && *at <= '9' && (at == text || at[-1] < '0' || at[-1] > '9')) {
            const char *number = at;

            if (!parse_number(&number, cpus, &cpu))
                return false;
        }
    }
    if (lists != rule.controllers || !memory_nodes_parse(text, &near))
        return false;
    if (near.count == 1) /* all CPUs are of node 0 then, whichever list is not empty */
        memset(near.of_cpu, (int)strspn(text, "/"), sizeof near.of_cpu);
    rule.near = near;
    rule.near_is_set = true;
    return true;
}

static uint32_t nearest(unsigned cpu)
{
    uint32_t controller = 0;

    if (rule.near_is_set)
        controller = cpu < MEMORY_NODE_CPUS ? rule.near.of_cpu[cpu] : 0;
    else if (rule.are_nodes)
        controller = memory_node_of_cpu(cpu);
    else
        controller = (uint32_t)((uint64_t)(cpu % rule.cpus) * rule.controllers / rule.cpus);
    return controller < rule.controllers ? controller : 0;
}

struct colour_set colours_of_new_thread(unsigned cpu)
{
    uint32_t thread = rule.threads++, all = rule.controllers * rule.banks, colour = 0;

    switch (rule.policy) {
    case COLOURS_LIST:
        return rule.list[thread % rule.listed];
    case COLOURS_THREAD:
        colour = thread % all;
        break;
    case COLOURS_CPU:
        colour = cpu % all;
        break;
    case COLOURS_NEAR: {
        uint32_t controller = nearest(cpu);

        colour = controller * rule.banks + rule.dealt[controller]++ % rule.banks;
        break;
    }
    }
    return (struct colour_set){&rule.identity[colour], 1};
}

bool colours_are_others_on(struct colour_set set, unsigned cpu)
{
    if (rule.policy == COLOURS_CPU)
        return set.colour[0] != cpu % (rule.controllers * rule.banks);
    return rule.policy == COLOURS_NEAR && set.colour[0] / rule.banks != nearest(cpu);
}
