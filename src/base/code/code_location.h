/*
 * SPDX-License-Identifier: MIT
 *
 * Which function, or which file and offset, an address in the program's code is: for reports.
 *
 * Works from the process's /proc/PID/maps and from the files themselves, read with pread into fixed
 * buffers. It asks the dynamic linker nothing, whose lock another thread may hold for ever, reads
 * no memory that another thread may unmap meanwhile, and allocates nothing.
 */
#ifndef MPLACE_BASE_CODE_CODE_LOCATION_H
#define MPLACE_BASE_CODE_CODE_LOCATION_H

#include <stdint.h>

enum code_location_kind {
    CODE_IN_FUNCTION,  /* file, offset, function and function_offset are known */
    CODE_IN_FILE,      /* file and offset are known; the file has no symbol there */
    CODE_WITHOUT_FILE, /* executable memory that is no file's: generated code, the vDSO */
    CODE_UNMAPPED,     /* no code there any more: the library was unloaded */
    CODE_UNKNOWN,      /* /proc cannot be read */
};

struct code_location {
    enum code_location_kind kind;
    uint64_t offset;          /* as the file's own tables count: what addr2line -e FILE takes */
    uint64_t function_offset; /* from the function's first byte */
    char file[1024];          /* a longer path loses its beginning */
    char function[256];       /* as in the symbol table: C++ names are mangled; cut if longer */
};

/*
 * Finds the call that returns to return_address: the location is that of the call's last byte, for
 * the address itself may belong to the next function. Static buffers: one thread at a time.
 */
void code_location_of_call(const void *return_address, struct code_location *location);

/*
 * From now on addresses are those of another process, and files are looked for as it sees them:
 * folder is its "/proc/PID". For programs of ours, not for libraries.
 */
void code_location_use_process(const char *folder);

#endif
