/*
 * SPDX-License-Identifier: MIT
 *
 * Fork. The child of a process with threads finds the sub-heaps and the magazines whole, whatever
 * the threads were doing. What _Fork and a raw clone leave locked: see heap_table_put_in_order.
 */
#ifndef MPLACE_CIA_FORK_H
#define MPLACE_CIA_FORK_H

/* For the constructor. */
void fork_register_handlers(void);

#endif
