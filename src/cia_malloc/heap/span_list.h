/*
 * SPDX-License-Identifier: MIT
 *
 * A class heap's list of spans of one type with free blocks. Circular; a search begins at the head.
 */
#ifndef MPLACE_CIA_SPAN_LIST_H
#define MPLACE_CIA_SPAN_LIST_H

#include "cia_malloc/pages/chunk.h"

/* Bits of span.listed. */
enum {
    SPAN_LISTED = 1, /* in such a list */
    SPAN_RECENT = 2, /* in the class heap's ring of recent ones, once */
};

/* Appends a span that is not listed. */
static inline void span_list_append(struct span **head, struct span *span)
{
    if (*head == NULL) {
        span->next = span->previous = span;
        *head = span;
    } else {
        span->next = *head;
        span->previous = (*head)->previous;
        span->previous->next = span;
        (*head)->previous = span;
    }
    span->listed |= SPAN_LISTED;
}

/* Removes a span that is listed. */
static inline void span_list_remove(struct span **head, struct span *span)
{
    if (span->next == span) {
        *head = NULL;
    } else {
        span->previous->next = span->next;
        span->next->previous = span->previous;
        if (*head == span)
            *head = span->next;
    }
    span->listed &= (uint8_t)~SPAN_LISTED;
}

#endif
