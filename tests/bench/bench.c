/* bench.c - the cost of counting, beside the same work on a plain table, in one run on one machine.
 *
 *     build/bench/bench [folder]      databases in a new folder inside, removed in the end
 *
 * 100,000 keys of 24 bytes, WAL, synchronous=NORMAL, uniform random keys, 1,000 statements to a
 * transaction, prepared, where a line says nothing else. The two sides take turns; a ratio is that
 * of the rates of one turn each, counter over plain: 1.00 is as fast as a plain table, more is
 * faster. The bars are told, not enforced. From "defence" on both sides are counter tables. Of a
 * cluster the rate is that of replicas written, 10,000 keys, synchronous=FULL in main; singly: one
 * statement to a transaction.
 */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdbool.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int sqlite3_counter_init(sqlite3 *db, char **error, const struct sqlite3_api_routines *api);

enum { KEYS = 100000, KEY_SIZE = 24, STATEMENTS = 100000, BATCH = 1000, TURNS = 7 };
enum { MANY = 1000000, FEW = 10000 }; /* rows of a source */

typedef enum side { COUNTER, PLAIN } side;

static const char *const side_names[] = {"counter", "plain"};
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

/* One line of the result. `bar` is the ratio to reach; 0: there is none. */
typedef struct workload {
    const char *name;
    double bar;
    const char *sql[2];
} workload;

static const workload statements[] = {
    {"INSERT that adds / UPSERT", 0.55, {COUNTER_ADD, PLAIN_ADD}},
    {"UPDATE SET n = n + ?",
     0.45,
     {"UPDATE t SET n = n + ?2 WHERE k = ?1", "UPDATE t SET n = n + ?2 WHERE k = ?1"}},
    {"SELECT of one key", 0, {"SELECT n FROM t WHERE k = ?1", "SELECT n FROM t WHERE k = ?1"}},
};
static const workload pulls[] = {
    {"pull of 100,000 rows, all new", 0, {COUNTER_PULL, PLAIN_PULL}},
    {"the same again, nothing new", 0, {COUNTER_PULL, PLAIN_PULL}},
};

static char folder[512];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Ends the program unless rc is one of the good ones. */
static int must(sqlite3 *db, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE) return rc;
    fprintf(stderr, "bench: %s (files are left in %s)\n", sqlite3_errmsg(db), folder);
    exit(1);
}

static void run(sqlite3 *db, const char *sql)
{
    must(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static void path_of(const char *name, side which, const char *tail, char path[600])
{
    snprintf(path, 600, "%s/%s-%s.db%s", folder, name, side_names[which], tail);
}

static void remove_file(const char *name, side which)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        char path[600];
        path_of(name, which, tails[i], path);
        unlink(path);
    }
}

static sqlite3 *open_new(const char *name, side which, const char *vfs)
{
    char path[600];
    sqlite3 *db;
    remove_file(name, which);
    path_of(name, which, "", path);
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);
    must(db, rc);
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    return db;
}

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

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The i-th key: 24 bytes, neighbours by number far apart in the index. */
static void bind_key(sqlite3_stmt *statement, uint64_t i)
{
    char key[KEY_SIZE + 1];
    snprintf(key, sizeof key, "/page/%018" PRIx64, next_random(&i));
    sqlite3_bind_text(statement, 1, key, KEY_SIZE, SQLITE_TRANSIENT);
}

/* Runs `sql` `n` times with each of `keys` keys in turn (seed 0) or with random ones, `batch` to a
 * transaction; returns statements in a second. */
