/* bench.c - the cost of counting, beside the same work on a plain table.
 *
 *     build/bench/bench [folder]      databases in a new folder inside, removed in the end
 *
 * Both sides: prepared statements, the same keys of 24 bytes, made beforehand, the same
 * transactions, WAL, synchronous=NORMAL, the page cache that SQLite ships. A checkpoint stands
 * before each turn, and is not measured; those that SQLite makes on its own are. The bars are told,
 * not enforced.
 *
 * The environment variable COUNTER_DATA names a file of web requests to be counted, lines of time,
 * hour, path, status and bytes, parted by tabs, under one header line.
 *
 * Writes rates.tsv, costs.tsv and growth.tsv, for plots.gp, into the folder.
 */
#include "common.h"
#include "requests.h"

#include <stdlib.h>

int sqlite3_counter_init(sqlite3 *db, char **error, const struct sqlite3_api_routines *api);

enum { TINY = 10000, SMALL = 100000, THIRD = 300000, BIG = 1000000, HOT = 100 };
enum { AN_ORDER = 777767, ANOTHER = 555557 }; /* steps of order_once: two files, two orders */

#define COUNTED "CREATE VIRTUAL TABLE counted USING counter(k TEXT PRIMARY KEY, n COUNTER)"
#define UNCOUNTED "CREATE TABLE plain(k TEXT PRIMARY KEY, n INTEGER)"
#define CELLS "SELECT counter_init(); CREATE TABLE cells(k TEXT PRIMARY KEY, n)"

#define ADD "INSERT INTO counted(k, n) VALUES (?1, ?2)"
#define UPSERT \
    "INSERT INTO plain(k, n) VALUES (?1, ?2) ON CONFLICT(k) DO UPDATE SET n = n + excluded.n"
#define CELL_UPSERT                                              \
    "INSERT INTO cells(k, n) VALUES (?1, counter_inc(NULL, ?2))" \
    " ON CONFLICT(k) DO UPDATE SET n = counter_inc(n, ?2)"
#define UPDATE(table) "UPDATE " table " SET n = n + ?2 WHERE k = ?1"
#define LOOK_UP(table) "SELECT n FROM " table " WHERE k = ?1"

#define PULL "SELECT * FROM counter_pull('source', 'full')"
#define JOIN "SELECT k, a.n, b.n FROM main.plain AS a JOIN source.plain AS b USING (k) ORDER BY k"
#define MERGE                                                    \
    "INSERT INTO plain SELECT k, n FROM source.plain WHERE true" \
    " ON CONFLICT(k) DO UPDATE SET n = max(n, excluded.n)"

static const char *const declarations[] = {COUNTED, UNCOUNTED};
static const char *const adds[] = {ADD, UPSERT};

static texts keys; /* BIG of them */

/* Counts each key once, in one transaction. */
static void load(sqlite3 *db, const char *sql, uint32_t n, uint32_t step)
{
    uint32_t *order = order_once(n, step);
    task_run(db, &(task){sql, &keys, order, n, n});
    checkpoint(db);
    free(order);
}

static sqlite3 *create(const char *name, side which, uint32_t rows, uint32_t step)
{
    sqlite3 *db = open_new(name, which, NULL);
    run(db, declarations[which]);
    if (rows) load(db, adds[which], rows, step);
    return db;
}

static sqlite3 *create_cells(void)
{
    sqlite3 *db = open_new("cells", COUNTER, NULL);
    run(db, CELLS);
    load(db, CELL_UPSERT, SMALL, AN_ORDER);
    return db;
}

static void create_both(sqlite3 *db[2], const char *name, uint32_t rows)
{
    for (side s = COUNTER; s <= PLAIN; s++) db[s] = create(name, s, rows, AN_ORDER);
}

static void close_both(sqlite3 *db[2])
{
    for (side s = COUNTER; s <= PLAIN; s++) close_db(db[s]);
}

/* ---- statements ------------------------------------------------------------------------------ */

typedef enum pick { UNIFORM, ZIPF } pick;

