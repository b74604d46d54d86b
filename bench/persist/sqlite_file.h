/*
 * SPDX-License-Identifier: MIT
 *
 * A file of SQLite's in a block of the store: a VFS, SQLite's word for what it reads and writes
 * files by. What it writes is written in the store's running transaction, and of that only the
 * lines of 64 B that differ. SQLite keeps pages in ordinary memory besides, as on any file.
 */
#ifndef BENCH_PERSIST_SQLITE_FILE_H
#define BENCH_PERSIST_SQLITE_FILE_H

#include "store.h"

/* An empty file that can grow to capacity bytes: its block, in the running transaction. */
uint64_t sqlite_file_create(struct session *session, uint64_t capacity);

/*
 * Makes the file the calling thread's next sqlite3_open_v2 opens, by the VFS of this name: whatever
 * the file is called there. The session is used until the database is closed.
 */
const char *sqlite_file_next(struct session *session, uint64_t file);

#endif
