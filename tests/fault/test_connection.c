/* tests/fault/test_connection.c - what one connection does to itself: its own locks, a second
 * initialisation, a statement that is still open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "counter.h"

#include "../fixture.h"

static void run(sqlite3 *db, const char *sql, int expected)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (rc != expected) print_error("%s: %s\n", sql, sqlite3_errmsg(db));
    assert_int_equal(rc, expected);
}

static sqlite3 *open_fresh(void)
{
    sqlite3 *db;
    unlink("main.db");
    unlink("peer.db");
    assert_int_equal(sqlite3_open("main.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_counter_init(db, NULL, NULL), SQLITE_OK);
    return db;
}

static int count_waits(void *waits, int attempt)
{
    (void)attempt;
    ++*(int *)waits;
    return 0;
}

static const char FILL[] =
    "ATTACH 'peer.db' AS peer;"
    "CREATE VIRTUAL TABLE main.v USING counter(k TEXT PRIMARY KEY, n COUNTER);"
    "WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i WHERE i < 30000)"
    " INSERT INTO main.v SELECT 'a key that fills pages ' || i, 1 FROM i;"
    "CREATE VIRTUAL TABLE peer.v USING counter(k TEXT PRIMARY KEY, n COUNTER);"
    "WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i WHERE i < 30000)"
    " INSERT INTO peer.v SELECT 'a key that fills pages ' || i, 1 FROM i;";

/* More changed pages than the cache holds: SQLite writes some early, which it cannot while somebody
 * reads. */
static void nothing_waits_for_a_snapshot_of_its_own(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "SELECT * FROM counter_pull('peer')", "SELECT * FROM counter_push('peer')",
        "SELECT * FROM counter_sync('peer')",
        "BEGIN IMMEDIATE; SELECT * FROM counter_sync('peer'); COMMIT"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int waits = 0;
        sqlite3 *db = open_fresh();
        run(db, "PRAGMA synchronous = OFF", SQLITE_OK);
        run(db, FILL, SQLITE_OK);
        run(db, "PRAGMA main.cache_size = 50; PRAGMA peer.cache_size = 50", SQLITE_OK);
        sqlite3_busy_handler(db, count_waits, &waits);
        run(db, calls[i], SQLITE_OK);
        assert_int_equal(waits, 0);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
}

