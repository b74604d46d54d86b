/*
 * SPDX-License-Identifier: MIT
 *
 * A circular list of structures that begin with their link: whoever keeps one says what is in it.
 * The head is the first one, NULL when there is none; to begin a search with another, it is moved.
 */
#ifndef MPLACE_CIA_CIRCLE_H
#define MPLACE_CIA_CIRCLE_H

#include <stddef.h>

struct circle_link {
    struct circle_link *next, *previous;
};

/* Makes one that is in no circle the last one. */
static inline void circle_append(struct circle_link **head, struct circle_link *link)
{
    if (*head == NULL)
        *head = link->previous = link;
    link->next = *head;
    link->previous = (*head)->previous;
    link->previous->next = link;
    (*head)->previous = link;
}

static inline void circle_remove(struct circle_link **head, struct circle_link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    if (*head == link)
        *head = link->next != link ? link->next : NULL;
}

/* The same of one that may be in none: its next is NULL then, as it is afterwards. */
static inline void circle_forget(struct circle_link **head, struct circle_link *link)
{
    if (link->next != NULL)
        circle_remove(head, link);
    link->next = NULL;
}

/* The one behind it; NULL: it is the last one. */
static inline struct circle_link *circle_next(const struct circle_link *head,
                                              const struct circle_link *link)
{
    return link->next != head ? link->next : NULL;
}

#endif
