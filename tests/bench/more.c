/* more.c - what parts of counting cost: pulls, the defence of the identity, clusters.
 *
 *     build/bench/more [folder [text]]      databases in a new folder inside, removed in the end;
 *                                           with a text only lines whose name contains it
 *
 * 100,000 keys of 24 bytes, WAL, synchronous=NORMAL, uniform random keys, 1,000 statements to a
 * transaction, prepared, where a line says nothing else. An operation is a row, a statement or, in
 * the lines of deltas, a pull. In those of defence and clusters, and where tables of two sizes are
 * compared, both sides are counter tables. Beside a delta pull stands the same by hand: the source
 * opened, a look-up in it, an empty transaction. Of a cluster the time is that of each replica
 * written, 10,000 keys, synchronous=FULL in main; singly: one statement to a transaction.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 100000, STATEMENTS = 100000, BATCH = 1000 };
enum { MANY = 1000000, FEW = 10000 }; /* rows of a source */

static const char *const declarations[] = {
    "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)",
    "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER)",
};

#define COUNTER_ADD "INSERT INTO t(k, n) VALUES (?1, ?2)"
#define PLAIN_ADD \
    "INSERT INTO t(k, n) VALUES (?1, ?2) ON CONFLICT(k) DO UPDATE SET n = n + excluded.n"
#define COUNTER_PULL "SELECT * FROM counter_pull('source')"
#define PLAIN_PULL                                       \
    "INSERT INTO t SELECT k, n FROM source.t WHERE true" \
    " ON CONFLICT(k) DO UPDATE SET n = max(n, excluded.n)"

#define UNARMED "unarmed" /* a VFS of which nothing is known, so that nothing is looked at */
#define NEVER_RENEW "UPDATE counter_replica SET renewal = 1000000000000000"

static texts keys; /* MANY of them */

/* A new file with an empty table t. */
static sqlite3 *create(const char *name, side which)
{
    sqlite3 *db = open_new(name, which, NULL);
    run(db, declarations[which]);
    return db;
}

/* A new file with a counter table whose identity is not defended; NULL if it cannot be had. */
static sqlite3 *create_undefended(const char *name, side which)
{
    static sqlite3_vfs unarmed;
    unarmed = *sqlite3_vfs_find(NULL);
    unarmed.zName = UNARMED;
    sqlite3_vfs_register(&unarmed, 0);
    sqlite3 *db = open_new(name, which, UNARMED);
    run(db, declarations[COUNTER]);
    if (sqlite3_exec(db, NEVER_RENEW, NULL, NULL, NULL) == SQLITE_OK) return db;
    fprintf(stderr, "more: the defence cannot be switched off: %s\n", sqlite3_errmsg(db));
    close_db(db);
    return NULL;
}

/* Runs `sql` `n` times with each of `among` keys in turn (seed 0) or with random ones, `batch` to a
 * transaction; returns nanoseconds for each. */
static double run_batches(sqlite3 *db, const char *sql, uint64_t seed, uint32_t batch,
                          uint32_t among, uint32_t n)
{
    texts some = keys;
    some.n = among;
    uint32_t *order = seed ? order_uniform(n, among, seed) : NULL;
    double time = task_run(db, &(task){sql, &some, order, n, batch, NULL});
    free(order);
    return time;
}

static double run_many(sqlite3 *db, const char *sql, uint64_t seed)
{
    return run_batches(db, sql, seed, BATCH, KEYS, STATEMENTS);
}

static double run_pull(sqlite3 *db, const char *sql)
{
    return time_sql(db, sql) * 1e9 / KEYS;
}

#define WHOLE                                                                            \
    "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER, name TEXT DEFAULT 'a name'," \
    " price REAL DEFAULT 1.5, note TEXT)"
#define REPLICATED WHOLE "; SELECT counter_replicate('t', 'n')"

