/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What becomes of guest instructions before VEX optimises them; and the marks left for
 * instrument.c.
 */
#ifndef RTMGRIND_DECODE_H
#define RTMGRIND_DECODE_H

#include "program_calls/valgrind_api.h"

/*
 * A mark stands before every statement that loads: an address hint (IR that makes no code) with
 * the address, the size and this value. VEX removes loads whose value nobody uses; the processor
 * does them all the same, and they count in a transaction's read set. The mark survives.
 */
#define DECODE_LOAD_MARK 0x52544d4c4f4144ULL

#endif
