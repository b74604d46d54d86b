/*
 * SPDX-License-Identifier: MIT
 *
 * The fuzzer with inputs that libFuzzer makes. The program has cia linked in, so that libFuzzer
 * sees which of the allocator's branches an input reaches and looks for inputs that reach others.
 */
#include "fuzz.h"

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    fuzz_start(1);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_position.input++;
    fuzz_one(data, size);
    return 0;
}
