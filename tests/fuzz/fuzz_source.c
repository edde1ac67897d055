/* fuzz_source.c - any file as the source of a pull.
 *
 *     'D' bytes     a database file as it is: damaged pages
 *     'S' text      SQL that is run, without the extension, in a file with a counter table, v, and
 *                   a replicated one, r: stored tables of other columns and types, views,
 *                   triggers, what a hostile writer thinks of
 *
 * The pull goes well or is refused. Refused, it has changed nothing; done, the target is sound and
 * the next pull of the same file changes nothing.
 */
#include <fcntl.h>
#include <unistd.h>
#include <sqlite3.h>

#include "counter.h"
#include "fuzz.h"

enum { STEPS = 2000, VALUE_MAX = 100000, SQL_MAX = 4000, STATE = 1000 };

static char folder[] = "/tmp/counter-fuzz-XXXXXX", source[64], base[64];
static int steps;

static const char SETUP[] = "CREATE VIRTUAL TABLE v USING counter(k TEXT, j INTEGER, n COUNTER, m "
                            "COUNTER, PRIMARY KEY(k, j));"
                            "INSERT INTO v VALUES('a', 1, 1, 2), ('b', 2, 3, NULL), ('c', 3, 4, 5);"
                            "DELETE FROM v WHERE k = 'c';"
                            "CREATE TABLE r(k TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL, b UNIQUE,"
                            " n INTEGER CHECK (n < 1000));"
                            "SELECT counter_replicate('r', 'n');"
                            "INSERT INTO r VALUES('d', 'D', 4, 5);";

/* The target has row d, too, with another value of b, and the twin of row e. */
static const char HERE[] =
    "UPDATE r SET b = 'x' WHERE k = 'd'; INSERT INTO r VALUES('f', 'F', 7, 1)";
static const char THERE[] =
    "INSERT INTO r VALUES('e', 'E', 7, 1), ('g', 'G', 8, 1), ('h', 'H', 9, 1);"
    "UPDATE r SET a = 'GG' WHERE k = 'g'; DELETE FROM r WHERE k = 'h'";

static sqlite3 *open_with(const char *path)
{
    sqlite3 *db;
    fuzz_assert(sqlite3_open(path, &db) == SQLITE_OK);
    fuzz_assert(sqlite3_counter_init(db, NULL, NULL) == SQLITE_OK);
    return db;
}

static void remove_files(void)
{
    static const char *const BESIDE[] = {"", "-journal", "-wal", "-shm"};
    char path[80];
    for (size_t i = 0; i < sizeof BESIDE / sizeof *BESIDE; i++) {
        snprintf(path, sizeof path, "%s%s", source, BESIDE[i]);
        unlink(path);
    }
}

static void leave(void)
{
    remove_files();
    unlink(base);
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_assert(mkdtemp(folder));
    snprintf(source, sizeof source, "%s/source.db", folder);
    snprintf(base, sizeof base, "%s/base.db", folder);
    sqlite3 *db = open_with(base);
    sqlite3_exec(db, "PRAGMA page_size = 1024; PRAGMA synchronous = OFF", NULL, NULL, NULL);
    fuzz_assert(sqlite3_exec(db, SETUP, NULL, NULL, NULL) == SQLITE_OK);
    fuzz_assert(sqlite3_exec(db, THERE, NULL, NULL, NULL) == SQLITE_OK);
    fuzz_assert(sqlite3_close(db) == SQLITE_OK);
    atexit(leave);
    return 0;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    fuzz_assert(file >= 0 && write(file, bytes, size) == (ssize_t)size && close(file) == 0);
}

static void copy_base(void)
{
    static uint8_t bytes[1 << 17];
    int file = open(base, O_RDONLY);
    ssize_t size = read(file, bytes, sizeof bytes);
    fuzz_assert(file >= 0 && size > 0 && (size_t)size < sizeof bytes && close(file) == 0);
    write_file(source, bytes, (size_t)size);
}

static int is_over(void *unused)
{
    (void)unused;
    return ++steps > STEPS;
}

