/* tests/fault/test_interrupt.c - a pull, push or sync that is interrupted at any moment is done
 * whole or not at all (whole, if the interrupt comes while the rows of the result are read), and no
 * interrupt is taken for something else.
 *
 * SQLite calls the progress handler every few instructions; the n-th call interrupts, by
 * sqlite3_interrupt() or by its result, for n = 1, 2, ... until the call passes untouched. What was
 * taken back goes on with the same connection and is interrupted one moment later; every tenth time,
 * and whenever it was done, the call is made once more and passes, and all begins anew.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "counter.h"

#include "../fixture.h"

enum { EVERY = 20, ANEW = 10 };

typedef struct alarm_clock {
    sqlite3 *db;
    int calls, at;
    bool flag; /* sqlite3_interrupt instead of the handler's result */
} alarm_clock;

static int ring(void *data)
{
    alarm_clock *clock = data;
    if (++clock->calls != clock->at) return 0;
    if (clock->flag) sqlite3_interrupt(clock->db);
    return !clock->flag;
}

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static sqlite3 *open_pair(void)
{
    sqlite3 *db;
    char *message = NULL;
    unlink("interrupt-main.db");
    unlink("interrupt-peer.db");
    assert_int_equal(sqlite3_open("interrupt-main.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_counter_init(db, &message, NULL), SQLITE_OK);
    assert_int_equal(
        run(db, "PRAGMA synchronous = OFF; ATTACH 'interrupt-peer.db' AS peer;"
                "PRAGMA peer.synchronous = OFF; BEGIN;"
                "CREATE VIRTUAL TABLE main.v USING counter(k INTEGER PRIMARY KEY, n COUNTER);"
                "CREATE VIRTUAL TABLE main.mine USING counter(k INTEGER PRIMARY KEY, n COUNTER);"
                "CREATE VIRTUAL TABLE peer.v USING counter(k INTEGER PRIMARY KEY, n COUNTER);"
                "CREATE VIRTUAL TABLE peer.theirs USING counter(k INTEGER PRIMARY KEY, n COUNTER);"
                "CREATE TABLE other(x); INSERT INTO other VALUES(0);"
                "INSERT INTO main.v VALUES(1, 1), (2, 2); INSERT INTO main.mine VALUES(1, 1);"
                "INSERT INTO peer.v VALUES(2, 20), (3, 30); INSERT INTO peer.theirs VALUES(1, 1);"
                "COMMIT"),
        SQLITE_OK);
    return db;
}

/* Everything that a sync could change, by numbers that are the same in each pair of files: which
 * tables there are, their rows, how long their cells are. Of the journal much may go at any fold, and
 * what a second sync knows of the first one stands in counter_peers. */
static int64_t fingerprint(sqlite3 *db)
{
    static const char TABLES[] =
        "WITH t(s, name) AS (SELECT 'main', name FROM main.sqlite_master WHERE type = 'table'"
        " UNION ALL SELECT 'peer', name FROM peer.sqlite_master WHERE type = 'table')"
        " SELECT printf('SELECT count(*) %s FROM %s.%s', iif(name GLOB '*_cells',"
        " ' + 1000 * ifnull(sum(length(n)), 0)', ''), s, name)"
        " FROM t WHERE name NOT IN ('counter_journal', 'counter_segments', 'counter_peers') ORDER BY s, name";
    sqlite3_stmt *row;
    uint64_t print = 0;
    assert_int_equal(sqlite3_prepare_v2(db, TABLES, -1, &row, NULL), SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        const char *sql = (const char *)sqlite3_column_text(row, 0);
        print = print * 1000003 + (uint64_t)fixture_number(db, sql) + 1;
    }
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
    return (int64_t)print;
}

static int64_t fingerprint_after(const char *call)
{
    sqlite3 *db = open_pair();
    assert_int_equal(run(db, call), SQLITE_OK);
    int64_t after = fingerprint(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return after;
}

/* Interrupts the call. The caller's transaction goes on, or SQLite has rolled it back, as it does
 * with an interrupted write. */
static int run_interrupted(alarm_clock *clock, const char *call, bool transaction)
{
    sqlite3 *db = clock->db;
    if (transaction) assert_int_equal(run(db, "BEGIN; UPDATE other SET x = 1"), SQLITE_OK);
    sqlite3_progress_handler(db, EVERY, ring, clock);
    int rc = run(db, call);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    if (rc != SQLITE_OK) assert_int_equal(rc, SQLITE_INTERRUPT);
    if (transaction && !sqlite3_get_autocommit(db)) assert_int_equal(run(db, "COMMIT"), SQLITE_OK);
    assert_true(sqlite3_get_autocommit(db));
    return rc;
}

static void run_once_more(sqlite3 *db, const char *call, int64_t after)
{
    assert_int_equal(run(db, call), SQLITE_OK);
    assert_int_equal(fingerprint(db), after);
    assert_int_equal(run(db, "INSERT INTO v(v) VALUES('integrity-check')"), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Returns the number of runs that were taken back. */
static int interrupt_at_every_moment(const char *call, bool transaction, bool flag)
{
    int64_t after = fingerprint_after(call);
    sqlite3 *db = NULL;
    int taken_back = 0;
    for (int at = 1;; at++) {
        if (!db) db = open_pair();
        alarm_clock clock = {db, 0, at, flag};
        int64_t before = fingerprint(db);
        int rc = run_interrupted(&clock, call, transaction);
        bool done = fingerprint(db) == after;
        if (!done) assert_int_equal(fingerprint(db), before);
        if (rc == SQLITE_OK) assert_true(done);
        taken_back += !done;
        assert_int_equal(run(db, "INSERT INTO v(v) VALUES('integrity-check')"), SQLITE_OK);
        if (done || at % ANEW == 0) {
            run_once_more(db, call, after);
            db = NULL;
        }
        if (rc == SQLITE_OK && clock.calls < at) return taken_back;
    }
}

static void check(const char *call)
{
    for (int i = 0; i < 4; i++) assert_true(interrupt_at_every_moment(call, i & 1, i & 2) > 5);
}

static void an_interrupted_pull_is_done_whole_or_not_at_all(void **state)
{
    (void)state;
    check("SELECT * FROM counter_pull('peer')");
}

static void an_interrupted_push_is_done_whole_or_not_at_all(void **state)
{
    (void)state;
    check("SELECT * FROM counter_push('peer')");
}

static void an_interrupted_sync_is_done_whole_or_not_at_all(void **state)
{
    (void)state;
    check("SELECT * FROM counter_sync('peer')");
}

/* At the at-th moment, of each instruction; without sql: a second load. */
static int run_or_load(alarm_clock *clock, const char *sql)
{
    sqlite3_progress_handler(clock->db, 1, ring, clock);
    int rc = sql ? run(clock->db, sql) : sqlite3_counter_init(clock->db, NULL, NULL);
    sqlite3_progress_handler(clock->db, 0, NULL, NULL);
    return rc;
}

/* What was interrupted says so. Returns how many moments there were. */
static int says_so_at_every_moment(sqlite3 *db, const char *sql)
{
    for (int at = 1;; at++) {
        alarm_clock clock = {db, 0, at, false};
        int rc = run_or_load(&clock, sql);
        assert_int_equal(rc, clock.calls < at ? SQLITE_OK : SQLITE_INTERRUPT);
        if (rc == SQLITE_OK) return at - 1;
    }
}

static void an_interrupt_is_no_refusal_that_may_be_passed_over(void **state)
{
    (void)state;
    sqlite3 *db = open_pair();
    assert_true(says_so_at_every_moment(db, "INSERT OR IGNORE INTO v VALUES(1, 5)") > 20);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The row that changes is in the delta if the commit has been, and the increment is. */
static void a_commit_that_is_interrupted_loses_no_change(void **state)
{
    (void)state;
    sqlite3 *db = open_pair();
    static const char CHANGED[] = "SELECT count(*) FROM counter_changes((SELECT next FROM mark))"
                                  " WHERE table_name = 'v'";
    static const char SUM[] = "SELECT total(n) FROM v";
    alarm_clock clock = {db, 0, 0, false};
    assert_int_equal(run(db, "INSERT INTO v VALUES(3, 1); CREATE TEMP TABLE mark(next);"
                             "UPDATE counter_replica SET renewal = 0"), /* each commit has one */
                     SQLITE_OK);
    do {
        clock = (alarm_clock){db, 0, clock.at + 1, false};
        int64_t sum = fixture_number(db, SUM);
        assert_int_equal(run(db, "DELETE FROM mark;"
                                 "INSERT INTO mark SELECT max(_seq) + 1 FROM counter_journal;"
                                 "BEGIN; INSERT INTO v VALUES(3, 1); SAVEPOINT s;"
                                 "INSERT INTO v VALUES(4, 1); ROLLBACK TO s"),
                         SQLITE_OK);
        int rc = run_or_load(&clock, "COMMIT");
        if (rc != SQLITE_OK) assert_int_equal(rc, SQLITE_INTERRUPT);
        if (!sqlite3_get_autocommit(db)) assert_int_equal(run(db, "ROLLBACK"), SQLITE_OK);
        bool done = fixture_number(db, SUM) == sum + 1;
        if (rc == SQLITE_OK) assert_true(done);
        if (!done) assert_int_equal(fixture_number(db, SUM), sum);
        assert_int_equal(fixture_number(db, CHANGED), done);
        assert_int_equal(run(db, "INSERT INTO v(v) VALUES('integrity-check')"), SQLITE_OK);
    } while (clock.calls >= clock.at);
    assert_true(clock.at > 20);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_second_load_that_is_interrupted_registers_nothing(void **state)
{
    (void)state;
    sqlite3 *db = open_pair();
    sqlite3_stmt *kept; /* a function that is registered anew makes SQLite prepare it again */
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT counter_value(NULL)", -1, &kept, NULL),
                     SQLITE_OK);
    assert_true(says_so_at_every_moment(db, NULL) > 3);
    assert_int_equal(sqlite3_step(kept), SQLITE_ROW);
    assert_int_equal(sqlite3_stmt_status(kept, SQLITE_STMTSTATUS_REPREPARE, 0), 0);
    assert_int_equal(sqlite3_finalize(kept), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int leave_folder(void **state)
{
    unlink("interrupt-main.db");
    unlink("interrupt-peer.db");
    return fixture_leave_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupted_pull_is_done_whole_or_not_at_all),
        cmocka_unit_test(an_interrupted_push_is_done_whole_or_not_at_all),
        cmocka_unit_test(an_interrupted_sync_is_done_whole_or_not_at_all),
        cmocka_unit_test(an_interrupt_is_no_refusal_that_may_be_passed_over),
        cmocka_unit_test(a_commit_that_is_interrupted_loses_no_change),
        cmocka_unit_test(a_second_load_that_is_interrupted_registers_nothing),
    };
    return cmocka_run_group_tests(tests, fixture_enter_folder, leave_folder);
}
