/* tests/fault/test_locks.c - preparing a statement takes no lock, so the first write of a
 * transaction waits for another writer, as on an ordinary table: SQLite calls the busy handler only
 * while the transaction has not read. A statement whose changes do not fit into the cache waits once
 * for a reader. */
#include <pthread.h>
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

static const char SCHEMA[] =
    "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER);"
    "CREATE VIRTUAL TABLE w USING counter(k TEXT, j INTEGER, n COUNTER, PRIMARY KEY (j, k));"
    "CREATE TABLE o(k TEXT PRIMARY KEY, n);"
    "INSERT INTO v VALUES ('x', 1, 1);"
    "INSERT INTO w VALUES ('x', 1, 1);"
    "INSERT INTO o VALUES ('x', counter_inc(NULL))";

static const char CLUSTER[] =
    "CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main peer')";

static const char *const READS[] = {
    "SELECT * FROM v",
    "SELECT n FROM v WHERE k = 'x'",
    "SELECT * FROM w ORDER BY j DESC, k DESC",
    "SELECT * FROM v JOIN peer.v AS p USING (k) WHERE p.n > 0",
    "SELECT sum(n) FROM c",
    "SELECT counter_value(n), counter_id() FROM o",
    "SELECT * FROM counter_pull('peer')",
    "SELECT * FROM counter_push('peer')",
    "SELECT * FROM counter_sync('peer')",
    "SELECT * FROM counter_pull('peer.db', 'full')",
    "SELECT * FROM counter_changes(0)",
    "SELECT * FROM counter_changes(0, '3/64')",
    "SELECT * FROM counter_digests('v', 8)",
    "SELECT * FROM counter_floors('v')",
    "SELECT * FROM counter_purge('v')",
    "SELECT * FROM counter_size('v')",
    "SELECT * FROM counter_ids('v')",
    "SELECT * FROM counter_stats",
    "SELECT * FROM counter_identity('peer')",
    "SELECT * FROM o, counter_shards(n)",
    "SELECT * FROM counter_cluster_status('c')",
    "SELECT counter_add('v', 'n', 1, 'x')",
    "SELECT counter_table_digest('v'), counter_mark('00000000-0000-0000-0000-00000000000a')",
};

/* What writes main first. */
static const char *const WRITES[] = {
    "INSERT INTO v VALUES ('y', 1, 1)",
    "INSERT INTO v(k, n, request_id) VALUES ('y', 1, 'r')",
    "INSERT OR IGNORE INTO v VALUES ('x', 1, 1), ('y', 1, 1)",
    "INSERT OR REPLACE INTO v VALUES ('x', 5, 5)",
    "INSERT INTO v SELECT k || k, n, m FROM v",
    "INSERT INTO v SELECT k, 1, 1 FROM peer.v",
    "UPDATE v SET n = n + 1 WHERE k = 'x'",
    "UPDATE v SET n = 42",
    "UPDATE w SET n = n + 1 WHERE j > 0",
    "DELETE FROM v WHERE k = 'x'",
    "DELETE FROM v",
    "INSERT INTO v(v, k) VALUES ('reset', 'x')",
    "INSERT INTO v(v, k) VALUES ('purge below', 'b')",
    "INSERT INTO v(v) VALUES ('add column errors')",
    "INSERT INTO v(v) VALUES ('drop column m')",
    "INSERT INTO v(v) VALUES ('integrity-check')",
    "INSERT INTO counter_changes SELECT 'v', counter_key('x'), "
    "counter_change_of('{\"tells\":\"row\","
    "\"columns\":[{\"name\":\"n\",\"kind\":\"counter\",\"generation\":1,\"cell\":' ||"
    " counter_json(counter_inc(NULL, 1, zeroblob(16))) || '}]}'), 1,"
    " '00000000-0000-0000-0000-000000000000'",
    "UPDATE o SET n = counter_inc(n)",
    "UPDATE o SET n = counter_inc(n, 5, counter_id())",
    "INSERT INTO o VALUES ('y', counter_inc(NULL))",
    "INSERT INTO c(k, n) VALUES ('x', 1)",
    "UPDATE c SET n = n + 1 WHERE k = 'x'",
    "DELETE FROM c WHERE k = 'x'",
    "INSERT INTO c(c, k) VALUES ('reset', 'x')",
    "CREATE VIRTUAL TABLE fresh USING counter(k PRIMARY KEY, n COUNTER)",
    "ALTER TABLE v RENAME TO u",
    "DROP TABLE v",
};