static void a_sync_leaves_the_setting_of_cache_spill_as_it_was(void **state)
{
    (void)state;
    sqlite3 *db = open_fresh();
    run(db, FILL, SQLITE_OK);
    int64_t before = fixture_number(db, "PRAGMA main.cache_spill");
    run(db, "SELECT * FROM counter_sync('peer')", SQLITE_OK);
    assert_int_equal(fixture_number(db, "PRAGMA main.cache_spill"), before);
    run(db, "PRAGMA cache_spill = OFF; SELECT * FROM counter_sync('peer')", SQLITE_OK);
    assert_int_equal(fixture_number(db, "PRAGMA main.cache_spill"), 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_second_initialisation_leaves_a_prepared_pull_whole(void **state)
{
    (void)state;
    sqlite3_stmt *pull, *other;
    sqlite3 *db = open_fresh();
    run(db, FILL, SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM counter_pull('peer')", -1, &pull, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM main.v", -1, &other, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(other), SQLITE_ROW);
    sqlite3_counter_init(db, NULL, NULL);
    assert_int_equal(sqlite3_step(pull), SQLITE_ROW);
    sqlite3_finalize(pull);
    sqlite3_finalize(other);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* SQLite takes any error that an automatic extension leaves behind for its own. */
static void connections_open_with_the_library_as_automatic_extension(void **state)
{
    (void)state;
    sqlite3 *db;
    sqlite3_auto_extension((void (*)(void))sqlite3_counter_init);
    int rc = sqlite3_open("automatic.db", &db);
    sqlite3_reset_auto_extension();
    assert_int_equal(rc, SQLITE_OK);
    run(db, "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)", SQLITE_OK);
    run(db, "INSERT INTO v VALUES ('x', 1)", SQLITE_OK);
    sqlite3_counter_init(db, NULL, NULL);
    run(db, "INSERT INTO v VALUES ('x', 1)", SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink("automatic.db");
}

static void a_drop_that_is_locked_leaves_a_table_that_works(void **state)
{
    (void)state;
    sqlite3_stmt *reader;
    sqlite3 *db = open_fresh();
    run(db, "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)", SQLITE_OK);
    run(db, "INSERT INTO v VALUES('x', 1)", SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM v_cells", -1, &reader, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(reader), SQLITE_ROW);
    run(db, "DROP TABLE v", SQLITE_LOCKED);
    sqlite3_finalize(reader);
    run(db, "INSERT INTO v VALUES('x', 1)", SQLITE_OK);
    assert_int_equal(fixture_number(db, "SELECT n FROM v"), 2);
    run(db, "DROP TABLE v", SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int change_schema(void *other, int action, const char *a, const char *b, const char *c,
                         const char *d)
{
    (void)action;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    run(other, "CREATE TABLE z(a); DROP TABLE z", SQLITE_OK);
    return SQLITE_OK;
}

/* SQLite asks the authorizer while it prepares, and prepares a statement anew only so often. */
static void a_schema_that_never_stands_still_is_told_in_the_words_of_SQLite(void **state)
{
    (void)state;
    sqlite3 *reader, *db = open_fresh();
    sqlite3_stmt *row = NULL;
    run(db, "PRAGMA journal_mode = WAL", SQLITE_OK);
    run(db, "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)", SQLITE_OK);
    assert_int_equal(sqlite3_open("main.db", &reader), SQLITE_OK);
    assert_int_equal(sqlite3_counter_init(reader, NULL, NULL), SQLITE_OK);
    sqlite3_set_authorizer(reader, change_schema, db);
    assert_int_equal(sqlite3_prepare_v2(reader, "SELECT * FROM v", -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_SCHEMA);
    assert_string_equal(sqlite3_errmsg(reader), "database schema has changed");
    sqlite3_finalize(row);
    sqlite3_set_authorizer(reader, NULL, NULL);
    run(reader, "SELECT * FROM v", SQLITE_OK);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Once, when the rows are about to be read. */
static int drop_column(void *other, int action, const char *table, const char *b, const char *c,
                       const char *d)
{
    (void)b;
    (void)c;
    (void)d;
    static bool done;
    if (done || action != SQLITE_READ || strcmp(table, "v_cells") != 0) return SQLITE_OK;
    done = true;
    run(other, "INSERT INTO v VALUES ('y', 1, 1); INSERT INTO v(v) VALUES ('drop column m')",
        SQLITE_OK);
    return SQLITE_OK;
}

static void text_of(sqlite3 *db, const char *sql, char to[64])
{
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    sqlite3_snprintf(64, to, "%s", sqlite3_column_text(row, 0));
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
}

static void a_digest_is_of_one_moment(void **state)
{
    (void)state;
    char before[64], meanwhile[64];
    sqlite3 *reader, *db = open_fresh();
    run(db, "PRAGMA journal_mode = WAL", SQLITE_OK);
    run(db, "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER)",
        SQLITE_OK);
    run(db, "INSERT INTO v VALUES ('x', 1, 1)", SQLITE_OK);
    assert_int_equal(sqlite3_open("main.db", &reader), SQLITE_OK);
    assert_int_equal(sqlite3_counter_init(reader, NULL, NULL), SQLITE_OK);
    text_of(reader, "SELECT counter_table_digest('v')", before);
    sqlite3_set_authorizer(reader, drop_column, db);
    text_of(reader, "SELECT counter_table_digest('v')", meanwhile);
    sqlite3_set_authorizer(reader, NULL, NULL);
    assert_string_equal(before, meanwhile);
    assert_int_equal(fixture_number(reader, "SELECT count(*) FROM v"), 2);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A VFS that sees a journal which is gone when it is to be opened. */
static int (*is_there)(sqlite3_vfs *, const char *, int, int *);
static int phantoms;

static int see_phantoms(sqlite3_vfs *vfs, const char *path, int flags, int *is)
{
    bool journal = strstr(path, "peer.db-journal") != NULL;
    if (!journal || phantoms == 0) return is_there(vfs, path, flags, is);
    phantoms--;
    *is = 1;
    return SQLITE_OK;
}

static void a_journal_that_goes_away_while_a_pull_looks_at_it_is_no_error(void **state)
{
    (void)state;
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    sqlite3 *db = open_fresh();
    run(db, FILL, SQLITE_OK);
    is_there = vfs->xAccess;
    vfs->xAccess = see_phantoms;
    phantoms = 3;
    run(db, "SELECT * FROM counter_pull('peer.db')", SQLITE_OK);
    assert_int_equal(phantoms, 0);
    vfs->xAccess = is_there;
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int leave_folder(void **state)
{
    unlink("main.db");
    unlink("peer.db");
    return fixture_leave_folder(state);
}

/* ---- another connection of a shared cache ----------------------------------------------------- */

/* A table that takes a row and does nothing with it. When a transaction that wrote into it has
 * committed, `other` runs a statement, before SQLite tells the tables that joined later. */
typedef struct between {
    sqlite3_vtab base;
    sqlite3 *other;
} between;

static const char *between_sql; /* NULL: nothing */

static int between_connect(sqlite3 *db, void *other, int argc, const char *const *argv,
                           sqlite3_vtab **made, char **error)
{
    (void)argc;
    (void)argv;
    (void)error;
    between *table = sqlite3_malloc(sizeof *table);
    *table = (between){.other = other};
    *made = &table->base;
    return sqlite3_declare_vtab(db, "CREATE TABLE t(n)");
}

static int between_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

static int between_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    (void)info;
    return SQLITE_OK;
}

static int between_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    (void)base;
    (void)argc;
    (void)argv;
    *rowid = 1;
    return SQLITE_OK;
}

static int between_begin(sqlite3_vtab *base)
{
    (void)base;
    return SQLITE_OK;
}

static int between_commit(sqlite3_vtab *base)
{
    if (between_sql) run(((between *)base)->other, between_sql, SQLITE_OK);
    return SQLITE_OK;
}

static const sqlite3_module BETWEEN = {.xCreate = between_connect,
                                       .xConnect = between_connect,
                                       .xBestIndex = between_plan,
                                       .xDisconnect = between_disconnect,
                                       .xDestroy = between_disconnect,
                                       .xUpdate = between_update,
                                       .xBegin = between_begin,
                                       .xCommit = between_commit};

static void a_commit_of_a_shared_cache_just_behind_ours_is_seen(void **state)
{
    (void)state;
    static const char NAME[] = "file:between?mode=memory&cache=shared";
    sqlite3 *one, *other;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    assert_int_equal(sqlite3_open_v2(NAME, &one, flags, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_open_v2(NAME, &other, flags, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_counter_init(one, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_counter_init(other, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_create_module(one, "follows", &BETWEEN, other), SQLITE_OK);
    run(one, "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)", SQLITE_OK);
    run(one, "INSERT INTO t VALUES ('a', 1)", SQLITE_OK);
    run(one, "CREATE VIRTUAL TABLE temp.first USING follows", SQLITE_OK);
    for (int i = 0; i < 50; i++) {
        between_sql = "INSERT INTO t VALUES ('a', 100)";
        run(one, "BEGIN; INSERT INTO first VALUES (1); INSERT INTO t VALUES ('a', 1); COMMIT",
            SQLITE_OK);
        between_sql = NULL;
        assert_int_equal(fixture_number(one, "SELECT n FROM t"), 102 + 101 * i);
        assert_int_equal(fixture_number(other, "SELECT n FROM t"), 102 + 101 * i);
    }
    assert_int_equal(sqlite3_close(one), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_waits_for_a_snapshot_of_its_own),
        cmocka_unit_test(a_sync_leaves_the_setting_of_cache_spill_as_it_was),
        cmocka_unit_test(a_second_initialisation_leaves_a_prepared_pull_whole),
        cmocka_unit_test(connections_open_with_the_library_as_automatic_extension),
        cmocka_unit_test(a_drop_that_is_locked_leaves_a_table_that_works),
        cmocka_unit_test(a_schema_that_never_stands_still_is_told_in_the_words_of_SQLite),
        cmocka_unit_test(a_commit_of_a_shared_cache_just_behind_ours_is_seen),
        cmocka_unit_test(a_digest_is_of_one_moment),
        cmocka_unit_test(a_journal_that_goes_away_while_a_pull_looks_at_it_is_no_error),
    };
    return cmocka_run_group_tests(tests, fixture_enter_folder, leave_folder);
}
