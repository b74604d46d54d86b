/*
 * SPDX-License-Identifier: MIT
 *
 * Rules of the persistence protocols that the power cuts' tests can take out, one at a time, to see
 * that a cut notices. Only those tests are built with them.
 */
#ifndef CHIP_PERSISTENCE_MUTANTS_H
#define CHIP_PERSISTENCE_MUTANTS_H

enum persistence_mutant {
    PERSISTENCE_MUTANT_NONE,
    PERSISTENCE_MUTANT_LOG_FENCE,      /* WAL: the commit record does not wait for the log */
    PERSISTENCE_MUTANT_RECORD_FENCE,   /* WAL: the acknowledgement does not wait for the record */
    PERSISTENCE_MUTANT_HOME_FENCE,     /* WAL: home writes do not wait for the record */
    PERSISTENCE_MUTANT_TRUNCATE_EARLY, /* the log is truncated before the home writes are done */
    PERSISTENCE_MUTANT_TRUNCATE_ORDER, /* it forgets later transactions before earlier ones */
    PERSISTENCE_MUTANT_COUNT,          /* recovery does not compare the count */
    PERSISTENCE_MUTANT_PAIRS,          /* dependency pairs are not written */
    PERSISTENCE_MUTANT_PAIR_IGNORED,   /* a pair counts although its Ty is not committed */
    PERSISTENCE_MUTANT_PAIR_PREFIX,    /* Ty is behind the first one that is not committed */
    PERSISTENCE_MUTANT_IN_ORDER,       /* recovery goes on after the first one not committed */
    PERSISTENCE_MUTANT_TX_DIRTY,       /* a block goes home although it is not in the log */
    PERSISTENCE_MUTANT_DURABLE,        /* it goes home although its window is not complete */
    PERSISTENCE_MUTANT_RESCUE,         /* an abort does not write the version that it uncovers */
    PERSISTENCE_MUTANT_VERSIONS,       /* one version a block: an abort loses the one before */
    PERSISTENCE_MUTANT_OVERFLOW,       /* a version without a place is dropped */
    PERSISTENCE_MUTANT_FLIP,           /* Kiln: the state flips before the flush is over */
    PERSISTENCE_MUTANT_BANK_OUT,       /* Kiln: a block leaves its bank before it is home */
    PERSISTENCE_MUTANTS
};

#ifdef CHIP_MUTANTS
#define PERSISTENCE_MUTANT(persistence, which) ((persistence)->mutant == PERSISTENCE_MUTANT_##which)
#else
#define PERSISTENCE_MUTANT(persistence, which) ((void)(persistence), 0)
#endif

#endif
