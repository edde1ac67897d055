/* test_threads.c - connections in threads of one process, under the thread sanitizer.
 *
 * FREE threads have a connection each, PAIRED ones share one, which SQLite serializes. They count
 * in one database and in rows of their own, delete those, roll back, rename the table, add and
 * drop a counter, pull from a file in which one more thread counts, and read digests, changes and
 * figures. Each adds up what was acknowledged. In the end the counters must show that, the
 * database must pass its checks, and the sanitizer must have nothing to say: it watches all of
 * the library, which is compiled with it, and of SQLite, which is the machine's own, its locks.
 *
 * The database is a file under WAL, one with a rollback journal, a memory database with a shared
 * cache, and one of the VFS memdb. COUNTER_SECONDS is how long all of them go on.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "counter.h"

#include "../fixture.h"

enum { FREE = 4, PAIRED = 2, THREADS = FREE + PAIRED, OWN_ROWS = 3, STAGES = 4, WATCHDOG = 60 };

static const char PEER[] = "peer.db";

/* One database, and who uses it. */
typedef struct stage {
    const char *name, *journal;
    bool has_peer;
    double ends; /* on the clock of seconds() */
    sqlite3 *shared;
} stage;

typedef struct worker {
    stage *in;
    int number;
    uint64_t chance;
    sqlite3 *db;
    bool alone; /* on its connection: it may have transactions */
    int name;   /* of the table, as far as is known */
    bool has_column;
    int64_t all, own[OWN_ROWS]; /* acknowledged; own[i] < 0: not there */
    int64_t rounds, locks, renames;
    char failure[400];
} worker;