static double run_batches(sqlite3 *db, const char *sql, uint64_t seed, uint64_t batch,
                          uint64_t keys, uint64_t n)
{
    sqlite3_stmt *statement;
    must(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    int parameters = sqlite3_bind_parameter_count(statement);
    double began = now();
    for (uint64_t i = 0; i < n; i++) {
        if (i % batch == 0) run(db, i ? "COMMIT; BEGIN" : "BEGIN");
        bind_key(statement, (seed ? next_random(&seed) : i) % keys);
        if (parameters > 1) sqlite3_bind_int64(statement, 2, (sqlite3_int64)(i % 100 + 1));
        while (must(db, sqlite3_step(statement)) == SQLITE_ROW) sqlite3_column_int64(statement, 0);
        must(db, sqlite3_reset(statement));
    }
    run(db, "COMMIT");
    double rate = (double)n / (now() - began);
    sqlite3_finalize(statement);
    return rate;
}

static double run_many(sqlite3 *db, const char *sql, uint64_t seed)
{
    return run_batches(db, sql, seed, BATCH, KEYS, STATEMENTS);
}

static double run_pull(sqlite3 *db, const char *sql)
{
    double began = now();
    run(db, sql);
    return KEYS / (now() - began);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *numbers)
{
    qsort(numbers, TURNS, sizeof *numbers, by_size);
    return numbers[TURNS / 2];
}

static void print_head(void)
{
    printf("%-31s %10s %10s   %-20s %s\n", "", "counter/s", "plain/s", "ratio (min ... max)",
           "bar");
}

static void print_line(const workload *work, double rates[2][TURNS])
{
    double ratios[TURNS];
    for (int i = 0; i < TURNS; i++) ratios[i] = rates[COUNTER][i] / rates[PLAIN][i];
    double ratio = median(ratios);
    printf("%-31s %10.0f %10.0f   %.2f (%.2f ... %.2f)  ", work->name, median(rates[COUNTER]),
           median(rates[PLAIN]), ratio, ratios[0], ratios[TURNS - 1]);
    if (work->bar > 0)
        printf(" %.2f %s\n", work->bar, ratio >= work->bar ? "reached" : "MISSED");
    else
        printf(" none\n");
}

/* The statements, on two files that have all keys already and stay. */
static void measure_statements(void)
{
    sqlite3 *db[2] = {create("source", COUNTER), create("source", PLAIN)};
    run_many(db[COUNTER], COUNTER_ADD, 0);
    run_many(db[PLAIN], PLAIN_ADD, 0);
    for (size_t w = 0; w < sizeof statements / sizeof *statements; w++) {
        double rates[2][TURNS];
        for (int turn = 0; turn < TURNS; turn++) {
            for (side s = COUNTER; s <= PLAIN; s++) {
                run(db[s], "PRAGMA wal_checkpoint(TRUNCATE)");
                rates[s][turn] = run_many(db[s], statements[w].sql[s], (uint64_t)turn + 1);
            }
        }
        print_line(&statements[w], rates);
    }
    must(db[COUNTER], sqlite3_close(db[COUNTER]));
    must(db[PLAIN], sqlite3_close(db[PLAIN]));
}

/* The pulls, each turn into a new file, from the files that measure_statements has left. */
static void measure_pulls(void)
{
    double rates[2][2][TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            char path[600], *attach;
            path_of("source", s, "", path);
            sqlite3 *db = create("target", s);
            if (!(attach = sqlite3_mprintf("ATTACH %Q AS source", path))) exit(1);
            run(db, attach);
            sqlite3_free(attach);
            rates[0][s][turn] = run_pull(db, pulls[0].sql[s]);
            rates[1][s][turn] = run_pull(db, pulls[1].sql[s]);
            must(db, sqlite3_close(db));
        }
    }
    print_line(&pulls[0], rates[0]);
    print_line(&pulls[1], rates[1]);
}

/* Counting in a file whose identity is defended against counting in one where it is not: its VFS is
 * unknown, so no inode and no attribute are asked for, and its witness is never renewed. */
static void measure_defence(void)
{
    static const struct {
        workload work;
        uint64_t batch;
    } defences[] = {{{"defence, 1 per transaction", 0.93, {COUNTER_ADD, COUNTER_ADD}}, 1},
                    {{"defence, 1,000 per transaction", 0.99, {COUNTER_ADD, COUNTER_ADD}}, BATCH}};
    sqlite3 *db[2] = {create("defence", COUNTER), create_undefended("defence", PLAIN)};
    for (size_t w = 0; w < sizeof defences / sizeof *defences; w++) {
        double rates[2][TURNS];
        for (int turn = 0; turn < TURNS; turn++) {
            for (side s = COUNTER; s <= PLAIN; s++) {
                run(db[s], "PRAGMA wal_checkpoint(TRUNCATE)");
                rates[s][turn] = run_batches(db[s], defences[w].work.sql[s], (uint64_t)turn + 1,
                                             defences[w].batch, KEYS, STATEMENTS);
            }
        }
        print_line(&defences[w].work, rates);
    }
    must(db[COUNTER], sqlite3_close(db[COUNTER]));
    must(db[PLAIN], sqlite3_close(db[PLAIN]));
}