enum { N_READS = sizeof READS / sizeof *READS, N_WRITES = sizeof WRITES / sizeof *WRITES };

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    int rc = sqlite3_exec(db, sql, NULL, NULL, &message);
    if (rc != SQLITE_OK) print_error("%s: %s\n", sql, message ? message : "");
    sqlite3_free(message);
    assert_int_equal(rc, SQLITE_OK);
}

static void remove_files(void)
{
    static const char *const ENDINGS[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++) {
        char name[32];
        snprintf(name, sizeof name, "main.db%s", ENDINGS[i]);
        unlink(name);
        snprintf(name, sizeof name, "peer.db%s", ENDINGS[i]);
        unlink(name);
    }
}

static sqlite3 *open_main(void)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open("main.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_counter_init(db, NULL, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 20000);
    return db;
}

static void make_files(const char *mode)
{
    char pragma[64];
    remove_files();
    snprintf(pragma, sizeof pragma, "PRAGMA journal_mode = %s", mode);
    sqlite3 *db = open_main();
    run(db, pragma);
    run(db, SCHEMA);
    run(db, "ATTACH 'peer.db' AS peer");
    snprintf(pragma, sizeof pragma, "PRAGMA peer.journal_mode = %s", mode);
    run(db, pragma);
    run(db, "SELECT * FROM counter_push('peer')");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A connection in which SQLite connects to each table when it is named next. A cluster stands in
 * temp, so it is one that was there and that SQLite has let go of. */
static sqlite3 *open_to_begin(void)
{
    sqlite3 *db = open_main();
    run(db, "ATTACH 'peer.db' AS peer");
    run(db, "PRAGMA synchronous = EXTRA; PRAGMA peer.synchronous = EXTRA");
    run(db, CLUSTER);
    run(db, "PRAGMA writable_schema = RESET");
    run(db, "BEGIN");
    return db;
}

static void prepare_in_transaction(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    sqlite3 *db = open_to_begin();
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc != SQLITE_OK) print_error("%s: %s\n", sql, sqlite3_errmsg(db));
    assert_int_equal(rc, SQLITE_OK);
    if (sqlite3_txn_state(db, NULL) != SQLITE_TXN_NONE) print_error("%s takes a lock\n", sql);
    assert_int_equal(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    run(db, "COMMIT");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void preparing_takes_no_lock(void **state)
{
    (void)state;
    static const char *const MODES[] = {"WAL", "DELETE"};
    for (size_t mode = 0; mode < 2; mode++) {
        make_files(MODES[mode]);
        for (int i = 0; i < N_READS; i++) prepare_in_transaction(READS[i]);
        for (int i = 0; i < N_WRITES; i++) prepare_in_transaction(WRITES[i]);
        remove_files();
    }
}

/* Another writer, which commits after a while. */
static void *commit_soon(void *other)
{
    usleep(30000);
    return (void *)(intptr_t)sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
}

static void write_against_writer(const char *mode, const char *sql)
{
    pthread_t thread;
    void *committed = NULL;
    make_files(mode);
    sqlite3 *other = open_main(), *db = open_to_begin();
    run(other, "BEGIN IMMEDIATE; INSERT INTO v VALUES ('other', 7, 7)");
    assert_int_equal(pthread_create(&thread, NULL, commit_soon, other), 0);
    run(db, sql);
    assert_int_equal(pthread_join(thread, &committed), 0);
    assert_int_equal((int)(intptr_t)committed, SQLITE_OK);
    run(db, "COMMIT");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    remove_files();
}

static void the_first_write_waits_for_another_writer(void **state)
{
    (void)state;
    for (int i = 0; i < N_WRITES; i++) {
        write_against_writer("WAL", WRITES[i]);
        write_against_writer("DELETE", WRITES[i]);
    }
}

/* To count in one file does not read another, so that its first write waits, too. */
static void counting_in_one_file_leaves_the_others_alone(void **state)
{
    (void)state;
    static const char *const MODES[] = {"WAL", "DELETE"};
    for (size_t mode = 0; mode < 2; mode++) {
        make_files(MODES[mode]);
        sqlite3 *db = open_main();
        run(db, "ATTACH 'peer.db' AS peer; BEGIN; UPDATE peer.v SET n = n + 1; INSERT INTO peer.w "
                "VALUES ('x', 1, 1)");
        assert_int_equal(sqlite3_txn_state(db, "main"), SQLITE_TXN_NONE);
        run(db, "SELECT * FROM peer.v; DELETE FROM peer.v; INSERT INTO peer.v(k) VALUES ('x')");
        assert_int_equal(sqlite3_txn_state(db, "main"), SQLITE_TXN_NONE);
        run(db, "INSERT INTO v VALUES ('x', 1, 1); COMMIT");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        remove_files();
    }
}

/* ---- a cache that is full, and a reader ------------------------------------------------------ */

/* SQLite passes the number of earlier calls, 0 when it begins to wait. */
static int count_waits(void *waits, int calls)
{
    *(int *)waits += calls == 0;
    return 0;
}

static int number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    int n = sqlite3_column_int(row, 0);
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
    return n;
}

static const char *const LARGE[] = {
    "UPDATE plain SET stock = stock + 1",
    "UPDATE tracked SET stock = stock + 1",
    "INSERT INTO tracked SELECT 'new' || sku, stock FROM plain",
    "INSERT INTO counted SELECT 'new' || sku, stock FROM plain",
    "DELETE FROM tracked",
    "DELETE FROM counted",
    "INSERT OR REPLACE INTO tracked SELECT sku, 7 FROM plain",
};

static void make_large(void)
{
    remove_files();
    sqlite3 *db = open_main();
    run(db, "PRAGMA journal_mode = DELETE;"
            "CREATE TABLE plain(sku TEXT PRIMARY KEY, stock INTEGER);"
            "CREATE TABLE tracked(sku TEXT PRIMARY KEY, stock INTEGER);"
            "CREATE VIRTUAL TABLE counted USING counter(sku TEXT PRIMARY KEY, n COUNTER);"
            "WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < 3000) "
            "INSERT INTO plain SELECT hex(i) || '-a-key-of-some-length', i FROM i;"
            "INSERT INTO tracked SELECT * FROM plain;"
            "INSERT INTO counted SELECT * FROM plain;"
            "SELECT counter_track('tracked', 'stock')");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Returns how often the statement began to wait, and sets its code. */
static int waits_of(sqlite3 *db, const char *sql, int *code)
{
    int waits = 0;
    sqlite3_busy_handler(db, count_waits, &waits);
    *code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (waits != 1) print_error("%s: began to wait %d times\n", sql, waits);
    return waits;
}

static void fill_cache(const char *sql)
{
    int code;
    sqlite3 *reader = open_main(), *db = open_main();
    run(db, "PRAGMA cache_size = 20");
    int spill = number(db, "PRAGMA cache_spill");
    run(reader, "BEGIN; SELECT * FROM plain");

    run(db, "BEGIN");
    assert_int_equal(waits_of(db, sql, &code), 1);
    assert_int_equal(code, SQLITE_OK);
    assert_int_equal(waits_of(db, "COMMIT", &code), 1);
    assert_int_equal(code, SQLITE_BUSY);
    run(db, "ROLLBACK");
    assert_int_equal(number(db, "PRAGMA cache_spill"), spill);

    assert_int_equal(waits_of(db, sql, &code), 1);
    assert_int_equal(code, SQLITE_BUSY);
    assert_int_equal(number(db, "PRAGMA cache_spill"), spill);

    run(db, "BEGIN");
    assert_int_equal(waits_of(db, sql, &code), 1);
    run(reader, "COMMIT");
    run(db, "COMMIT");
    assert_int_equal(number(db, "PRAGMA cache_spill"), spill);
    run(db, "PRAGMA integrity_check; INSERT INTO counted(counted) VALUES ('integrity-check')");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
}

static void a_statement_waits_once_for_a_reader(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof LARGE / sizeof *LARGE; i++) {
        make_large();
        fill_cache(LARGE[i]);
    }
    remove_files();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preparing_takes_no_lock),
        cmocka_unit_test(the_first_write_waits_for_another_writer),
        cmocka_unit_test(counting_in_one_file_leaves_the_others_alone),
        cmocka_unit_test(a_statement_waits_once_for_a_reader),
    };
    return cmocka_run_group_tests(tests, fixture_enter_folder, fixture_leave_folder);
}
