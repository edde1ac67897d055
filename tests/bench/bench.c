/* bench.c - the cost of counting, beside the same work on a plain table.
 *
 *     build/bench/bench [folder [text]]      databases in a new folder inside, removed in the end;
 *                                            with a text only lines whose name contains it
 *
 * Both sides: prepared statements, the same keys of 24 bytes, made beforehand, the same
 * transactions, WAL, synchronous=NORMAL, the page cache that SQLite ships. Each turn opens both
 * files in new connections and draws other keys: no turn warms a cache for the next. Turns are so
 * long that a store which postpones work does it several times. Closing a file checkpoints it, and
 * is not measured; checkpoints that SQLite makes on its own are.
 *
 * The environment variable COUNTER_DATA names a file of web requests to be counted, lines of time,
 * hour, path, status and bytes, parted by tabs, under one header line. COUNTER_LARGE, set to
 * anything, adds tables of 10,000,000 rows, in an hour and 3 GB of storage.
 *
 * Writes rates.tsv, costs.tsv and growth.tsv, for plots.gp, into the folder.
 */
#include "lines.h"
#include "pairs.h"
#include "requests.h"

#include <stdlib.h>

enum { HOT = 100 };

#define CELLS "SELECT counter_init(); CREATE TABLE cells(k TEXT PRIMARY KEY, n)"
#define CELL_UPSERT                                              \
    "INSERT INTO cells(k, n) VALUES (?1, counter_inc(NULL, ?2))" \
    " ON CONFLICT(k) DO UPDATE SET n = counter_inc(n, ?2)"

#define JOIN "SELECT k, a.n, b.n FROM main.plain AS a JOIN source.plain AS b USING (k) ORDER BY k"

static pair empty = {"requests", 0, false}, tiny = {"tiny", TINY, false},
            small = {"small", SMALL, false}, big = {"big", BIG, false},
            vast = {"vast", VAST, false};

/* ---- statements ------------------------------------------------------------------------------ */

typedef struct workload {
    const char *name;
    pair *files;
    enum { UNIFORM, ZIPF, HUNDRED } pick;
    uint32_t batch, n;
    const char *sql[2];
} workload;

#define ADDS        \
    {               \
        ADD, UPSERT \
    }
#define UPDATES                            \
    {                                      \
        UPDATE("counted"), UPDATE("plain") \
    }

static const workload workloads[] = {
    {"INSERT, uniform, 1,000 per transaction, 100,000 keys", &small, UNIFORM, 1000, MANY, ADDS},
    {"INSERT, uniform, 10,000 per transaction, 100,000 keys", &small, UNIFORM, 10000, MANY, ADDS},
    {"INSERT, Zipf, 1,000 per transaction, 100,000 keys", &small, ZIPF, 1000, MANY, ADDS},
    {"INSERT, Zipf, 10,000 per transaction, 100,000 keys", &small, ZIPF, 10000, MANY, ADDS},
    {"INSERT, 100 hot keys, 10,000 per transaction", &small, HUNDRED, 10000, MANY, ADDS},
    {"INSERT, uniform, one per transaction, 100,000 keys", &small, UNIFORM, 1, SINGLE, ADDS},
    {"UPDATE, uniform, 1,000 per transaction, 100,000 keys", &small, UNIFORM, 1000, MANY, UPDATES},
    {"INSERT, Zipf, 1,000 per transaction, 1,000,000 keys", &big, ZIPF, 1000, SOME, ADDS},
    {"INSERT, Zipf, 10,000 per transaction, 1,000,000 keys", &big, ZIPF, 10000, SOME, ADDS},
    {"INSERT, uniform, 10,000 per transaction, 1,000,000 keys", &big, UNIFORM, 10000, MANY, ADDS},
    {"UPDATE, uniform, 1,000 per transaction, 1,000,000 keys", &big, UNIFORM, 1000, SOME, UPDATES},
    {"INSERT, Zipf, 1,000 per transaction, 10,000,000 keys", &vast, ZIPF, 1000, SOME, ADDS},
    {"INSERT, uniform, 10,000 per transaction, 10,000,000 keys", &vast, UNIFORM, 10000, SOME, ADDS},
    {"UPDATE, uniform, 1,000 per transaction, 10,000,000 keys", &vast, UNIFORM, 1000, SOME,
     UPDATES},
};

