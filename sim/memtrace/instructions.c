/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See instructions.h.
 */
#include "memtrace/instructions.h"

#include "trace/trace.h"

/* What an instruction begins with. */
struct beginning {
    Bool operand_size, repeat; /* prefixes 66; F2, F3 */
    UChar opcode;              /* of the two-byte map, at `length - 1` */
    UInt length;
};

/* False: its opcode is not of the two-byte map. */
static Bool read_beginning(const UChar *bytes, struct beginning *beginning)
{
    UInt i = 0;

    *beginning = (struct beginning){.length = 0};
    for (;; i++) {
        if (bytes[i] == 0x66)
            beginning->operand_size = True;
        else if (bytes[i] == 0xf2 || bytes[i] == 0xf3)
            beginning->repeat = True;
        else if ((bytes[i] & 0xe7) != 0x26 && bytes[i] != 0x64 && bytes[i] != 0x65)
            break; /* none of the segments */
    }
    if ((bytes[i] & 0xf0) == 0x40) /* REX */
        i++;
    if (bytes[i] == 0x0f)
        i += 1;
    else if (bytes[i] == 0xc5) /* AVX in two bytes */
        i += 2;
    else if (bytes[i] == 0xc4 && (bytes[i + 1] & 0x1f) == 1)
        i += 3;
    else
        return False;
    beginning->opcode = bytes[i];
    beginning->length = i + 1;
    return True;
}

Bool instruction_is_non_temporal(const UChar *bytes)
{
    struct beginning beginning;

    if (!read_beginning(bytes, &beginning) || beginning.repeat)
        return False;
    switch (beginning.opcode) {
    case 0x2b: /* MOVNTPS, MOVNTPD */
    case 0xc3: /* MOVNTI */
    case 0xe7: /* MOVNTQ, MOVNTDQ */
    case 0xf7: /* MASKMOVQ, MASKMOVDQU */
        return True;
    default:
        return False;
    }
}

Int instruction_fence(const UChar *bytes)
{
    struct beginning beginning;

    if (!read_beginning(bytes, &beginning) || beginning.opcode != 0xae ||
        bytes[beginning.length] < 0xc0)
        return -1;
    switch (bytes[beginning.length] >> 3 & 7) {
    case 5:
        return TRACE_LFENCE;
    case 6:
        return TRACE_MFENCE;
    case 7:
        return TRACE_SFENCE;
    default:
        return -1;
    }
}

Int instruction_flush(const UChar *bytes, UInt *modrm)
{
    struct beginning beginning;

    if (bytes[0] == 0xc4 || bytes[0] == 0xc5 || !read_beginning(bytes, &beginning) ||
        beginning.opcode != 0xae || beginning.repeat || bytes[beginning.length] >= 0xc0)
        return -1;
    *modrm = beginning.length;
    switch (bytes[beginning.length] >> 3 & 7) {
    case 6:
        return beginning.operand_size ? TRACE_CLWB : -1; /* else XSAVEOPT */
    case 7:
        return beginning.operand_size ? TRACE_CLFLUSHOPT : TRACE_CLFLUSH;
    default:
        return -1;
    }
}
