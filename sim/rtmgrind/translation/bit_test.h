/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * BT, BTS, BTR and BTC of a register by a register. VEX sends the tested one through memory below
 * the stack, which in a transaction would be a line that it did not write, and might fault.
 */
#ifndef RTMGRIND_BIT_TEST_H
#define RTMGRIND_BIT_TEST_H

#include "program_calls/core_internals.h"

/* If it is one of them: appends its IR, and says what it is as the decoder does. */
Bool bit_test_decode(IRSB *block, const UChar *code, Addr address, struct decoded *decoded);

#endif
