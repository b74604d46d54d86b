/*
 * SPDX-License-Identifier: MIT
 *
 * See place.h.
 */
#include "stats_reader/place.h"

#include "base/code/code_location.h"

#include <stdio.h>
#include <string.h>

void place_of_call(const void *return_address, char text[PLACE_ROOM])
{
    static struct code_location location;
    const char *slash;

    code_location_of_call(return_address, &location);
    slash = strrchr(location.file, '/');
    if (location.kind == CODE_IN_FUNCTION)
        (void)snprintf(text, PLACE_ROOM, "%.160s+0x%lx (%.60s)", location.function,
                       location.function_offset, slash != NULL ? slash + 1 : location.file);
    else if (location.kind == CODE_IN_FILE)
        (void)snprintf(text, PLACE_ROOM, "%.220s+0x%lx", location.file, location.offset);
    else
        (void)snprintf(text, PLACE_ROOM, "%p", return_address);
}
