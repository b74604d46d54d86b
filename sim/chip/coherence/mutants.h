/*
 * SPDX-License-Identifier: MIT
 *
 * Rules of the protocols that the tester can take out, one at a time, to see that it notices. Only
 * the tester is built with them.
 */
#ifndef CHIP_MUTANTS_H
#define CHIP_MUTANTS_H

enum mutant {
    MUTANT_NONE,
    MUTANT_TOKEN_LOST,            /* one of several tokens does not leave with the others */
    MUTANT_ACK_NOT_AWAITED,       /* a store does not wait for the last tokens */
    MUTANT_COPY_KEPT,             /* a copy stays valid without a token */
    MUTANT_DIRTY_DATA_DROPPED,    /* memory is not written */
    MUTANT_DATA_LEFT_BEHIND,      /* the owner token goes without data, memory's are taken */
    MUTANT_FILTER_FALSE_NEGATIVE, /* the filter denies every 16th block that it has */
    MUTANT_FILTER_REMOVED_EARLY,  /* a block leaves the filter with the first copy */
    MUTANT_SNOOPS_NOT_AWAITED,    /* memory is asked after the first answer */
    MUTANT_UNBLOCK_EARLY,         /* the home takes the next request before the unblock */
    MUTANT_PUT_NOT_FORWARDED,     /* a home keeps tokens that a writer waits for */
    MUTANT_RECALL_SKIPPED,        /* a home evicts a block of which cores have tokens */
    MUTANT_EVICTION_SILENT,       /* sparse: an evicted entry's copies stay */
    MUTANT_SHARER_FORGOTTEN,      /* a reader is not put into the entry */
    MUTANT_STARVED,               /* token: what arrives late does not go to who starves */
    MUTANTS
};

#ifdef CHIP_MUTANTS
#define MUTANT(fabric, which) ((fabric)->mutant == MUTANT_##which)
#else
#define MUTANT(fabric, which) ((void)(fabric), 0)
#endif

#endif
