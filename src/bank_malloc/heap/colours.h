/*
 * SPDX-License-Identifier: MIT
 *
 * Whose colours: which controller and banks a thread's memory comes from, by BANK_COLOURS.
 */
#ifndef MPLACE_BANK_COLOURS_H
#define MPLACE_BANK_COLOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Colours as in pool.h; kept for ever, and equal ones once: they are equal if colour is. */
struct colour_set {
    const uint16_t *colour;
    uint32_t count;
};

/* Whose they are. */
enum colour_policy {
    COLOURS_NEAR,   /* the controller that is nearest to the thread's CPU, its banks in turn */
    COLOURS_CPU,    /* by CPU number */
    COLOURS_THREAD, /* by thread, in turn */
    COLOURS_LIST    /* by thread, from the list in turn */
};

enum { COLOUR_SETS_MOST = 1024 /* in a list */ };

/*
 * text: "near", "cpu", "thread", or "0:0-3;1:4-7": thread after thread the controller and its
 * banks, and again from the beginning. NULL is "near". near: which CPUs each controller is nearest
 * to, as MPLACE_NUMA has nodes; NULL: memory nodes if controllers are nodes, else CPUs in as many
 * equal parts as there are controllers. False: the text is no such thing, or names what does not
 * exist; "near" holds then. Called once, after the numbers of both are known.
 */
bool colours_start(const char *text, uint32_t controllers, uint32_t banks, bool are_nodes);

/* "0-3/4-7" for BANK_NEAR: a list for each controller, of CPUs below `cpus`. False: it is no such
   thing. After colours_start. */
bool colours_set_near(const char *text, uint32_t cpus);

/* What "0-3,6" says, as a set of a controller's banks; false: no such thing. For tests and
 * colours_start. */
bool colours_parse_set(const char **text, struct colour_set *set);

/* The colours of a thread that begins to allocate on this CPU. Not thread-safe. */
struct colour_set colours_of_new_thread(unsigned cpu);

/* The one set with these colours, which exist; count 0: out of memory. Not thread-safe. */
struct colour_set colours_intern(const uint16_t *colours, uint32_t count);

/* In the child of a fork: sets that colours_intern made stay, and may come twice. */
void colours_start_child(void);

/* Whether a thread with these colours would get others on this CPU; false by thread and list. */
bool colours_are_others_on(struct colour_set set, unsigned cpu);

#endif