/* The keys of a turn: which of them are hot differs from turn to turn. */
static uint32_t *draw_keys(const workload *work)
{
    uint32_t rows = work->files->rows, among = work->pick == HUNDRED ? HOT : rows;
    uint32_t *order = work->pick == ZIPF ? order_zipf(work->n, rows, new_seed())
                                         : order_uniform(work->n, among, new_seed());
    order_shift(order, work->n, new_seed(), rows);
    return order;
}

static void measure(const workload *work)
{
    result found = {work->name, RATE, {{0}}, 0};
    if (!table_wants(work->name)) return;
    need(work->files);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = draw_keys(work);
        for (side s = COUNTER; s <= PLAIN; s++)
            found.value[s][turn] = run_task(
                work->files, s, &(task){work->sql[s], &keys, order, work->n, work->batch, NULL});
        free(order);
    }
    table_line(&found);
}

static void measure_all(const pair *files)
{
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (workloads[i].files == files) measure(&workloads[i]);
}

/* Cells in a column of an ordinary table, against a number in one. */
static void measure_cells(void)
{
    result found = {"counter_inc in UPSERT, uniform, 1,000 per transaction", RATE, {{0}}, 0};
    pair cells = {"cells", SMALL, true};
    if (!table_wants(found.name)) return;
    need(&small);
    sqlite3 *db = open_new("cells", COUNTER, NULL);
    run(db, CELLS);
    load(db, CELL_UPSERT, SMALL, AN_ORDER);
    close_db(db);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_uniform(SOME, SMALL, new_seed());
        task ours = {CELL_UPSERT, &keys, order, SOME, 1000, NULL};
        task theirs = {UPSERT, &keys, order, SOME, 1000, NULL};
        found.value[COUNTER][turn] = run_task(&cells, COUNTER, &ours);
        found.value[PLAIN][turn] = run_task(&small, PLAIN, &theirs);
        free(order);
    }
    table_line(&found);
}

/* Each turn begins elsewhere among the requests. */
static void measure_requests(void)
{
    enum { REPEATED = 30 };
    result found = {"INSERT, real requests, 10,000 per transaction", RATE, {{0}}, 0};
    texts paths;
    uint32_t *order;
    if (!table_wants(found.name)) return;
    uint32_t n = requests_read(getenv("COUNTER_DATA"), REPEATED, &paths, &order);
    if (n == 0) {
        fprintf(stderr, "bench: without COUNTER_DATA real requests are not counted\n");
        return;
    }
    need(&empty);
    for (int turn = 0; turn < TURNS; turn++) {
        order_shift(order, n, new_seed(), paths.n);
        for (side s = COUNTER; s <= PLAIN; s++)
            found.value[s][turn] =
                run_task(&empty, s, &(task){adds[s], &paths, order, n, 10000, NULL});
    }
    table_line(&found);
    requests_free(&paths, order);
}

/* ---- reads ----------------------------------------------------------------------------------- */

/* Blocks of look-ups, each in a new connection, and no row twice. */
static void measure_cold(pair *files, const char *name)
{
    enum { BLOCKS = 5, BLOCK = 10000 };
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    need(files);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_shuffled(files->rows, new_seed());
        for (int i = 0; i < BLOCKS; i++) {
            for (side s = COUNTER; s <= PLAIN; s++) {
                task block = {look_ups[s], &keys, order + i * BLOCK, BLOCK, 1000, NULL};
                found.value[s][turn] += run_task(files, s, &block) / BLOCKS;
            }
        }
        free(order);
    }
    table_line(&found);
}