typedef struct workload {
    const char *name;
    double bar;
    uint32_t keys;
    pick pick;
    uint32_t batch, n;
    const char *sql[2];
} workload;

#define ADDS        \
    {               \
        ADD, UPSERT \
    }

static const workload small_workloads[] = {
    {"INSERT, Zipf, 1,000 per transaction, 100,000 keys", 1.1, SMALL, ZIPF, 1000, SMALL, ADDS},
    {"INSERT, Zipf, 10,000 per transaction, 100,000 keys", 1.5, SMALL, ZIPF, 10000, SMALL, ADDS},
    {"INSERT, 100 hot keys, 10,000 per transaction", 2.5, HOT, UNIFORM, 10000, SMALL, ADDS},
    {"INSERT, uniform, one per transaction, 100,000 keys", 0.9, SMALL, UNIFORM, 1, SMALL / 5, ADDS},
    {"UPDATE, uniform, 1,000 per transaction, 100,000 keys",
     0.65,
     SMALL,
     UNIFORM,
     1000,
     SMALL,
     {UPDATE("counted"), UPDATE("plain")}},
    {"SELECT by key, uniform, 100,000 keys",
     0.5,
     SMALL,
     UNIFORM,
     1000,
     SMALL,
     {LOOK_UP("counted"), LOOK_UP("plain")}},
};
static const workload big_workloads[] = {
    {"INSERT, Zipf, 1,000 per transaction, 1,000,000 keys", 1.1, BIG, ZIPF, 1000, SMALL / 2, ADDS},
    {"INSERT, Zipf, 10,000 per transaction, 1,000,000 keys", 1.5, BIG, ZIPF, 10000, SMALL / 2,
     ADDS},
    {"INSERT, uniform, 10,000 per transaction, 1,000,000 keys", 0.9, BIG, UNIFORM, 10000, SMALL / 2,
     ADDS},
    {"UPDATE, uniform, 1,000 per transaction, 1,000,000 keys",
     0.65,
     BIG,
     UNIFORM,
     1000,
     SMALL / 2,
     {UPDATE("counted"), UPDATE("plain")}},
    {"SELECT by key, uniform, 1,000,000 keys",
     0.5,
     BIG,
     UNIFORM,
     1000,
     SMALL / 2,
     {LOOK_UP("counted"), LOOK_UP("plain")}},
};
static const workload cell_workload = {"counter_inc in UPSERT, uniform, 1,000 per transaction",
                                       0.8,
                                       SMALL,
                                       UNIFORM,
                                       1000,
                                       SMALL,
                                       {CELL_UPSERT, UPSERT}};

/* The turns of one task; `order` NULL: drawn anew for each turn. */
static void measure(sqlite3 *const db[2], const workload *work, const texts *of,
                    const uint32_t *order)
{
    result found = {work->name, PER_SECOND, work->bar, {{0}}, 0};
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t seed = (uint64_t)turn + 1;
        uint32_t *drawn = order                ? NULL
                          : work->pick == ZIPF ? order_zipf(work->n, work->keys, seed)
                                               : order_uniform(work->n, work->keys, seed);
        for (side s = COUNTER; s <= PLAIN; s++) {
            checkpoint(db[s]);
            task of_turn = {work->sql[s], of, order ? order : drawn, work->n, work->batch};
            found.value[s][turn] = task_run(db[s], &of_turn);
        }
        free(drawn);
    }
    table_line(&found);
}

static void measure_all(sqlite3 *const db[2], const workload *works, size_t n)
{
    for (size_t i = 0; i < n; i++) measure(db, &works[i], &keys, NULL);
}

static void measure_requests(void)
{
    enum { REPEATED = 10 };
    texts paths;
    uint32_t *order;
    sqlite3 *db[2];
    uint32_t n = requests_read(getenv("COUNTER_DATA"), REPEATED, &paths, &order);
    if (n == 0) {
        fprintf(stderr, "bench: without COUNTER_DATA real requests are not counted\n");
        return;
    }
    create_both(db, "requests", 0);
    measure(db,
            &(workload){"INSERT, real requests, 10,000 per transaction", 2.0, paths.n, UNIFORM,
                        10000, n, ADDS},
            &paths, order);
    close_both(db);
    requests_free(&paths, order);
}

