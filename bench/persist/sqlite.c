/*
 * SPDX-License-Identifier: MIT
 *
 * sqlite: a table of keys of 16 B and values of 100 B in a database of SQLite, as in LevelDB's
 * benchmark of it. Each insertion and each deletion is a transaction of SQLite, without a journal,
 * within one of the store.
 */
#include "sqlite_file.h"
#include "workload.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_LENGTH = 16, VALUE_LENGTH = 100, CAPACITY_LEAST = 1 << 20, CAPACITY_OF_A_KEY = 192 };

struct database {
    sqlite3 *connection;
    sqlite3_stmt *delete, *insert;
};

static void fail(sqlite3 *connection, const char *what)
{
    store_fail(what, sqlite3_errmsg(connection));
}

static sqlite3 *connect_to(struct session *session, uint64_t file)
{
    const char *vfs = sqlite_file_next(session, file);
    sqlite3 *connection;

    if (sqlite3_open_v2("database", &connection,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        vfs) != SQLITE_OK)
        fail(connection, "sqlite3_open_v2");
    if (sqlite3_exec(connection, "pragma locking_mode=exclusive; pragma journal_mode=off;", NULL,
                     NULL, NULL) != SQLITE_OK)
        fail(connection, "sqlite3_exec");
    return connection;
}

static sqlite3_stmt *prepare(sqlite3 *connection, const char *text)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(connection, text, -1, &statement, NULL) != SQLITE_OK)
        fail(connection, text);
    return statement;
}

static uint64_t create(struct session *session, uint64_t keys)
{
    struct database *database = malloc(sizeof *database);
    uint64_t file;

    if (database == NULL)
        store_fail("malloc", "no memory");
    store_begin(session);
    file = sqlite_file_create(session, CAPACITY_LEAST + CAPACITY_OF_A_KEY * keys);
    database->connection = connect_to(session, file);
    if (sqlite3_exec(database->connection,
                     "create table test (key blob, value blob, primary key (key))", NULL, NULL,
                     NULL) != SQLITE_OK)
        fail(database->connection, "create table");
    store_commit(session, true);
    database->delete = prepare(database->connection, "delete from test where key = ?1");
    database->insert = prepare(database->connection, "insert into test values (?1, ?2)");
    session->state = database;
    return file;
}

static void finish(struct session *session)
{
    struct database *database = session->state;

    sqlite3_finalize(database->delete);
    sqlite3_finalize(database->insert);
    sqlite3_close(database->connection);
    free(database);
}

static void step(struct database *database, sqlite3_stmt *statement)
{
    if (sqlite3_step(statement) != SQLITE_DONE)
        fail(database->connection, sqlite3_sql(statement));
    sqlite3_reset(statement);
}

static void bind(sqlite3_stmt *statement, int index, const void *bytes, int length)
{
    sqlite3_bind_blob(statement, index, bytes, length, SQLITE_STATIC);
}

static void make_value(uint64_t key, uint8_t value[VALUE_LENGTH])
{
    uint64_t state = workload_value(key);

    for (int i = 0; i < VALUE_LENGTH; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's */
        value[i] = (uint8_t)(state >> 56);
    }
}

static void operate(struct session *session, uint64_t key, uint64_t random)
{
    struct database *database = session->state;
    uint8_t value[VALUE_LENGTH];
    char name[KEY_LENGTH + 1];

    (void)random;
    snprintf(name, sizeof name, "%016llu", (unsigned long long)key);
    bind(database->delete, 1, name, KEY_LENGTH);
    step(database, database->delete);
    if (sqlite3_changes(database->connection) != 0)
        return;
    make_value(key, value);
    bind(database->insert, 1, name, KEY_LENGTH);
    bind(database->insert, 2, value, VALUE_LENGTH);
    step(database, database->insert);
}

static const char *check_rows(sqlite3 *connection, const uint8_t *present, uint64_t keys)
{
    sqlite3_stmt *rows = prepare(connection, "select key, value from test");
    uint64_t wanted = 0, found = 0;
    const char *complaint = NULL;
    int result;

    for (uint64_t key = 0; key < keys; key++)
        wanted += present[key] & 1;
    while ((result = sqlite3_step(rows)) == SQLITE_ROW && complaint == NULL) {
        char name[KEY_LENGTH + 1] = "";
        uint8_t value[VALUE_LENGTH];
        uint64_t key;

        if (sqlite3_column_bytes(rows, 0) == KEY_LENGTH)
            memcpy(name, sqlite3_column_blob(rows, 0), KEY_LENGTH);
        key = strtoull(name, NULL, 10);
        if (key >= keys || !(present[key] & 1)) {
            complaint = "a row should not be there";
            break;
        }
        make_value(key, value);
        if (sqlite3_column_bytes(rows, 1) != VALUE_LENGTH ||
            memcmp(sqlite3_column_blob(rows, 1), value, VALUE_LENGTH) != 0)
            complaint = "a value is another one";
        found++;
    }
    if (complaint == NULL && result != SQLITE_DONE)
        complaint = "the rows cannot be read";
    sqlite3_finalize(rows);
    return complaint == NULL && found != wanted ? "rows are missing" : complaint;
}

/* By a connection of its own: it reads what the store has. */
static const char *check(const struct session *session, const uint8_t *present, uint64_t keys)
{
    struct session reading = *session;
    sqlite3 *connection = connect_to(&reading, session->root);
    sqlite3_stmt *whole = prepare(connection, "pragma integrity_check");
    const char *complaint = NULL;

    if (sqlite3_step(whole) != SQLITE_ROW ||
        strcmp((const char *)sqlite3_column_text(whole, 0), "ok") != 0)
        complaint = "SQLite finds the database damaged";
    sqlite3_finalize(whole);
    if (complaint == NULL)
        complaint = check_rows(connection, present, keys);
    sqlite3_close(connection);
    return complaint;
}

const struct workload workload_sqlite = {"sqlite", create, operate, check, false, finish};