/* What is outside of the file is out of reach. */
static int authorize(void *unused, int action, const char *what, const char *b, const char *c,
                     const char *d)
{
    (void)unused, (void)b, (void)c, (void)d;
    if (action == SQLITE_ATTACH || action == SQLITE_DETACH) return SQLITE_DENY;
    if (action == SQLITE_PRAGMA && what && sqlite3_stricmp(what, "writable_schema") != 0)
        return SQLITE_DENY;
    return SQLITE_OK;
}

static void change_by_sql(const uint8_t *data, size_t size)
{
    char *sql = fuzz_room(size + 1, 1);
    sqlite3 *db;
    if (size) memcpy(sql, data, size);
    copy_base();
    fuzz_assert(sqlite3_open(source, &db) == SQLITE_OK);
    sqlite3_exec(db, "PRAGMA synchronous = OFF; PRAGMA max_page_count = 400", NULL, NULL, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
    sqlite3_set_authorizer(db, authorize, NULL);
    sqlite3_progress_handler(db, 1000, is_over, NULL);
    steps = 0;
    for (const char *rest = sql; rest && *rest;) {
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(db, rest, -1, &statement, &rest) != SQLITE_OK) break;
        while (sqlite3_step(statement) == SQLITE_ROW) continue;
        sqlite3_finalize(statement);
    }
    sqlite3_close(db);
    free(sql);
}

/* Pulls; returns how many rows have changed, or -1. */
static int64_t pull(sqlite3 *db)
{
    sqlite3_stmt *row;
    int64_t changed = 0;
    char *sql = sqlite3_mprintf("SELECT rows_changed FROM counter_pull(%Q)", source);
    fuzz_assert(sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK);
    sqlite3_free(sql);
    steps = 0;
    while (sqlite3_step(row) == SQLITE_ROW) changed += sqlite3_column_int64(row, 0);
    return sqlite3_finalize(row) == SQLITE_OK ? changed : -1;
}

/* The digests, and what r shows. */
static void read_state(sqlite3 *db, char out[STATE])
{
    sqlite3_stmt *row;
    fuzz_assert(sqlite3_prepare_v2(db,
                                   "SELECT counter_table_digest('v')"
                                   " || counter_table_digest('r_counters')"
                                   " || (SELECT total(length(quote(k) || quote(a) || quote(b)"
                                   " || quote(n))) || group_concat(substr(quote(k) || quote(a)"
                                   " || quote(b) || quote(n), 1, 40)) FROM r)",
                                   -1, &row, NULL) == SQLITE_OK);
    fuzz_assert(sqlite3_step(row) == SQLITE_ROW);
    snprintf(out, STATE, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
}

static bool is_sound(sqlite3 *db, const char *table)
{
    char *sql = sqlite3_mprintf("INSERT INTO %s(%s) VALUES('integrity-check')", table, table);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc == SQLITE_OK;
}

static void check_pull(void)
{
    char before[STATE], after[STATE];
    sqlite3 *db = open_with(":memory:");
    fuzz_assert(sqlite3_exec(db, SETUP, NULL, NULL, NULL) == SQLITE_OK);
    fuzz_assert(sqlite3_exec(db, HERE, NULL, NULL, NULL) == SQLITE_OK);
    read_state(db, before);
    sqlite3_progress_handler(db, 1000, is_over, NULL);
    int64_t changed = pull(db), again = changed >= 0 ? pull(db) : 0;
    sqlite3_progress_handler(db, 0, NULL, NULL);
    read_state(db, after);
    fuzz_assert(changed >= 0 || strcmp(before, after) == 0);
    fuzz_assert(again <= 0);
    fuzz_assert(sqlite3_get_autocommit(db));
    fuzz_assert(is_sound(db, "v") && is_sound(db, "r_counters"));
    fuzz_assert(sqlite3_close(db) == SQLITE_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || (*data != 'D' && *data != 'S')) return 0;
    remove_files();
    if (*data == 'D')
        write_file(source, data + 1, size - 1);
    else if (size <= SQL_MAX)
        change_by_sql(data + 1, size - 1);
    check_pull();
    return 0;
}
