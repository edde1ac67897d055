/* more.c - what parts of counting cost: deltas, the defence of the identity, the news, clusters.
 *
 *     build/bench/more [folder]      databases in a new folder inside, removed in the end
 *
 * 100,000 keys of 24 bytes, WAL, synchronous=NORMAL, uniform random keys, 1,000 statements to a
 * transaction, prepared, where a line says nothing else. From "defence" on both sides are counter
 * tables. Of a cluster the rate is that of replicas written, 10,000 keys, synchronous=FULL in main;
 * singly: one statement to a transaction. The bars are told, not enforced.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

int sqlite3_counter_init(sqlite3 *db, char **error, const struct sqlite3_api_routines *api);

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

/* A place for news that takes them and keeps nothing. */
#define WITHOUT_NEWS                                                                 \
    "DROP TABLE t_news; CREATE VIEW t_news AS SELECT 1 AS _seq, x'' AS ids WHERE 0;" \
    " CREATE TRIGGER lost INSTEAD OF INSERT ON t_news BEGIN SELECT 1; END;"          \
    " CREATE TRIGGER kept INSTEAD OF DELETE ON t_news BEGIN SELECT 1; END"

static texts keys; /* MANY of them */

/* A new file with an empty table t. */
static sqlite3 *create(const char *name, side which)
{
    sqlite3 *db = open_new(name, which, NULL);
    run(db, declarations[which]);
    return db;
}

/* A new file with a counter table, whose identity nobody defends. */
static sqlite3 *create_undefended(const char *name, side which)
{
    static sqlite3_vfs unarmed;
    unarmed = *sqlite3_vfs_find(NULL);
    unarmed.zName = UNARMED;
    sqlite3_vfs_register(&unarmed, 0);
    sqlite3 *db = open_new(name, which, UNARMED);
    run(db, declarations[COUNTER]);
    run(db, NEVER_RENEW);
    return db;
}

/* Runs `sql` `n` times with each of `among` keys in turn (seed 0) or with random ones, `batch` to a
 * transaction; returns statements in a second. */
static double run_batches(sqlite3 *db, const char *sql, uint64_t seed, uint32_t batch,
                          uint32_t among, uint32_t n)
{
    texts some = keys;
    some.n = among;
    uint32_t *order = seed ? order_uniform(n, among, seed) : NULL;
    double rate = task_run(db, &(task){sql, &some, order, n, batch});
    free(order);
    return rate;
}

static double run_many(sqlite3 *db, const char *sql, uint64_t seed)
{
    return run_batches(db, sql, seed, BATCH, KEYS, STATEMENTS);
}

static double run_pull(sqlite3 *db, const char *sql)
{
    return KEYS / time_sql(db, sql);
}