/* Look-ups of rows that the same connection has read before, in another order. */
static void measure_warm(pair *files, uint32_t rows, const char *name)
{
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    need(files);
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t first = new_seed();
        uint32_t *before = order_shuffled(rows, new_seed());
        uint32_t *order = order_uniform(SMALL, rows, new_seed());
        order_shift(before, rows, first, files->rows);
        order_shift(order, SMALL, first, files->rows);
        for (side s = COUNTER; s <= PLAIN; s++) {
            sqlite3 *db = open_again(files->name, s);
            task_run(db, &(task){look_ups[s], &keys, before, rows, 1000, NULL});
            found.value[s][turn] =
                task_run(db, &(task){look_ups[s], &keys, order, SMALL, 1000, NULL});
            close_db(db);
        }
        free(before);
        free(order);
    }
    table_line(&found);
}

static void measure_sum(void)
{
    static const char *const sums[] = {"SELECT sum(n) FROM counted", "SELECT sum(n) FROM plain"};
    result found = {"SELECT sum(n), 1,000,000 rows", RATE, {{0}}, 0};
    if (!table_wants(found.name)) return;
    need(&big);
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            sqlite3 *db = open_again(big.name, s);
            found.value[s][turn] = time_sql(db, sums[s]) * 1e9 / BIG;
            close_db(db);
        }
    }
    table_line(&found);
}

static void measure_size(const char *name)
{
    result found = {name, BYTES, {{0}}, 1};
    if (!table_wants(name)) return;
    need(&big);
    for (side s = COUNTER; s <= PLAIN; s++) {
        sqlite3 *db = open_again(big.name, s);
        int64_t size =
            number_of(db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
        found.value[s][0] = (double)size / BIG;
        close_db(db);
    }
    table_line(&found);
}

/* The milliseconds of one look-up in a new connection; the least of a few, against noise. */
static double first_look_up(const pair *files, side which, uint32_t key)
{
    enum { TRIES = 3 };
    double least = 1e9;
    for (int i = 0; i < TRIES; i++) {
        sqlite3_stmt *statement;
        sqlite3 *db = open_again(files->name, which);
        double began = now();
        must(db, sqlite3_prepare_v2(db, look_ups[which], -1, &statement, NULL));
        sqlite3_bind_text(statement, 1, keys.at[key], keys.size[key], SQLITE_STATIC);
        must(db, sqlite3_step(statement));
        sqlite3_column_int64(statement, 0);
        double took = (now() - began) * 1e3;
        must(db, sqlite3_finalize(statement));
        close_db(db);
        if (took < least) least = took;
    }
    return least;
}

/* The longest first look-up while another connection counts, one after each 1,000 increments: some
 * meet a file in which nearly as much work waits as ever does. */
static void measure_worst(uint32_t batch, const char *name)
{
    enum { STEPS = 70, STEP = 1000 };
    result found = {name, LONGEST, {{0}}, 0};
    if (!table_wants(name)) return;
    need(&small);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_uniform(STEPS * STEP, SMALL, new_seed());
        for (side s = COUNTER; s <= PLAIN; s++) {
            sqlite3 *db = open_again(small.name, s);
            for (int i = 0; i < STEPS; i++) {
                task_run(db, &(task){adds[s], &keys, order + i * STEP, STEP, batch, NULL});
                double took = first_look_up(&small, s, order[i]);
                if (took > found.value[s][turn]) found.value[s][turn] = took;
            }
            close_db(db);
        }
        free(order);
    }
    table_line(&found);
}

/* ---- pulls ----------------------------------------------------------------------------------- */

/* Both files have each key, in another order than the source has, as if each had counted alone. */
static void measure_new_shards(void)
{
    result found = {"full pull, 300,000 rows, each with a new shard", COST, {{0}}, 0};
    if (!table_wants(found.name)) return;
    for (side s = COUNTER; s <= PLAIN; s++) {
        close_db(create("third", s, THIRD, AN_ORDER));
        close_db(create("before", s, THIRD, ANOTHER));
    }
    measure_pull(&found, THIRD, MERGE);
}

