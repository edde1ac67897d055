/* tests/fault/test_commit.c - a COMMIT that says OK has committed, whatever it could not read.
 *
 * At the end of a transaction the extension reads its identity, which more changed pages than the
 * cache holds have driven out. SQLite rolls back everything when a statement cannot read the disk,
 * also one inside of a COMMIT. The n-th call of the disk fails, n = 1, 2, ... until none does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "counter.h"

#include "faults.h"

static const char FILL[] =
    "INSERT INTO v VALUES('x', 1);"
    "WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i WHERE i < 60)"
    " INSERT INTO plain SELECT zeroblob(400) FROM i;"
    "SELECT sum(length(x)) FROM plain";

static sqlite3 *open_file(void)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open("commit.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_counter_init(db, NULL, NULL), SQLITE_OK);
    return db;
}

static sqlite3 *open_fresh(const char *journal)
{
    unlink("commit.db");
    sqlite3 *db = open_file();
    char *sql =
        sqlite3_mprintf("PRAGMA page_size = 512; PRAGMA journal_mode = %s; PRAGMA cache_size = 1;"
                        "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER); "
                        "CREATE TABLE plain(x);"
                        "UPDATE counter_replica SET renewal = 0",
                        journal);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
    return db;
}

static int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return n;
}

/* Returns whether a fault was met. */
static bool end_with_fault(const char *journal, const char *begin, const char *end, long n)
{
    sqlite3 *db = open_fresh(journal);
    assert_int_equal(sqlite3_exec(db, begin, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, FILL, NULL, NULL, NULL), SQLITE_OK);
    disk_faults.arm(n, false, false);
    int rc = sqlite3_exec(db, end, NULL, NULL, NULL);
    bool met = disk_faults.disarm() > 0;
    if (!sqlite3_get_autocommit(db)) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);

    db = open_file();
    int64_t there = number(db, "SELECT count(*) FROM plain");
    if (rc == SQLITE_OK) assert_int_equal(there, 60);
    assert_int_equal(number(db, "SELECT ifnull(sum(n), 0) FROM v"), there / 60);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return met;
}

static void check(const char *begin, const char *end)
{
    static const char *const JOURNALS[] = {"DELETE", "WAL"};
    for (int i = 0; i < 2; i++) {
        long n = 1;
        while (end_with_fault(JOURNALS[i], begin, end, n)) n++;
        assert_true(n > 5);
    }
}

static void a_commit_that_says_ok_has_committed(void **state)
{
    (void)state;
    check("BEGIN", "COMMIT");
}

static void a_release_that_says_ok_has_committed(void **state)
{
    (void)state;
    check("SAVEPOINT s", "RELEASE s");
}

static int enter_folder(void **state)
{
    static char name[] = "/tmp/counter-commit-XXXXXX";
    faults_install_disk();
    disk_faults.install();
    *state = mkdtemp(name);
    return *state ? chdir(name) : -1;
}

static int leave_folder(void **state)
{
    unlink("commit.db");
    return chdir("/") || rmdir(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_that_says_ok_has_committed),
        cmocka_unit_test(a_release_that_says_ok_has_committed),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
