/* fuzz_change.c - any rows of a feed: INSERT INTO counter_changes.
 *
 * A row is, one after the other: a byte of flags, and for each of key, column_name, cell, source,
 * table_name and key_columns one byte for the size and so many bytes; then generation and seq, 8
 * bytes each. Flags: which of the first four are NULL (1, 2, 4, 8), key_columns is given (16),
 * table_name is neither v nor r (32), it is r, a replicated table, and not v (64). What is missing
 * at the end is 0.
 *
 * A row is taken in or refused, never by SQLITE_CONSTRAINT, which OR IGNORE would swallow. Refused,
 * it changes nothing; twice, it changes nothing more; the tables stay sound. What r has then, its
 * own feed carries into another file.
 */
#include "fuzz_sql.h"

typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

static sqlite3 *db, *other;
static sqlite3_stmt *insert, *digest, *check, *check_replicated, *feed, *take, *arrived;

static const char SETUP[] =
    "CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE, j INTEGER, n COUNTER, m COUNTER,"
    " PRIMARY KEY(k, j)); INSERT INTO v VALUES('a', 1, 1, 2), ('b', 2, 3, NULL);"
    "INSERT INTO v(v) VALUES('add column o'); INSERT INTO v(v) VALUES('drop column m')";

/* It refuses rows, and changes them. */
static const char REPLICATED[] =
    "CREATE TABLE r(k TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, a TEXT NOT NULL, b UNIQUE,"
    " n INTEGER CHECK (n < 1000), m INTEGER);"
    "SELECT counter_replicate('r', 'n', 'm');"
    "CREATE TRIGGER trim AFTER INSERT ON r WHEN length(NEW.a) > 2"
    " BEGIN UPDATE r SET a = substr(NEW.a, 1, 2) WHERE k = NEW.k; END;";

static const char ROWS[] =
    "INSERT INTO r VALUES('a', 'A', 1, 1, 2), ('b', 'B', 2.5, 3, NULL), ('c', 'long', x'00', 4, 5);"
    "UPDATE r SET b = 'x' WHERE k = 'a'; DELETE FROM r WHERE k = 'b'";

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    db = open_memory();
    other = open_memory();
    run_all(db, SETUP);
    run_all(db, REPLICATED);
    run_all(db, ROWS);
    run_all(other, REPLICATED);
    prepare(db,
            "INSERT INTO counter_changes(key, column_name, cell, source, table_name, key_columns,"
            " generation, seq) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            &insert);
    prepare(db, "SELECT counter_table_digest('v') || counter_table_digest('r_counters')", &digest);
    prepare(db, "INSERT INTO v(v) VALUES('integrity-check')", &check);
    prepare(db, "INSERT INTO r_counters(r_counters) VALUES('integrity-check')", &check_replicated);
    prepare(db,
            "SELECT table_name, key, column_name, generation, cell, seq, source"
            " FROM counter_changes(0) WHERE table_name = 'r'",
            &feed);
    prepare(other, "INSERT INTO counter_changes VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)", &take);
    prepare(other, "SELECT counter_table_digest('r_counters')", &arrived);
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
    if (!(flags & 32)) sqlite3_bind_text(insert, 5, flags & 64 ? "r" : "v", -1, SQLITE_STATIC);
    bind_piece(in, 6, !(flags & 16), true);
    sqlite3_bind_int64(insert, 7, take_number(in));
    sqlite3_bind_int64(insert, 8, take_number(in));
}

/* Returns whether it has changed anything. */
static bool try_row(input *in)
{
    char before[DIGEST], once[DIGEST], twice[DIGEST];
    read_digest(digest, before);
    bind_row(in);
    int rc = run(insert);
    read_digest(digest, once);
    fuzz_assert(rc != SQLITE_CONSTRAINT && rc != SQLITE_NOMEM);
    fuzz_assert(rc == SQLITE_OK || strcmp(before, once) == 0);
    fuzz_assert(run(insert) == rc);
    read_digest(digest, twice);
    fuzz_assert(strcmp(once, twice) == 0);
    return strcmp(before, once) != 0;
}

/* The last half is that of r. */
static void carry_on(void)
{
    char here[DIGEST], there[DIGEST];
    read_digest(digest, here);
    run_all(other, "BEGIN");
    while (sqlite3_step(feed) == SQLITE_ROW) {
        for (int i = 0; i < 7; i++) sqlite3_bind_value(take, i + 1, sqlite3_column_value(feed, i));
        fuzz_assert(run(take) == SQLITE_OK);
    }
    fuzz_assert(sqlite3_reset(feed) == SQLITE_OK);
    read_digest(arrived, there);
    fuzz_assert(strcmp(here + strlen(here) / 2, there) == 0);
    run_all(other, "ROLLBACK");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    bool changed = false;
    run_all(db, "BEGIN");
    for (int rows = 0; in.left > 0 && rows < 8 && !sqlite3_get_autocommit(db); rows++)
        changed |= try_row(&in);
    fuzz_assert(run(check) == SQLITE_OK);
    fuzz_assert(run(check_replicated) == SQLITE_OK);
    if (changed) carry_on();
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return 0;
}