static void measure_nothing_new(void)
{
    static const char *const first[] = {PULL, MERGE}, *const takes[] = {PULL, JOIN};
    result found = {"full pull, 1,000,000 rows, nothing new", COST, {{0}}, 0};
    if (!table_wants(found.name)) return;
    need(&big);
    for (side s = COUNTER; s <= PLAIN; s++) {
        sqlite3 *db = create("target", s, BIG, ANOTHER);
        attach_source(db, "big", s);
        run(db, first[s]);
        close_db(db);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            sqlite3 *db = open_again("target", s);
            attach_source(db, "big", s);
            found.value[s][turn] = time_sql(db, takes[s]) * 1e9 / BIG;
            close_db(db);
        }
    }
    table_line(&found);
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* Increments of random rows. */
static double time_adds(const pair *files, side which, uint32_t batch, double *longest)
{
    uint32_t *order = order_uniform(SOME, files->rows, new_seed());
    double time = run_task(files, which, &(task){adds[which], &keys, order, SOME, batch, longest});
    free(order);
    return time;
}

static void draw(FILE *to, double x, const double *numbers)
{
    spread of = spread_of(numbers, TURNS);
    fprintf(to, "%g\t%.4f\t%.4f\t%.4f\n", x, of.median / 1e3, of.least / 1e3, of.most / 1e3);
}

/* Increments of random rows, 1,000 to a transaction, in tables of 10,000 to 1,000,000 rows. */
static void measure_rows(FILE *plot)
{
    enum { SIZES = 3 };
    pair *const files[SIZES] = {&tiny, &small, &big};
    double cost[2][SIZES][TURNS];
    result found = {"INSERT, cost at 1,000,000 keys / at 10,000", TIMES, {{0}}, 0};
    result longest[SIZES] = {
        {"", LONGEST, {{0}}, 0},
        {"longest COMMIT of 1,050,000 INSERTs, 100,000 keys", LONGEST, {{0}}, 0},
        {"longest COMMIT of 1,050,000 INSERTs, 1,000,000 keys", LONGEST, {{0}}, 0}};
    if (!table_wants(found.name) && !table_wants(longest[1].name) && !table_wants(longest[2].name))
        return;
    for (int i = 0; i < SIZES; i++) need(files[i]);
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < SIZES; i++)
            for (side s = COUNTER; s <= PLAIN; s++)
                cost[s][i][turn] = time_adds(files[i], s, 1000, &longest[i].value[s][turn]);
    for (side s = COUNTER; s <= PLAIN; s++) {
        for (int turn = 0; turn < TURNS; turn++)
            found.value[s][turn] = cost[s][SIZES - 1][turn] / cost[s][0][turn];
        fprintf(plot, "# %s\n", s == COUNTER ? "counter" : "plain");
        for (int i = 0; i < SIZES; i++) draw(plot, files[i]->rows, cost[s][i]);
        fprintf(plot, "\n\n");
    }
    table_line(&found);
    for (int i = 1; i < SIZES; i++) table_line(&longest[i]);
}

/* A file with `shards` shards in each cell: those of others, and its own. */
static void create_shards(const pair *files, int shards)
{
    char others[640];
    sqlite3 *db = create(files->name, COUNTER, files->rows, ANOTHER);
    snprintf(others, sizeof others,
             "CREATE TEMP TABLE names AS SELECT k FROM counted;"
             " WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < %d)"
             " INSERT INTO counter_changes(table_name, key, change, seq, source)"
             " SELECT 'counted', counter_key(k), (SELECT counter_change_of('{\"tells\":\"row\","
             "\"columns\":[{\"name\":\"n\",\"kind\":\"counter\",\"generation\":1,\"cell\":' ||"
             " counter_json(counter_collect(randomblob(16), 1000 + i, i)) || '}]}') FROM i),"
             " 1, '7529cd67-394b-3247-8020-f2a7272fc8d9' FROM names",
             shards - 1);
    if (shards > 1) run(db, others);
    close_db(db);
}

/* Increments of `rows` rows, 10,000 to a transaction, with few and with many shards in
 * each cell. */