static void measure_sum(sqlite3 *const db[2])
{
    static const char *const sums[] = {"SELECT sum(n) FROM counted", "SELECT sum(n) FROM plain"};
    result found = {"SELECT sum(n), 1,000,000 rows", PER_SECOND, 0.3, {{0}}, 0};
    for (int turn = 0; turn < TURNS; turn++)
        for (side s = COUNTER; s <= PLAIN; s++)
            found.value[s][turn] = BIG / time_sql(db[s], sums[s]);
    table_line(&found);
}

static void measure_size(sqlite3 *const db[2])
{
    result found = {"size of the file, 1,000,000 rows of one shard", BYTES, 1.7, {{0}}, 1};
    for (side s = COUNTER; s <= PLAIN; s++)
        found.value[s][0] = (double)number_of(
            db[s], "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    table_line(&found);
}

/* ---- pulls ----------------------------------------------------------------------------------- */

static void attach_source(sqlite3 *db, const char *name, side which)
{
    char path[600];
    path_of(name, which, path);
    run_with_path(db, "ATTACH %Q AS source", path);
}

/* Both files have each key, in another order than the source has, as if each had counted alone. */
static void measure_new_shards(void)
{
    static const char *const takes[] = {PULL, MERGE};
    result found = {"full pull, 300,000 rows, each with a new shard", SECONDS, 2.0, {{0}}, 0};
    for (side s = COUNTER; s <= PLAIN; s++) {
        close_db(create("third", s, THIRD, AN_ORDER));
        close_db(create("before", s, THIRD, ANOTHER));
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            copy_file("before", "target", s);
            sqlite3 *db = open_again("target", s);
            attach_source(db, "third", s);
            found.value[s][turn] = time_sql(db, takes[s]);
            close_db(db);
        }
    }
    table_line(&found);
}

static void measure_nothing_new(void)
{
    static const char *const first[] = {PULL, MERGE}, *const takes[] = {PULL, JOIN};
    result found = {"full pull, 1,000,000 rows, nothing new", SECONDS, 1.5, {{0}}, 0};
    sqlite3 *db[2];
    for (side s = COUNTER; s <= PLAIN; s++) {
        db[s] = create("target", s, BIG, ANOTHER);
        attach_source(db[s], "big", s);
        run(db[s], first[s]);
        checkpoint(db[s]);
    }
    for (int turn = 0; turn < TURNS; turn++)
        for (side s = COUNTER; s <= PLAIN; s++) found.value[s][turn] = time_sql(db[s], takes[s]);
    table_line(&found);
    close_both(db);
}

/* ---- growth ---------------------------------------------------------------------------------- */

static double microseconds(sqlite3 *db, const char *sql, uint32_t rows, uint32_t batch, int turn)
{
    uint32_t *order = order_uniform(SMALL / 2, rows, (uint64_t)turn + 101);
    checkpoint(db);
    double rate = task_run(db, &(task){sql, &keys, order, SMALL / 2, batch});
    free(order);
    return 1e6 / rate;
}

static void draw(FILE *to, double x, const double *numbers)
{
    spread of = spread_of(numbers, TURNS);
    fprintf(to, "%g\t%.4f\t%.4f\t%.4f\n", x, of.median, of.least, of.most);
}

/* Increments of random rows, 1,000 to a transaction, in tables of 10,000 to 1,000,000 rows. */
static void measure_rows(sqlite3 *const small[2], sqlite3 *const big[2], FILE *plot)
{
    enum { SIZES = 3 };
    static const uint32_t rows[SIZES] = {TINY, SMALL, BIG};
    sqlite3 *tiny[2];
    create_both(tiny, "tiny", TINY);
    sqlite3 *const *const dbs[SIZES] = {tiny, small, big};
    double cost[2][SIZES][TURNS];
    result found = {"INSERT, cost at 1,000,000 keys / at 10,000", TIMES, 1.1, {{0}}, 0};
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < SIZES; i++)
            for (side s = COUNTER; s <= PLAIN; s++)
                cost[s][i][turn] = microseconds(dbs[i][s], adds[s], rows[i], 1000, turn);
    for (side s = COUNTER; s <= PLAIN; s++) {
        for (int turn = 0; turn < TURNS; turn++)
            found.value[s][turn] = cost[s][SIZES - 1][turn] / cost[s][0][turn];
        fprintf(plot, "# %s\n", s == COUNTER ? "counter" : "plain");
        for (int i = 0; i < SIZES; i++) draw(plot, rows[i], cost[s][i]);
        fprintf(plot, "\n\n");
    }
    table_line(&found);
    close_both(tiny);
}