/* Each turn into a new file. */
static void measure_pulls(void)
{
    static const char *const adds[] = {COUNTER_ADD, PLAIN_ADD}, *const takes[] = {COUNTER_PULL,
                                                                                  PLAIN_PULL};
    result all = {"pull of 100,000 rows, all new", PER_SECOND, 0, {{0}}, 0};
    result again = {"the same again, nothing new", PER_SECOND, 0, {{0}}, 0};
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
static void measure_defence(void)
{
    static const struct {
        const char *name;
        double bar;
        uint32_t batch;
    } defences[] = {{"defence, 1 per transaction", 0.93, 1},
                    {"defence, 1,000 per transaction", 0.99, BATCH}};
    sqlite3 *db[2] = {create("defence", COUNTER), create_undefended("defence", PLAIN)};
    for (size_t w = 0; w < sizeof defences / sizeof *defences; w++) {
        result found = {defences[w].name, PER_SECOND, defences[w].bar, {{0}}, 0};
        for (int turn = 0; turn < TURNS; turn++) {
            for (side s = COUNTER; s <= PLAIN; s++) {
                checkpoint(db[s]);
                found.value[s][turn] = run_batches(db[s], COUNTER_ADD, (uint64_t)turn + 1,
                                                   defences[w].batch, KEYS, STATEMENTS);
            }
        }
        table_line(&found);
    }
    for (side s = COUNTER; s <= PLAIN; s++) close_db(db[s]);
}

/* What it costs to write down which rows have changed: against a table that keeps no news. */
static void measure_numbers(void)
{
    static const struct {
        const char *name;
        double bar;
        uint64_t seed;
        uint32_t keys;
    } numbers[] = {{"sequence number, 100 hot keys", 0.95, 1, 100},
                   {"the same, each key anew", 0.80, 0, KEYS}};
    sqlite3 *db[2] = {create("numbers", COUNTER), open_new("numbers", PLAIN, NULL)};
    run(db[PLAIN], declarations[COUNTER]);
    run(db[PLAIN], WITHOUT_NEWS);
    for (side s = COUNTER; s <= PLAIN; s++) run_many(db[s], COUNTER_ADD, 0);
    for (size_t w = 0; w < sizeof numbers / sizeof *numbers; w++) {
        result found = {numbers[w].name, PER_SECOND, numbers[w].bar, {{0}}, 0};
        for (int turn = 0; turn < TURNS; turn++) {
            for (side s = COUNTER; s <= PLAIN; s++) {
                checkpoint(db[s]);
                found.value[s][turn] = run_batches(db[s], COUNTER_ADD, numbers[w].seed, BATCH,
                                                   numbers[w].keys, STATEMENTS);
            }
        }
        table_line(&found);
    }
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

/* Writes of a cluster, in replicas written for each second, against increments of one table. */
static void measure_cluster(int replicas, const char *level, uint32_t batch)
{
    char name[64];
    result found = {name, PER_SECOND, 0.77, {{0}}, 0};
    sqlite3 *db[2] = {create_cluster(replicas), create("numbers", PLAIN)};
    snprintf(name, sizeof name, "write=%s, %d replica%s%s", level, replicas,
             replicas > 1 ? "s" : "", batch == 1 ? ", singly" : "");
    char *set = sqlite3_mprintf("INSERT INTO c(c) VALUES ('write=%s')", level);
    if (!set) exit(1);
    run(db[COUNTER], set);
    run(db[PLAIN], "DROP TABLE t; PRAGMA synchronous = FULL");
    run(db[PLAIN], declarations[COUNTER]);
    run_batches(db[PLAIN], COUNTER_ADD, 0, BATCH, FEW, FEW);
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t seed = (uint64_t)turn + 1;
        uint32_t n = batch == 1 ? FEW / 5 : STATEMENTS / 5;
        double rate =
            run_batches(db[COUNTER], "INSERT INTO c(k, n) VALUES (?1, ?2)", seed, batch, FEW, n);
        found.value[COUNTER][turn] = replicas * rate;
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
    char *pull; /* SQL */
} pair;

static pair create_pair(side which, uint32_t rows)
{
    char path[600];
    pair made = {create("many", which), create("puller", which), rows, NULL};
    run(made.source, "DROP TABLE t");
    run(made.target, "DROP TABLE t");
    run(made.source, declarations[COUNTER]);
    run_batches(made.source, COUNTER_ADD, 0, rows, rows, rows);
    path_of("many", which, path);
    made.pull = sqlite3_mprintf("SELECT * FROM counter_pull(%Q)", path);
    if (!made.pull) exit(1);
    run(made.target, made.pull);
    return made;
}

static void close_pair(pair *made)
{
    close_db(made->source);
    close_db(made->target);
    sqlite3_free(made->pull);
}

static double time_pulls(const pair *of, int n)
{
    double began = now();
    for (int i = 0; i < n; i++) run(of->target, of->pull);
    return n / (now() - began);
}

/* The source opened, a lookup in it, a transaction on the target. */
static double time_empty(const pair *of, int n)
{
    double began = now();
    for (int i = 0; i < n; i++) {
        sqlite3 *db;
        must(of->source, sqlite3_open_v2(sqlite3_db_filename(of->source, "main"), &db,
                                         SQLITE_OPEN_READONLY, NULL));
        run(db, "BEGIN; SELECT 1 FROM t_news WHERE _seq >= 9223372036854775807 LIMIT 1");
        run(of->target, "BEGIN IMMEDIATE; COMMIT");
        close_db(db);
    }
    return n / (now() - began);
}

static void measure_nothing(const pair *many)
{
    enum { PULLS = 200 };
    result found = {"delta pull, nothing new, 1,000,000 rows", PER_SECOND, 0.5, {{0}}, 0};
    for (int turn = 0; turn < TURNS; turn++) {
        found.value[COUNTER][turn] = time_pulls(many, PULLS);
        found.value[PLAIN][turn] = time_empty(many, PULLS);
    }
    table_line(&found);
}

/* 1,000 rows that changed: all over the table, or neighbours. */
static void measure_delta(const pair pairs[2], const char *name, bool neighbours)
{
    result found = {name, PER_SECOND, 0.33, {{0}}, 0};
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            checkpoint(pairs[s].source);
            checkpoint(pairs[s].target);
            run_batches(pairs[s].source, COUNTER_ADD, neighbours ? 0 : (uint64_t)turn + 1, BATCH,
                        pairs[s].rows, BATCH);
            found.value[s][turn] = time_pulls(&pairs[s], 1);
        }
    }
    table_line(&found);
}

static void measure_deltas(void)
{
    pair pairs[2] = {create_pair(COUNTER, MANY), create_pair(PLAIN, FEW)};
    measure_nothing(&pairs[COUNTER]);
    measure_delta(pairs, "delta of 1,000, 1,000,000 rows / 10,000", false);
    measure_delta(pairs, "the same, rows that are near", true);
    for (side s = COUNTER; s <= PLAIN; s++) close_pair(&pairs[s]);
}

int main(int argc, char **argv)
{
    folder_make(argc > 1 ? argv[1] : "build/bench");
    if (sqlite3_auto_extension((void (*)(void))sqlite3_counter_init)) return 1;
    keys = keys_new(MANY);
    fprintf(stderr, "SQLite %s, median of %d pairs\n", sqlite3_libversion(), TURNS);
    table_begin("counter", "beside it", NULL);
    measure_pulls();
    measure_defence();
    measure_numbers();
    measure_deltas();
    measure_clusters();
    table_end();
    texts_free(&keys);
    folder_remove();
    return 0;
}