static void measure_shards(const char *name, uint32_t rows, FILE *plot)
{
    enum { SIZES = 5 };
    static const int shards[SIZES] = {1, 3, 10, 30, 100};
    static const char *const names[SIZES] = {"shards1", "shards3", "shards10", "shards30",
                                             "shards100"};
    double cost[SIZES][TURNS];
    result found = {name, COST, {{0}}, 0};
    if (!table_wants(name)) return;
    for (int i = 0; i < SIZES; i++) create_shards(&(pair){names[i], rows, true}, shards[i]);
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < SIZES; i++)
            cost[i][turn] = time_adds(&(pair){names[i], rows, true}, COUNTER, 10000, NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        found.value[COUNTER][turn] = cost[SIZES - 1][turn];
        found.value[PLAIN][turn] = cost[0][turn];
    }
    fprintf(plot, "# shards-%u\n", (unsigned)rows);
    for (int i = 0; i < SIZES; i++) draw(plot, shards[i], cost[i]);
    fprintf(plot, "\n\n");
    table_line(&found);
}

/* A pull that brings one new shard for cells of 1,000, and the same to cells of one: on both sides
 * counters, in files of 1,000 rows. */
static void measure_wide(void)
{
    enum { WIDE = 1000 };
    result found = {"pull of a new shard, 1,000 shards in the cell / 1", COST, {{0}}, 0};
    static const char *const names[] = {"wide", "narrow"}, *const sources[] = {"wider", "narrower"};
    if (!table_wants(found.name)) return;
    for (int i = 0; i < 2; i++) {
        create_shards(&(pair){names[i], WIDE, true}, i == 0 ? WIDE : 1);
        close_db(open_new(sources[i], COUNTER, NULL));
        copy_file(names[i], sources[i], COUNTER);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < 2; i++) {
            sqlite3 *db = open_again(sources[i], COUNTER);
            run(db, "UPDATE counted SET n = n + 1");
            close_db(db);
            db = open_again(names[i], COUNTER);
            attach_source(db, sources[i], COUNTER);
            found.value[i][turn] = time_sql(db, "SELECT * FROM counter_pull('source')") * 1e6;
            close_db(db);
        }
    }
    table_line(&found);
}

int main(int argc, char **argv)
{
    const char *parent = argc > 1 ? argv[1] : "build/bench";
    folder_make(parent);
    fprintf(stderr, "SQLite %s, median of %d pairs\n", sqlite3_libversion(), TURNS);
    const bool large = getenv("COUNTER_LARGE") != NULL;
    keys = keys_new(large ? VAST : BIG);
    table_begin("plain", parent, argc > 2 ? argv[2] : NULL);
    FILE *plot = create_text(parent, "growth.tsv");
    measure_all(&small);
    measure_cells();
    measure_requests();
    measure_cold(&small, "SELECT by key, cold, 100,000 keys");
    measure_warm(&small, SMALL, "SELECT by key, warm, 100,000 keys");
    measure_warm(&small, TINY, "SELECT by key, warm, 10,000 of 100,000 keys");
    measure_worst(1000, "longest first SELECT, 1,000 INSERTs per transaction");
    measure_worst(16, "longest first SELECT, 16 INSERTs per transaction");
    measure_size("size of the file, 1,000,000 rows of one shard");
    measure_sum();
    measure_all(&big);
    measure_cold(&big, "SELECT by key, cold, 1,000,000 keys");
    measure_rows(plot);
    measure_size("size of the file, the same after INSERTs and UPDATEs");
    measure_shards("INSERT, 100 shards in the cell / 1, 100 hot keys", HOT, plot);
    measure_shards("INSERT, 100 shards in the cell / 1, 10,000 keys", TINY, plot);
    measure_wide();
    fclose(plot);
    if (large) {
        measure_all(&vast);
        measure_cold(&vast, "SELECT by key, cold, 10,000,000 keys");
    }
    measure_new_shards();
    measure_nothing_new();
    measure_keys();
    measure_tracked();
    measure_tables();
    measure_fsyncs();
    table_end();
    texts_free(&keys);
    folder_remove();
    return 0;
}
