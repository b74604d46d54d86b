/*
 * SPDX-License-Identifier: MIT
 *
 * C++'s run-time library: it comes with the program, with an object that dlopen loads, or not at
 * all. Its functions are declared weak, and called through CXX.
 */
#ifndef TM_RUNTIME_CXX_H
#define TM_RUNTIME_CXX_H

#define CXX_WEAK __attribute__((weak))

/* The counter of this thread's exceptions on their way is in it. */
struct cxa_eh_globals {
    void *caught;
    unsigned uncaught;
};
CXX_WEAK struct cxa_eh_globals *__cxa_get_globals(void);

/* The function of this name; NULL: nobody has it. */
#define CXX_OR_NULL(name)                                                                          \
    ({                                                                                             \
        static void *found_later;                                                                  \
        (name) != NULL ? (name) : (__typeof__(name) *)cxx_look_up(&found_later, #name);            \
    })

/* The function of this name. If nobody has it, the process ends with one line. */
#define CXX(name) ((__typeof__(name) *)cxx_needed((void *)CXX_OR_NULL(name)))

/* The function of a libstdc++ that came after this library was bound; found: where it is kept. Not
 * if the program has C++: what it lacks then, another copy of the library cannot do for it. */
void *cxx_look_up(void **found, const char *name);

void *cxx_needed(void *function);

#endif
