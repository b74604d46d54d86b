/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which library or program an instruction is of, by the name of its file.
 */
#ifndef OBJECTS_H
#define OBJECTS_H

#include "valgrind_api.h"

/* A path without its folders. */
const HChar *object_file_name(const HChar *path);

/* Whether the instruction's file has a name that begins with one of these; NULL ends the list. */
Bool object_is_one_of(DiEpoch epoch, Addr instruction, const HChar *const *names);

/* The same of the C library and the dynamic linker. */
Bool object_is_c_library(DiEpoch epoch, Addr instruction);

#endif
