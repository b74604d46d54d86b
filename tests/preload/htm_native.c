/*
 * SPDX-License-Identifier: MIT
 *
 * Stands for a lock library whose transactions commit.
 */
#include "mplace.h"

__attribute__((visibility("default"))) const char *mplace_lock_htm(void)
{
    return "native";
}
