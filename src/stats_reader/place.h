/*
 * SPDX-License-Identifier: MIT
 *
 * A call in the looked-at process, as people know it: "function+0x1f (file)".
 */
#ifndef MPLACE_STATS_READER_PLACE_H
#define MPLACE_STATS_READER_PLACE_H

enum { PLACE_ROOM = 256 };

/* Of the process that code_location_use_process named last. Cut if it is longer. */
void place_of_call(const void *return_address, char text[PLACE_ROOM]);

#endif
