/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See objects.h.
 */
#include "objects.h"

const HChar *object_file_name(const HChar *path)
{
    const HChar *slash = VG_(strrchr)(path, '/');

    return slash == NULL ? path : slash + 1;
}

Bool object_is_one_of(DiEpoch epoch, Addr instruction, const HChar *const *names)
{
    const HChar *object;

    if (!VG_(get_objname)(epoch, instruction, &object))
        return False;
    for (; *names != NULL; names++) {
        if (VG_(strncmp)(object_file_name(object), *names, VG_(strlen)(*names)) == 0)
            return True;
    }
    return False;
}

Bool object_is_c_library(DiEpoch epoch, Addr instruction)
{
    static const HChar *const c_library[] = {"libc.so", "libc-", "libpthread", "ld-linux", NULL};

    return object_is_one_of(epoch, instruction, c_library);
}
