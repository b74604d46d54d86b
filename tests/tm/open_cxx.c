/*
 * SPDX-License-Identifier: MIT
 *
 * A program without C++ that has a transaction, opens opened_cxx.cpp's library and calls what is in
 * it. Without a library it calls operator new in a transaction. usage: tm_open_cxx [LIBRARY]
 */
#include "expect.h"

#include <dlfcn.h>

/* Of libtm_runtime.so: operator new. */
void *_ZGTtnwm(size_t size) __attribute__((transaction_pure));

static int number;

int main(int argc, char **argv)
{
    void *library;
    void (*check)(void);

    EXPECT(dlsym(RTLD_DEFAULT, "__cxa_throw") == NULL);
    __transaction_atomic
    {
        number++;
    }
    if (argc != 2) {
        void *block;

        __transaction_atomic
        {
            block = _ZGTtnwm(8);
        }
        return block == NULL;
    }
    library = dlopen(argv[1], RTLD_NOW);
    EXPECT(library != NULL);
    *(void **)&check = dlsym(library, "check_cxx");
    EXPECT(check != NULL);
    check();
    return number != 1;
}
