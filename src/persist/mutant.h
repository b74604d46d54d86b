/*
 * SPDX-License-Identifier: MIT
 *
 * Rules that the tests take out one at a time, to see that the model of the power cut notices.
 * Without PERSIST_MUTANTS, as in the library, none can be taken out, and no code asks.
 */
#ifndef MPLACE_PERSIST_MUTANT_H
#define MPLACE_PERSIST_MUTANT_H

enum persist_mutant {
    MUTANT_NONE,
    MUTANT_NO_COMMIT_FENCE,  /* a commit is acknowledged before its blocks are durable */
    MUTANT_NO_DATA_FLUSH,    /* the data of blocks is not flushed */
    MUTANT_NO_TAG_FLUSH,     /* the tags of blocks are not flushed */
    MUTANT_NO_COUNT,         /* eager: a transaction is committed though blocks are missing */
    MUTANT_NO_CHECKSUM,      /* a tag is believed whatever its block holds */
    MUTANT_NO_ORDER,         /* recovery applies what follows a transaction that is not there */
    MUTANT_NO_RECORD_FENCE,  /* wal: the commit record is written before the blocks are durable */
    MUTANT_NO_LOG_FENCE,     /* eager: places are written to before their log is durable */
    MUTANT_NO_PLACE_FLUSH,   /* a checkpoint does not flush the places */
    MUTANT_NO_PLACE_FENCE,   /* the log's head moves on before the places are durable */
    MUTANT_NO_HEAD_FENCE,    /* the log is overwritten before its head is durable */
    MUTANT_ONE_HEAD,         /* the head is overwritten in place */
    MUTANT_NO_HEAD_CHECKSUM, /* a torn head is believed */
    MUTANT_NO_SEQUENCE,      /* blocks of earlier rounds of the log are believed */
    MUTANT_RECOVERY_KEEPS_HEAD, /* recovery writes no new head: old blocks may complete new ones */
    MUTANT_NO_FORMAT_FENCE,     /* the header is written before the head is durable */
    MUTANT_NO_RECOVERY_FENCE,   /* places are written to from a log that may not be durable */
    MUTANTS
};

#ifdef PERSIST_MUTANTS
extern enum persist_mutant persist_mutant;
#define MUTANT(name) (persist_mutant == MUTANT_##name)
#else
#define MUTANT(name) 0
#endif

#endif