/* What it costs to write down which rows have changed: against a table that keeps no news. */
static void measure_numbers(void)
{
    static const struct {
        workload work;
        uint64_t seed, keys;
    } numbers[] = {{{"sequence number, 100 hot keys", 0.95, {COUNTER_ADD, COUNTER_ADD}}, 1, 100},
                   {{"the same, each key anew", 0.80, {COUNTER_ADD, COUNTER_ADD}}, 0, KEYS}};
    sqlite3 *db[2] = {create("numbers", COUNTER), open_new("numbers", PLAIN, NULL)};
    run(db[PLAIN], declarations[COUNTER]);
    run(db[PLAIN], WITHOUT_NEWS);
    for (side s = COUNTER; s <= PLAIN; s++) run_many(db[s], COUNTER_ADD, 0);
    for (size_t w = 0; w < sizeof numbers / sizeof *numbers; w++) {
        double rates[2][TURNS];
        for (int turn = 0; turn < TURNS; turn++) {
            for (side s = COUNTER; s <= PLAIN; s++) {
                run(db[s], "PRAGMA wal_checkpoint(TRUNCATE)");
                rates[s][turn] = run_batches(db[s], numbers[w].work.sql[s], numbers[w].seed, BATCH,
                                             numbers[w].keys, STATEMENTS);
            }
        }
        print_line(&numbers[w].work, rates);
    }
    for (side s = COUNTER; s <= PLAIN; s++) must(db[s], sqlite3_close(db[s]));
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
        remove_file(name, COUNTER);
        path_of(name, COUNTER, "", path);
        char *attach =
            sqlite3_mprintf("ATTACH %Q AS %s; PRAGMA %s.journal_mode = WAL;"
                            " PRAGMA %s.synchronous = NORMAL;"
                            " CREATE VIRTUAL TABLE %s.t USING counter(k TEXT PRIMARY KEY,"
                            " n COUNTER); SELECT * FROM counter_push(%Q)",
                            path, name, name, name, name, name);
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
static void measure_cluster(int replicas, const char *level, uint64_t batch)
{
    char name[64];
    const workload work = {name, 1 / 1.3, {"", ""}};
    double rates[2][TURNS];
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
        rates[COUNTER][turn] =
            replicas * run_batches(db[COUNTER], "INSERT INTO c(k, n) VALUES (?1, ?2)", seed, batch,
                                   FEW, batch == 1 ? FEW / 5 : STATEMENTS / 5);
        rates[PLAIN][turn] = run_batches(db[PLAIN], COUNTER_ADD, seed, batch, FEW,
                                         batch == 1 ? FEW / 5 : STATEMENTS / 5);
    }
    print_line(&work, rates);
    sqlite3_free(set);
    for (side s = COUNTER; s <= PLAIN; s++) must(db[s], sqlite3_close(db[s]));
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
    uint64_t rows;
    char *pull; /* SQL */
} pair;

static pair create_pair(side which, uint64_t rows)
{
    char path[600];
    pair made = {create("many", which), create("puller", which), rows, NULL};
    run(made.source, "DROP TABLE t");
    run(made.target, "DROP TABLE t");
    run(made.source, declarations[COUNTER]);
    run_batches(made.source, COUNTER_ADD, 0, rows, rows, rows);
    path_of("many", which, "", path);
    made.pull = sqlite3_mprintf("SELECT * FROM counter_pull(%Q)", path);
    if (!made.pull) exit(1);
    run(made.target, made.pull);
    return made;
}

static void close_pair(pair *made)
{
    must(made->source, sqlite3_close(made->source));
    must(made->target, sqlite3_close(made->target));
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
        must(db, sqlite3_close(db));
    }
    return n / (now() - began);
}

static void measure_nothing(const pair *many)
{
    enum { PULLS = 200 };
    static const workload work = {"delta pull, nothing new, 1e6 rows", 0.5, {"", ""}};
    double rates[2][TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        rates[COUNTER][turn] = time_pulls(many, PULLS);
        rates[PLAIN][turn] = time_empty(many, PULLS);
    }
    print_line(&work, rates);
}

/* 1,000 rows that changed: all over the table, or neighbours. */
static void measure_delta(const pair pairs[2], const workload *work, bool neighbours)
{
    double rates[2][TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            run(pairs[s].source, "PRAGMA wal_checkpoint(TRUNCATE)");
            run(pairs[s].target, "PRAGMA wal_checkpoint(TRUNCATE)");
            run_batches(pairs[s].source, COUNTER_ADD, neighbours ? 0 : (uint64_t)turn + 1, BATCH,
                        pairs[s].rows, BATCH);
            rates[s][turn] = time_pulls(&pairs[s], 1);
        }
    }
    print_line(work, rates);
}

static void measure_deltas(void)
{
    static const workload random_rows = {"delta of 1,000, 1e6 rows / 1e4", 0.33, {"", ""}},
                          neighbours = {"the same, rows that are near", 0.33, {"", ""}};
    pair pairs[2] = {create_pair(COUNTER, MANY), create_pair(PLAIN, FEW)};
    measure_nothing(&pairs[COUNTER]);
    measure_delta(pairs, &random_rows, false);
    measure_delta(pairs, &neighbours, true);
    for (side s = COUNTER; s <= PLAIN; s++) close_pair(&pairs[s]);
}

int main(int argc, char **argv)
{
    snprintf(folder, sizeof folder, "%s/XXXXXX", argc > 1 ? argv[1] : "build/bench");
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    if (sqlite3_auto_extension((void (*)(void))sqlite3_counter_init)) return 1;
    printf("SQLite %s, median of %d turns\n", sqlite3_libversion(), TURNS);
    print_head();
    measure_statements();
    measure_pulls();
    measure_defence();
    measure_numbers();
    measure_deltas();
    measure_clusters();
    static const char *const names[] = {"source",   "target",   "defence",  "numbers",
                                        "many",     "puller",   "replica0", "replica1",
                                        "replica2", "replica3", "replica4"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (side s = COUNTER; s <= PLAIN; s++) remove_file(names[i], s);
    rmdir(folder);
    return 0;
}
