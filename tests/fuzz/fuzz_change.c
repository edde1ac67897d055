/* fuzz_change.c - any rows of a feed: INSERT INTO counter_changes.
 *
 * A row is, one after the other: a byte of flags, and for each of key, column_name, cell, source,
 * table_name and key_columns one byte for the size and so many bytes; then generation and seq, 8
 * bytes each. Flags: which of the first four are NULL (1, 2, 4, 8), key_columns is given (16),
 * table_name is not v (32). What is missing at the end is 0.
 *
 * A row is taken in or refused, never by SQLITE_CONSTRAINT, which OR IGNORE would swallow. Refused,
 * it changes nothing; twice, it changes nothing more; the table stays sound.
 */
#include <sqlite3.h>

#include "counter.h"
#include "fuzz.h"

typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

static sqlite3 *db;
static sqlite3_stmt *insert, *digest, *check;

static const char SETUP[] =
    "CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE, j INTEGER, n COUNTER, m COUNTER,"
    " PRIMARY KEY(k, j)); INSERT INTO v VALUES('a', 1, 1, 2), ('b', 2, 3, NULL);"
    "INSERT INTO v(v) VALUES('add column o'); INSERT INTO v(v) VALUES('drop column m')";

static void prepare(const char *sql, sqlite3_stmt **statement)
{
    fuzz_assert(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) ==
                SQLITE_OK);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_assert(sqlite3_open(":memory:", &db) == SQLITE_OK);
    fuzz_assert(sqlite3_counter_init(db, NULL, NULL) == SQLITE_OK);
    fuzz_assert(sqlite3_exec(db, SETUP, NULL, NULL, NULL) == SQLITE_OK);
    prepare("INSERT INTO counter_changes(key, column_name, cell, source, table_name, key_columns,"
            " generation, seq) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            &insert);
    prepare("SELECT counter_table_digest('v')", &digest);
    prepare("INSERT INTO v(v) VALUES('integrity-check')", &check);
    return 0;
}

static uint8_t take_byte(input *in)
{
    if (in->left == 0) return 0;
    in->left--;
    return *in->at++;
}

static int64_t take_number(input *in)
{
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) n = n << 8 | take_byte(in);
    return (int64_t)n;
}

/* Binds the next piece of bytes, or NULL. */
static void bind_piece(input *in, int parameter, bool is_null, bool is_text)
{
    size_t size = take_byte(in);
    if (size > in->left) size = in->left;
    if (is_null)
        sqlite3_bind_null(insert, parameter);
    else if (is_text)
        sqlite3_bind_text(insert, parameter, (const char *)in->at, (int)size, SQLITE_STATIC);
    else
        sqlite3_bind_blob(insert, parameter, size ? in->at : (const uint8_t *)"", (int)size,
                          SQLITE_STATIC);
    in->at += size;
    in->left -= size;
}

static void bind_row(input *in)
{
    int flags = take_byte(in);
    bind_piece(in, 1, flags & 1, false);
    bind_piece(in, 2, flags & 2, true);
    bind_piece(in, 3, flags & 4, false);
    bind_piece(in, 4, flags & 8, true);
    bind_piece(in, 5, false, true);
    if (!(flags & 32)) sqlite3_bind_text(insert, 5, "v", -1, SQLITE_STATIC);
    bind_piece(in, 6, !(flags & 16), true);
    sqlite3_bind_int64(insert, 7, take_number(in));
    sqlite3_bind_int64(insert, 8, take_number(in));
}

static int run(sqlite3_stmt *statement)
{
    sqlite3_step(statement);
    return sqlite3_reset(statement);
}

static void read_digest(char out[40])
{
    *out = 0;
    if (sqlite3_step(digest) == SQLITE_ROW)
        snprintf(out, 40, "%s", (const char *)sqlite3_column_text(digest, 0));
    fuzz_assert(sqlite3_reset(digest) == SQLITE_OK);
}

static void try_row(input *in)
{
    char before[40], once[40], twice[40];
    read_digest(before);
    bind_row(in);
    int rc = run(insert);
    read_digest(once);
    fuzz_assert(rc != SQLITE_CONSTRAINT && rc != SQLITE_NOMEM);
    fuzz_assert(rc == SQLITE_OK || strcmp(before, once) == 0);
    fuzz_assert(run(insert) == rc);
    read_digest(twice);
    fuzz_assert(strcmp(once, twice) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    fuzz_assert(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK);
    for (int rows = 0; in.left > 0 && rows < 8 && !sqlite3_get_autocommit(db); rows++) try_row(&in);
    fuzz_assert(run(check) == SQLITE_OK);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return 0;
}