/* A new device takes all rows of a replicated table for the first time. */
static void measure_new_device(const char *name)
{
    enum { DEVICES = 3 };
    static const char *const made[] = {REPLICATED, WHOLE},
                             *const takes[] = {COUNTER_PULL,
                                               "INSERT INTO t SELECT * FROM source.t"};
    result found = {name, LONGEST, {{0}}, DEVICES};
    if (!table_wants(name)) return;
    for (side s = COUNTER; s <= PLAIN; s++) {
        sqlite3 *db = open_new("source", s, NULL);
        run(db, made[s]);
        run_batches(db, COUNTER_ADD, 0, BATCH, MANY, MANY);
        close_db(db);
    }
    for (int turn = 0; turn < DEVICES; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            char path[600];
            path_of("source", s, path);
            sqlite3 *db = open_new("target", s, NULL);
            run(db, made[s]);
            run_with_path(db, "ATTACH %Q AS source", path);
            found.value[s][turn] = time_sql(db, takes[s]) * 1e3;
            close_db(db);
        }
    }
    table_line(&found);
}

/* Each turn into a new file. */
static void measure_pulls(void)
{
    static const char *const adds[] = {COUNTER_ADD, PLAIN_ADD}, *const takes[] = {COUNTER_PULL,
                                                                                  PLAIN_PULL};
    result all = {"pull of 100,000 rows, all new", RATE, {{0}}, 0};
    result again = {"the same again, nothing new", RATE, {{0}}, 0};
    if (!table_wants(all.name) && !table_wants(again.name)) return;
    for (side s = COUNTER; s <= PLAIN; s++) {
        sqlite3 *db = create("source", s);
        run_many(db, adds[s], 0);
        close_db(db);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            char path[600];
            path_of("source", s, path);
            sqlite3 *db = create("target", s);
            run_with_path(db, "ATTACH %Q AS source", path);
            all.value[s][turn] = run_pull(db, takes[s]);
            again.value[s][turn] = run_pull(db, takes[s]);
            close_db(db);
        }
    }
    table_line(&all);
    table_line(&again);
}

/* Counting in a file whose identity is defended against counting in one where it is not: its VFS is
 * unknown, so no inode and no attribute are asked for, and its witness is never renewed. */
static void measure_defence(const char *name, uint32_t batch, uint32_t n)
{
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    sqlite3 *undefended = create_undefended("defence", PLAIN);
    if (!undefended) return;
    sqlite3 *db[2] = {create("defence", COUNTER), undefended};
    for (side s = COUNTER; s <= PLAIN; s++) run_many(db[s], COUNTER_ADD, 0);
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t seed = new_seed();
        for (side s = COUNTER; s <= PLAIN; s++) {
            checkpoint(db[s]);
            found.value[s][turn] = run_batches(db[s], COUNTER_ADD, seed, batch, KEYS, n);
        }
    }
    table_line(&found);
    for (side s = COUNTER; s <= PLAIN; s++) close_db(db[s]);
}

/* ---- clusters -------------------------------------------------------------------------------- */

enum { MOST_REPLICAS = 5 };

/* A connection with `n` replicas: main and attached files, all with the same rows. */
static sqlite3 *create_cluster(int n)
{
    sqlite3 *db = create("replica0", COUNTER);
    sqlite3_str *names = sqlite3_str_new(NULL);
    run(db, "PRAGMA synchronous = FULL");
    run_batches(db, COUNTER_ADD, 0, BATCH, FEW, FEW);
    sqlite3_str_appendall(names, "main");
    for (int i = 1; i < n; i++) {
        char path[600], name[32];
        snprintf(name, sizeof name, "replica%d", i);
        close_db(open_new(name, COUNTER, NULL));
        path_of(name, COUNTER, path);
        char *attach =
            sqlite3_mprintf("ATTACH %Q AS %s; PRAGMA %s.synchronous = NORMAL;"
                            " CREATE VIRTUAL TABLE %s.t USING counter(k TEXT PRIMARY KEY,"
                            " n COUNTER); SELECT * FROM counter_push(%Q)",
                            path, name, name, name, name);
        if (!attach) exit(1);
        run(db, attach);
        sqlite3_free(attach);
        sqlite3_str_appendf(names, " %s", name);
    }
    char *list = sqlite3_str_finish(names);
    char *cluster =
        sqlite3_mprintf("CREATE VIRTUAL TABLE temp.c USING counter_cluster(t, replicas=%Q)", list);
    if (!list || !cluster) exit(1);
    run(db, cluster);
    sqlite3_free(list);
    sqlite3_free(cluster);
    return db;
}

