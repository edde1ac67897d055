/* tables.c - what many tables cost.
 *
 * Both sides have N tables of one row, t1, t2 and so on, and do the same for each: what the counter
 * side pulls, the plain side takes by CREATE TABLE and UPSERT … SELECT in one transaction. The
 * figures are for each table. In the lines of tracked tables both sides are tracked, and the second
 * column is a file with one tracked table; the figures are for each pull and call.
 */
#include "lines.h"
#include "pairs.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const declarations[] = {
    "CREATE VIRTUAL TABLE t%d USING counter(k TEXT PRIMARY KEY, n COUNTER)",
    "CREATE TABLE t%d(k TEXT PRIMARY KEY, n INTEGER)",
};
static const char *const counts[] = {
    "INSERT INTO t%d(k, n) VALUES ('key', 1)",
    "INSERT INTO t%d(k, n) VALUES ('key', 1) ON CONFLICT(k) DO UPDATE SET n = n + 1",
};
#define TAKE                                                 \
    "INSERT INTO t%d SELECT k, n FROM source.t%d WHERE true" \
    " ON CONFLICT(k) DO UPDATE SET n = max(n, excluded.n)"

/* Runs a statement for each table; its format has the number of the table. */
static void for_each(sqlite3 *db, const char *format, int n)
{
    for (int i = 1; i <= n; i++) {
        char sql[300];
        snprintf(sql, sizeof sql, format, i, i);
        run(db, sql);
    }
}

/* A new file with the tables of a side. */
static sqlite3 *prepare(const char *name, side file, side tables, int n)
{
    sqlite3 *db = open_new(name, file, NULL);
    run(db, "BEGIN");
    for_each(db, declarations[tables], n);
    for_each(db, counts[tables], n);
    run(db, "COMMIT");
    return db;
}

/* Takes all tables of the source; seconds. */
static double take(sqlite3 *db, side which, int n, bool first)
{
    double began = now();
    if (which == COUNTER) {
        run(db, "SELECT * FROM counter_pull('source')");
        return now() - began;
    }
    run(db, "BEGIN");
    if (first) for_each(db, declarations[PLAIN], n);
    for_each(db, TAKE, n);
    run(db, "COMMIT");
    return now() - began;
}

/* Counts in each table in one transaction; the seconds of its COMMIT. */
static double count(sqlite3 *db, side which, int n)
{
    run(db, "BEGIN");
    for_each(db, counts[which], n);
    double began = now();
    run(db, "COMMIT");
    return now() - began;
}

static void measure_many(int n, const char *first, const char *change, const char *commit)
{
    result firsts = {first, COST, {{0}}, 0}, changes = {change, COST, {{0}}, 0},
           commits = {commit, COST, {{0}}, 0};
    if (!table_wants(first) && !table_wants(change) && !table_wants(commit)) return;
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            double for_each_table = 1e9 / n;
            sqlite3 *source = prepare("source", s, s, n);
            sqlite3 *target = open_new("target", s, NULL);
            attach_source(target, "source", s);
            firsts.value[s][turn] = take(target, s, n, true) * for_each_table;
            commits.value[s][turn] = count(source, s, n) * for_each_table;
            changes.value[s][turn] = take(target, s, n, false) * for_each_table;
            close_db(target);
            close_db(source);
        }
    }
    table_line(&firsts);
    table_line(&changes);
    table_line(&commits);
}

/* ---- tracked tables -------------------------------------------------------------------------- */

/* Transactions that change a row of each of three tables. */
static void measure_three(void)
{
    enum { THREE = 3, TRANSACTIONS = 20000 };
    result found = {"transaction of an UPDATE in each of three tracked tables", RATE, {{0}}, 0};
    if (!table_wants(found.name)) return;
    sqlite3 *files[2];
    for (side s = COUNTER; s <= PLAIN; s++) {
        files[s] = prepare("three", s, PLAIN, THREE);
        if (s == COUNTER) for_each(files[s], "SELECT counter_track('t%d', 'n')", THREE);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            sqlite3_stmt *steps[THREE + 2];
            for (int i = 0; i < THREE + 2; i++) {
                char sql[100];
                snprintf(sql, sizeof sql,
                         i == 0      ? "BEGIN"
                         : i > THREE ? "COMMIT"
                                     : "UPDATE t%d SET n = n + 1 WHERE k = 'key'",
                         i);
                must(files[s], sqlite3_prepare_v2(files[s], sql, -1, &steps[i], NULL));
            }
            double began = now();
            for (int n = 0; n < TRANSACTIONS; n++)
                for (int i = 0; i < THREE + 2; i++) {
                    sqlite3_step(steps[i]);
                    must(files[s], sqlite3_reset(steps[i]));
                }
            found.value[s][turn] = (now() - began) * 1e9 / TRANSACTIONS;
            for (int i = 0; i < THREE + 2; i++) sqlite3_finalize(steps[i]);
        }
    }
    for (side s = COUNTER; s <= PLAIN; s++) close_db(files[s]);
    table_line(&found);
}

/* A source with tracked tables, and one more that is not, and a target that has pulled them. */
static void create_tracked(sqlite3 *of[2], side which, int n)
{
    of[0] = prepare("source", which, PLAIN, n);
    of[1] = prepare("target", which, PLAIN, n);
    for (int i = 0; i < 2; i++) {
        run(of[i], "BEGIN");
        for_each(of[i], "SELECT counter_track('t%d', 'n', 'opening=same')", n);
        run(of[i], "COMMIT; CREATE TABLE more(k TEXT PRIMARY KEY, n INTEGER)");
    }
    attach_source(of[1], "source", which);
    take(of[1], COUNTER, n, false);
}

static void measure_many_tracked(void)
{
    enum { AMONG = 300 };
    result pulls = {"pull of one change, 300 tracked tables / 1", COST, {{0}}, 0},
           calls = {"counter_track of one more, 300 tracked tables / 1", COST, {{0}}, 0};
    sqlite3 *files[2][2]; /* by side: source and target */
    if (!table_wants(pulls.name) && !table_wants(calls.name)) return;
    create_tracked(files[COUNTER], COUNTER, AMONG);
    create_tracked(files[PLAIN], PLAIN, 1);
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            run(files[s][0], "UPDATE t1 SET n = n + 1");
            pulls.value[s][turn] = take(files[s][1], COUNTER, 1, false) * 1e9;
            calls.value[s][turn] = time_sql(files[s][0], "SELECT counter_track('more', 'n')") * 1e9;
            run(files[s][0], "SELECT counter_untrack('more')");
        }
    }
    for (side s = COUNTER; s <= PLAIN; s++)
        for (int i = 2; i-- > 0;) close_db(files[s][i]);
    table_line(&pulls);
    table_line(&calls);
}

void measure_tables(void)
{
    measure_many(100, "first pull of 100 tables", "pull of a change in each of 100 tables",
                 "COMMIT of a change in each of 100 tables");
    measure_many(1000, "first pull of 1,000 tables", "pull of a change in each of 1,000 tables",
                 "COMMIT of a change in each of 1,000 tables");
    measure_many_tracked();
    measure_three();
}