static const char *const NAMES[] = {"t", "u"};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int draw(worker *of, int below)
{
    of->chance = of->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((of->chance >> 33) % (uint64_t)below);
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool is_lock(int rc)
{
    return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

/* Does the message say that the table has its other name now? */
static bool is_renamed(worker *of, int rc, const char *message)
{
    static const char *const SENTENCES[] = {"no such table: %s", "no such table: %s_cells",
                                            "counter_table_digest: main has no counter table '%s'"};
    char sentence[100];
    bool is = rc == SQLITE_SCHEMA;
    for (size_t i = 0; i < sizeof SENTENCES / sizeof *SENTENCES && !is; i++) {
        snprintf(sentence, sizeof sentence, SENTENCES[i], NAMES[of->name]);
        is = strcmp(message, sentence) == 0;
    }
    if (!is) return false;
    if (rc != SQLITE_SCHEMA) of->name = !of->name;
    of->renames++;
    return true;
}

/* Once; `format` may have %s for the table, twice at most. Anything but a lock and another name is
 * a failure. */
static int try_once(worker *of, const char *format)
{
    char sql[300], *message = NULL;
    snprintf(sql, sizeof sql, format, NAMES[of->name], NAMES[of->name]);
    int rc = sqlite3_exec(of->db, sql, NULL, NULL, &message);
    const char *text = message ? message : "";
    if (is_lock(rc))
        of->locks++;
    else if (rc != SQLITE_OK && !is_renamed(of, rc, text))
        snprintf(of->failure, sizeof of->failure, "%s: %d %s", sql, rc, text);
    sqlite3_free(message);
    return rc;
}

static bool insist(worker *of, const char *format)
{
    while (!*of->failure) {
        if (try_once(of, format) == SQLITE_OK) return true;
        usleep((useconds_t)draw(of, 500));
    }
    return false;
}

/* ---- what they do ---------------------------------------------------------------------------- */

static void count_for_all(worker *of)
{
    char sql[200];
    int n = draw(of, 100);
    const char *format = n % 2 ? "INSERT INTO %%s(k, n) VALUES ('all', %d)"
                               : "UPDATE %%s SET n = n + %d WHERE k = 'all'";
    snprintf(sql, sizeof sql, format, n);
    if (insist(of, sql)) of->all += n;
}

static void count_own(worker *of)
{
    char sql[200];
    int row = draw(of, OWN_ROWS), n = draw(of, 100);
    snprintf(sql, sizeof sql, "INSERT INTO %%s(%%s, k, n) VALUES ('reset', '%d-%d', %d)",
             of->number, row, n);
    if (insist(of, sql)) of->own[row] = n;
}

static void delete_own(worker *of)
{
    char sql[200];
    int row = draw(of, OWN_ROWS);
    snprintf(sql, sizeof sql, "DELETE FROM %%s WHERE k = '%d-%d'", of->number, row);
    if (insist(of, sql)) of->own[row] = -1;
}

/* A lock half-way gives it up. */
static void transact(worker *of)
{
    char sql[200];
    int64_t counted = 0;
    if (!of->alone || !insist(of, "BEGIN IMMEDIATE")) return;
    int rc = SQLITE_OK;
    for (int i = draw(of, 5); i >= 0 && rc == SQLITE_OK; i--) {
        int n = draw(of, 100);
        snprintf(sql, sizeof sql, "INSERT INTO %%s(k, n) VALUES ('all', %d)", n);
        rc = try_once(of, sql);
        counted += n;
    }
    if (rc == SQLITE_OK && draw(of, 3))
        rc = try_once(of, "COMMIT");
    else
        rc = SQLITE_ABORT;
    if (rc == SQLITE_OK)
        of->all += counted;
    else if (!sqlite3_get_autocommit(of->db))
        insist(of, "ROLLBACK");
}

static void rename_table(worker *of)
{
    char sql[200];
    snprintf(sql, sizeof sql, "ALTER TABLE %%s RENAME TO %s", NAMES[!of->name]);
    if (try_once(of, sql) == SQLITE_OK) of->name = !of->name;
}

/* The first thread has a counter of its own. */
static void alter(worker *of)
{
    bool done = insist(of, of->has_column ? "INSERT INTO %s(%s) VALUES ('drop column e')"
                                          : "INSERT INTO %s(%s) VALUES ('add column e')");
    if (!done) return;
    of->has_column = !of->has_column;
    if (of->has_column) insist(of, "INSERT INTO %s(k, e) VALUES ('all', 1)");
}

static void read_all(worker *of)
{
    static const char *const READS[] = {"SELECT k, n FROM %s",
                                        "SELECT counter_table_digest('%s')",
                                        "SELECT * FROM counter_changes(0)",
                                        "SELECT * FROM counter_stats",
                                        "SELECT * FROM counter_identity",
                                        "SELECT counter_sum(n) FROM %s_cells"};
    insist(of, READS[draw(of, sizeof READS / sizeof *READS)]);
}

static void pull(worker *of)
{
    if (of->in->has_peer) insist(of, "SELECT * FROM counter_pull('peer.db')");
}

static void *work(void *argument)
{
    worker *of = argument;
    for (; seconds() < of->in->ends && !*of->failure; of->rounds++) {
        int what = draw(of, 100);
        if (what < 40)
            count_for_all(of);
        else if (what < 52)
            count_own(of);
        else if (what < 58)
            delete_own(of);
        else if (what < 72)
            transact(of);
        else if (what < 82)
            read_all(of);
        else if (what < 90)
            pull(of);
        else if (what < 91)
            rename_table(of);
        else if (of->number == 0 && what < 93)
            alter(of);
    }
    return NULL;
}

/* Counts in the file that the others pull from. */
static void *work_in_peer(void *argument)
{
    worker *of = argument;
    for (; seconds() < of->in->ends && !*of->failure; of->rounds++) {
        count_for_all(of);
        usleep(1000);
    }
    return NULL;
}

/* ---- one database ---------------------------------------------------------------------------- */

static sqlite3 *open_database(const char *name)
{
    sqlite3 *db = NULL;
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX;
    assert_int_equal(sqlite3_open_v2(name, &db, flags, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_counter_init(db, NULL, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 20);
    sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    return db;
}

static sqlite3 *create_database(const char *name, const char *journal)
{
    char sql[300];
    sqlite3 *db = open_database(name);
    snprintf(sql, sizeof sql,
             "PRAGMA journal_mode = %s;"
             "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);"
             "INSERT INTO t VALUES ('all', 0)",
             journal);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static int64_t number(sqlite3 *db, const char *format, const char *table)
{
    char sql[200];
    sqlite3_stmt *row = NULL;
    snprintf(sql, sizeof sql, format, table);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    int64_t n = sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int64(row, 0) : -1;
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
    return n;
}

/* Pulls what the peer still has, and compares. */
static void compare(stage *in, sqlite3 *db, const worker *workers)
{
    char format[100];
    int64_t all = 0;
    const char *name = number(db, "SELECT name = 't' FROM counter_tables", "") ? "t" : "u";
    for (int i = 0; i < THREADS + in->has_peer; i++) all += workers[i].all;
    if (in->has_peer) {
        int rc = sqlite3_exec(db, "SELECT * FROM counter_pull('peer.db')", NULL, NULL, NULL);
        assert_int_equal(rc, SQLITE_OK);
    }
    assert_int_equal(number(db, "SELECT n FROM %s WHERE k = 'all'", name), all);
    for (int i = 0; i < THREADS; i++) {
        for (int row = 0; row < OWN_ROWS; row++) {
            snprintf(format, sizeof format, "SELECT n FROM %%s WHERE k = '%d-%d'", i, row);
            assert_int_equal(number(db, format, name), workers[i].own[row]);
        }
    }
    snprintf(format, sizeof format, "INSERT INTO %s(%s) VALUES ('integrity-check')", name, name);
    assert_int_equal(sqlite3_exec(db, format, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(number(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check", ""),
                     1);
}

static void start(stage *in, worker *workers, pthread_t *threads)
{
    for (int i = 0; i <= THREADS; i++) {
        worker *of = &workers[i];
        bool peer = i == THREADS;
        *of = (worker){.in = in, .number = i, .chance = (uint64_t)i + 1, .alone = i < FREE};
        for (int row = 0; row < OWN_ROWS; row++) of->own[row] = -1;
        of->db = peer ? open_database(PEER) : of->alone ? open_database(in->name) : in->shared;
    }
    for (int i = 0; i <= THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, i == THREADS ? work_in_peer : work, &workers[i]), 0);
}

static void run_stage(stage *in)
{
    worker workers[THREADS + 1];
    pthread_t threads[THREADS + 1];
    const char *all = getenv("COUNTER_SECONDS");
    if (all && !*all) all = NULL;
    int64_t rounds = 0, locks = 0, renames = 0;
    sqlite3 *db = create_database(in->name, in->journal), *peer = create_database(PEER, "WAL");
    in->shared = open_database(in->name);
    in->ends = seconds() + (all ? atof(all) : 6) / STAGES;
    alarm(WATCHDOG + (all ? (unsigned)atoi(all) : 0)); /* who hangs is killed */
    start(in, workers, threads);
    for (int i = 0; i <= THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (*workers[i].failure) print_error("%s\n", workers[i].failure);
        if (workers[i].db != in->shared) assert_int_equal(sqlite3_close(workers[i].db), SQLITE_OK);
        rounds += workers[i].rounds;
        locks += workers[i].locks;
        renames += workers[i].renames;
    }
    alarm(0);
    print_message("%lld rounds, %lld locks, %lld renames seen\n", (long long)rounds,
                  (long long)locks, (long long)renames);
    for (int i = 0; i <= THREADS; i++) assert_string_equal(workers[i].failure, "");
    compare(in, db, workers);
    assert_int_equal(sqlite3_close(in->shared), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_close(peer), SQLITE_OK);
}

static void threads_lose_nothing_in_a_file_under_WAL(void **unused)
{
    (void)unused;
    run_stage(&(stage){.name = "wal.db", .journal = "WAL", .has_peer = true});
}

static void threads_lose_nothing_in_a_file_with_a_rollback_journal(void **unused)
{
    (void)unused;
    run_stage(&(stage){.name = "delete.db", .journal = "DELETE", .has_peer = true});
}

static void threads_lose_nothing_in_a_memory_database_with_a_shared_cache(void **unused)
{
    (void)unused;
    run_stage(
        &(stage){.name = "file:m?mode=memory&cache=shared", .journal = "MEMORY", .has_peer = true});
}

static void threads_lose_nothing_in_a_memory_database_of_the_VFS_memdb(void **unused)
{
    (void)unused;
    run_stage(&(stage){.name = "file:/m?vfs=memdb", .journal = "MEMORY"});
}

static int leave_test(void **unused)
{
    (void)unused;
    unlink("wal.db");
    unlink("delete.db");
    unlink(PEER);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(threads_lose_nothing_in_a_file_under_WAL, leave_test),
        cmocka_unit_test_teardown(threads_lose_nothing_in_a_file_with_a_rollback_journal,
                                  leave_test),
        cmocka_unit_test_teardown(threads_lose_nothing_in_a_memory_database_with_a_shared_cache,
                                  leave_test),
        cmocka_unit_test_teardown(threads_lose_nothing_in_a_memory_database_of_the_VFS_memdb,
                                  leave_test),
    };
    /* Else every allocation takes one lock, and what comes before and after it is in order by
     * chance. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    return cmocka_run_group_tests(tests, fixture_enter_folder, fixture_leave_folder);
}