/* Writes of a cluster, for each replica written, against increments of one table. */
static void measure_cluster(int replicas, const char *level, uint32_t batch)
{
    char name[64];
    result found = {name, RATE, {{0}}, 0};
    snprintf(name, sizeof name, "write=%s, %d replica%s%s", level, replicas,
             replicas > 1 ? "s" : "", batch == 1 ? ", singly" : "");
    if (!table_wants(name)) return;
    sqlite3 *db[2] = {create_cluster(replicas), create("numbers", PLAIN)};
    char *set = sqlite3_mprintf("INSERT INTO c(c) VALUES ('write=%s')", level);
    if (!set) exit(1);
    run(db[COUNTER], set);
    run(db[PLAIN], "DROP TABLE t; PRAGMA synchronous = FULL");
    run(db[PLAIN], declarations[COUNTER]);
    run_batches(db[PLAIN], COUNTER_ADD, 0, BATCH, FEW, FEW);
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t seed = new_seed();
        uint32_t n = batch == 1 ? FEW / 5 : STATEMENTS;
        double time =
            run_batches(db[COUNTER], "INSERT INTO c(k, n) VALUES (?1, ?2)", seed, batch, FEW, n);
        found.value[COUNTER][turn] = time / replicas;
        found.value[PLAIN][turn] = run_batches(db[PLAIN], COUNTER_ADD, seed, batch, FEW, n);
    }
    table_line(&found);
    sqlite3_free(set);
    for (side s = COUNTER; s <= PLAIN; s++) close_db(db[s]);
}

static void measure_clusters(void)
{
    static const char *const levels[] = {"ONE", "QUORUM", "ALL"};
    for (int replicas = 1; replicas <= MOST_REPLICAS; replicas += 2)
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
            measure_cluster(replicas, levels[i], BATCH);
    for (int replicas = 1; replicas <= MOST_REPLICAS; replicas += 2)
        measure_cluster(replicas, "QUORUM", 1);
}

/* ---- deltas ---------------------------------------------------------------------------------- */

/* A file with `rows` rows, loaded in one transaction, and one that has pulled them. */
typedef struct pair {
    sqlite3 *source, *target;
    uint32_t rows;
    const char *add, *pull; /* SQL; pull NULL: by hand */
} pair;

static pair create_pair(const char *name, side which, uint32_t rows)
{
    char path[600], target[64];
    snprintf(target, sizeof target, "%s-target", name);
    pair made = {create(name, which), create(target, which), rows, PLAIN_ADD, NULL};
    if (which == COUNTER) {
        made.add = COUNTER_ADD;
        path_of(name, which, path);
        made.pull = sqlite3_mprintf("SELECT * FROM counter_pull(%Q)", path);
        if (!made.pull) exit(1);
    }
    run_batches(made.source, made.add, 0, rows, rows, rows);
    checkpoint(made.source);
    if (made.pull) run(made.target, made.pull);
    checkpoint(made.target);
    return made;
}

static void close_pair(pair *made)
{
    close_db(made->source);
    close_db(made->target);
    sqlite3_free((void *)made->pull);
}

/* A pull by hand: the source opened, a look-up of the first key, a transaction on the target. */
static void pull_by_hand(const pair *of)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    must(of->source,
         sqlite3_open_v2(sqlite3_db_filename(of->source, "main"), &db, SQLITE_OPEN_READONLY, NULL));
    must(db, sqlite3_prepare_v2(db, "SELECT n FROM t WHERE k = ?1", -1, &statement, NULL));
    sqlite3_bind_text(statement, 1, keys.at[0], keys.size[0], SQLITE_STATIC);
    must(db, sqlite3_step(statement));
    must(db, sqlite3_finalize(statement));
    run(of->target, "BEGIN IMMEDIATE; COMMIT");
    close_db(db);
}

static void pull(const pair *of)
{
    if (of->pull)
        run(of->target, of->pull);
    else
        pull_by_hand(of);
}

