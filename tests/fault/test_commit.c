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

#include "../fixture.h"
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
    int64_t there = fixture_number(db, "SELECT count(*) FROM plain");
    if (rc == SQLITE_OK || there > 0) assert_int_equal(there, 60);
    assert_int_equal(fixture_number(db, "SELECT ifnull(sum(n), 0) FROM v"), there / 60);
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

static int begin(void **state)
{
    faults_install_disk();
    disk_faults.install();
    return fixture_enter_folder(state);
}

static int leave_folder(void **state)
{
    unlink("commit.db");
    return fixture_leave_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_that_says_ok_has_committed),
        cmocka_unit_test(a_release_that_says_ok_has_committed),
    };
    return cmocka_run_group_tests(tests, begin, leave_folder);
}