/* A file with `shards` shards in each cell: those of others, and its own. */
static sqlite3 *create_shards(int shards, uint32_t rows)
{
    char name[32], others[512];
    snprintf(name, sizeof name, "shards%d", shards);
    sqlite3 *db = create(name, COUNTER, rows, ANOTHER);
    snprintf(others, sizeof others,
             "WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < %d)"
             " INSERT INTO counter_changes(table_name, key, column_name, generation, cell, seq,"
             " source) SELECT 'counted', counter_key(k), 'n', 1,"
             " (SELECT counter_collect(randomblob(16), 1000 + i, i) FROM i), 1,"
             " '7529cd67-394b-3247-8020-f2a7272fc8d9' FROM counted_cells",
             shards - 1);
    if (shards > 1) run(db, others);
    return db;
}

/* Increments of `rows` rows, 10,000 to a transaction, with few and with many shards in
 * each cell. */
static void measure_shards(const char *name, uint32_t rows, FILE *plot)
{
    enum { SIZES = 5 };
    static const int shards[SIZES] = {1, 3, 10, 30, 100};
    double cost[SIZES][TURNS];
    sqlite3 *dbs[SIZES];
    result found = {name, MICROSECONDS, 1.5, {{0}}, 0};
    for (int i = 0; i < SIZES; i++) dbs[i] = create_shards(shards[i], rows);
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < SIZES; i++)
            cost[i][turn] = microseconds(dbs[i], ADD, rows, 10000, turn);
    for (int turn = 0; turn < TURNS; turn++) {
        found.value[COUNTER][turn] = cost[SIZES - 1][turn];
        found.value[PLAIN][turn] = cost[0][turn];
    }
    fprintf(plot, "# shards-%u\n", (unsigned)rows);
    for (int i = 0; i < SIZES; i++) {
        draw(plot, shards[i], cost[i]);
        close_db(dbs[i]);
    }
    fprintf(plot, "\n\n");
    table_line(&found);
}

#define SOME(workloads) workloads, sizeof workloads / sizeof *workloads

int main(int argc, char **argv)
{
    const char *parent = argc > 1 ? argv[1] : "build/bench";
    folder_make(parent);
    if (sqlite3_auto_extension((void (*)(void))sqlite3_counter_init)) return 1;
    fprintf(stderr, "SQLite %s, median of %d pairs\n", sqlite3_libversion(), TURNS);
    table_begin("counter", "plain", parent);
    keys = keys_new(BIG);
    sqlite3 *small[2], *big[2];
    create_both(small, "small", SMALL);
    measure_all(small, SOME(small_workloads));
    sqlite3 *cells[2] = {create_cells(), small[PLAIN]};
    measure(cells, &cell_workload, &keys, NULL);
    close_db(cells[COUNTER]);
    measure_requests();
    create_both(big, "big", BIG);
    measure_size(big);
    measure_sum(big);
    measure_all(big, SOME(big_workloads));
    FILE *plot = create_text(parent, "growth.tsv");
    measure_rows(small, big, plot);
    measure_shards("INSERT, 100 shards in the cell / 1, 100 hot keys", HOT, plot);
    measure_shards("INSERT, 100 shards in the cell / 1, 10,000 keys", TINY, plot);
    fclose(plot);
    close_both(small);
    close_both(big);
    measure_new_shards();
    measure_nothing_new();
    table_end();
    texts_free(&keys);
    folder_remove();
    return 0;
}