/* Nanoseconds for each of `n` pulls; before each the source counts in `rows` random rows. */
static double time_pulls(const pair *of, int n, uint32_t rows)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        if (rows) run_batches(of->source, of->add, new_seed(), rows, of->rows, rows);
        double began = now();
        pull(of);
        sum += now() - began;
    }
    return sum * 1e9 / n;
}

static int64_t statements;

static int count_statement(unsigned event, void *context, void *statement, void *text)
{
    (void)event;
    (void)context;
    (void)statement;
    (void)text;
    statements++;
    return 0;
}

static int count_statements_of(sqlite3 *db, char **error, const struct sqlite3_api_routines *api)
{
    (void)error;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, NULL);
}

/* How many statements a pull of one new row runs inside, in all connections; those by which SQLite
 * reads a schema count, too. */
static int64_t count_inner(const pair *of)
{
    run_batches(of->source, of->add, new_seed(), 1, of->rows, 1);
    must(of->target, sqlite3_auto_extension((void (*)(void))count_statements_of));
    must(of->target, count_statements_of(of->target, NULL, NULL));
    statements = 0;
    pull(of);
    sqlite3_cancel_auto_extension((void (*)(void))count_statements_of);
    sqlite3_trace_v2(of->target, 0, NULL, NULL);
    return of->pull ? statements - 1 : statements;
}

/* Pulls of nothing, and then of one row after another, against the same by hand. */
static void measure_small_deltas(const pair pairs[2])
{
    enum { PULLS = 200 };
    result nothing = {"delta pull, nothing new, 1,000,000 rows", COST, {{0}}, 0};
    result one = {"delta pull, one new row of 1,000,000", COST, {{0}}, 0};
    result inner = {"delta pull, one new row, statements inside", COUNT, {{0}}, 0};
    for (int turn = 0; turn < TURNS && table_wants(nothing.name); turn++)
        for (side s = COUNTER; s <= PLAIN; s++)
            nothing.value[s][turn] = time_pulls(&pairs[s], PULLS, 0);
    table_line(&nothing);
    if (!table_wants(one.name) && !table_wants(inner.name)) return;
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            inner.value[s][turn] = (double)count_inner(&pairs[s]);
            one.value[s][turn] = time_pulls(&pairs[s], PULLS, 1);
        }
    }
    table_line(&one);
    table_line(&inner);
}

/* 1,000 rows that changed, in a large table and in a small one: all over it, or neighbours. */
static void measure_delta(const pair pairs[2], const char *name, bool neighbours)
{
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            checkpoint(pairs[s].source);
            checkpoint(pairs[s].target);
            run_batches(pairs[s].source, COUNTER_ADD, neighbours ? 0 : new_seed(), BATCH,
                        pairs[s].rows, BATCH);
            found.value[s][turn] = time_pulls(&pairs[s], 1, 0);
        }
    }
    table_line(&found);
}

static void measure_deltas(void)
{
    pair large = create_pair("large", COUNTER, MANY), few = create_pair("few", COUNTER, FEW),
         by_hand = create_pair("large", PLAIN, MANY);
    measure_small_deltas((pair[2]){large, by_hand});
    measure_delta((pair[2]){large, few}, "delta of 1,000, 1,000,000 rows / 10,000", false);
    measure_delta((pair[2]){large, few}, "delta of 1,000 that are near, 1,000,000 / 10,000", true);
    close_pair(&large);
    close_pair(&few);
    close_pair(&by_hand);
}

int main(int argc, char **argv)
{
    folder_make(argc > 1 ? argv[1] : "build/bench");
    fprintf(stderr, "SQLite %s, median of %d pairs\n", sqlite3_libversion(), TURNS);
    keys = keys_new(MANY);
    table_begin("beside it", NULL, argc > 2 ? argv[2] : NULL);
    measure_pulls();
    measure_new_device("1,000,000 replicated rows to a new device");
    measure_defence("defence, 1 per transaction", 1, STATEMENTS / 4);
    measure_defence("defence, 1,000 per transaction", BATCH, STATEMENTS * 3);
    measure_deltas();
    measure_clusters();
    table_end();
    texts_free(&keys);
    folder_remove();
    return 0;
}
