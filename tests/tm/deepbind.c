/*
 * SPDX-License-Identifier: MIT
 *
 * A program that opens a library with RTLD_DEEPBIND: with the flag, the library would find libitm,
 * which it names, before libtm_runtime.so. usage: tm_deepbind LIBRARY
 */
#include "expect.h"

#include <dlfcn.h>

typedef int question(void) __attribute__((transaction_pure));

int main(int argc, char **argv)
{
    void *library;
    question *is_in_transaction;
    long (*add_one)(void);
    int seen;

    EXPECT(argc == 2);
    library = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
    EXPECT(library != NULL);
    *(void **)&is_in_transaction = dlsym(library, "is_in_transaction");
    *(void **)&add_one = dlsym(library, "add_one");
    EXPECT(is_in_transaction() == 0 && add_one() == 1);
    __transaction_atomic
    {
        seen = is_in_transaction();
    }
    EXPECT(seen == 1);
    return 0;
}
