/*
 * SPDX-License-Identifier: MIT
 *
 * The words of Intel's transactional memory ABI, as gcc -fgnu-tm passes them: the properties of a
 * transaction's code, what the code is to do after begin, and why it aborts.
 */
#ifndef TM_RUNTIME_ABI_ITM_H
#define TM_RUNTIME_ABI_ITM_H

#include <stddef.h>
#include <stdint.h>

#define ITM_EXPORT __attribute__((visibility("default")))

/* The argument of _ITM_beginTransaction. */
enum itm_property {
    ITM_INSTRUMENTED = 0x0001,   /* there is code with barriers */
    ITM_UNINSTRUMENTED = 0x0002, /* there is code without */
    ITM_NO_ABORT = 0x0008,       /* the transaction never cancels itself */
    ITM_GOES_IRREVOCABLE = 0x0040,
    ITM_UNDO_LOG_CODE = 0x0400, /* never set by gcc */
};

/* Its result. */
enum itm_action {
    ITM_RUN_INSTRUMENTED = 0x01,
    ITM_RUN_UNINSTRUMENTED = 0x02,
    ITM_SAVE_LIVE_VARIABLES = 0x04,
    ITM_RESTORE_LIVE_VARIABLES = 0x08,
    ITM_ABORT = 0x10, /* the transaction is cancelled: go on behind it */
};

enum itm_abort_reason {
    ITM_USER_ABORT = 1,
    ITM_OUTER_ABORT = 16, /* cancels the outermost transaction */
};

enum itm_how_executing {
    ITM_OUTSIDE_TRANSACTION = 0,
    ITM_IN_RETRYABLE_TRANSACTION,
    ITM_IN_IRREVOCABLE_TRANSACTION,
};

enum { ITM_VERSION = 90, ITM_NO_TRANSACTION_ID = 1 };

struct itm_source_location {
    uint32_t reserved_1, flags, reserved_2, reserved_3;
    const char *source;
};

#endif
