/* limits.c - what SQLite itself leaves to any extension, beside the same work on a plain table.
 *
 *     build/bench/limits [folder [text]]      databases in a new folder inside, removed in the end;
 *                                             with a text only lines whose name contains it
 *
 * No line of the library counts here. In place of a counter table stands the least that could do its
 * work: a virtual table that takes a row and does nothing with it, that writes it to the end of an
 * ordinary table, that writes a cell for it at once, or that reads an ordinary table with a prepared
 * statement; in place of a tracked column's triggers, one that gives the change to such a table. So
 * these ratios are the most that the same lines of bench.c can reach, or the least that they can
 * cost. Keys, turns and transactions are those of bench.c.
 *
 * A cell of one shard has CELL bytes here: its id has 16, and clock, value and lengths the others.
 */
#include "common.h"
#include "requests.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 100000, BIG = 1000000, HOT = 100, CELL = 24 };
enum { MANY = 300000, SOME = 150000, SINGLE = 30000 };
enum { AN_ORDER = 777767, ANOTHER = 555557 };

#define PLAIN_TABLE "CREATE TABLE plain(k TEXT PRIMARY KEY, n INTEGER)"
#define UPSERT \
    "INSERT INTO plain(k, n) VALUES (?1, ?2) ON CONFLICT(k) DO UPDATE SET n = n + excluded.n"
#define UPDATE "UPDATE plain SET n = n + ?2 WHERE k = ?1"

static texts keys; /* BIG of them */

/* ---- the virtual tables ---------------------------------------------------------------------- */

/* `append` takes a row that comes; NULL: nothing does. */
typedef struct least {
    sqlite3_vtab base;
    sqlite3 *db;
    sqlite3_stmt *append, *scan, *look_up;
} least;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *reading;
    bool at_end;
} cursor;

enum { SCANNED, LOOKED_UP };

/* `aux` is the SQL of an INSERT of a key and a number, or NULL. */
static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **made,
                   char **error)
{
    (void)argc;
    (void)argv;
    (void)error;
    least *table = calloc(1, sizeof *table);
    if (!table) return SQLITE_NOMEM;
    table->db = db;
    if (aux)
        must(db, sqlite3_prepare_v3(db, aux, -1, SQLITE_PREPARE_PERSISTENT, &table->append, NULL));
    *made = &table->base;
    sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    return sqlite3_declare_vtab(db, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID");
}

static int disconnect(sqlite3_vtab *base)
{
    least *table = (least *)base;
    sqlite3_finalize(table->append);
    sqlite3_finalize(table->scan);
    sqlite3_finalize(table->look_up);
    free(table);
    return SQLITE_OK;
}

static int plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn != 0 || !info->aConstraint[i].usable ||
            info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->idxNum = LOOKED_UP;
        info->estimatedCost = 1;
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    }
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **made)
{
    (void)base;
    *made = calloc(1, sizeof(cursor));
    return *made ? SQLITE_OK : SQLITE_NOMEM;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    cursor *at = (cursor *)base;
    if (at->reading) sqlite3_reset(at->reading);
    free(at);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    cursor *at = (cursor *)base;
    at->at_end = sqlite3_step(at->reading) != SQLITE_ROW;
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int how, const char *text, int argc,
                  sqlite3_value **argv)
{
    (void)text;
    cursor *at = (cursor *)base;
    least *table = (least *)base->pVtab;
    sqlite3_stmt **statement = how == SCANNED ? &table->scan : &table->look_up;
    if (!*statement)
        must(table->db, sqlite3_prepare_v3(table->db,
                                           how == SCANNED ? "SELECT k, n FROM cells"
                                                          : "SELECT k, n FROM cells WHERE k = ?1",
                                           -1, SQLITE_PREPARE_PERSISTENT, statement, NULL));
    at->reading = *statement;
    sqlite3_reset(at->reading);
    if (argc) sqlite3_bind_value(at->reading, 1, argv[0]);
    return next(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
    return ((cursor *)base)->at_end;
}

/* The value is the last four bytes of the cell; to find it costs next to nothing. */
static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
    cursor *at = (cursor *)base;
    if (i == 0) {
        sqlite3_result_value(context, sqlite3_column_value(at->reading, 0));
    } else {
        int64_t value = 0;
        const void *cell = sqlite3_column_blob(at->reading, 1);
        if (cell) memcpy(&value, (const char *)cell + CELL - 4, 4);
        sqlite3_result_int64(context, value);
    }
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    (void)base;
    *id = 0;
    return SQLITE_OK;
}

static int update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *id)
{
    (void)argc;
    (void)id;
    least *table = (least *)base;
    if (!table->append) return SQLITE_OK;
    sqlite3_bind_value(table->append, 1, argv[2]);
    sqlite3_bind_value(table->append, 2, argv[3]);
    sqlite3_step(table->append);
    return sqlite3_reset(table->append);
}

static int nothing(sqlite3_vtab *base)
{
    (void)base;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xCreate = connect,
    .xConnect = connect,
    .xBestIndex = plan,
    .xDisconnect = disconnect,
    .xDestroy = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = at_end,
    .xColumn = column,
    .xRowid = rowid,
    .xUpdate = update,
    .xBegin = nothing,
    .xSync = nothing,
    .xCommit = nothing,
    .xRollback = nothing,
};

/* ---- files ----------------------------------------------------------------------------------- */

#define LOG "CREATE TABLE log(n INTEGER PRIMARY KEY, k, by)"
#define APPEND "INSERT INTO log(k, by) VALUES (?1, ?2)"
#define NEW_CELL "INSERT INTO cells(k, n) VALUES (?1, zeroblob(24))"

static void create_modules(sqlite3 *db)
{
    must(db, sqlite3_create_module(db, "takes", &module, NULL));
    must(db, sqlite3_create_module(db, "appends", &module, (void *)APPEND));
    must(db, sqlite3_create_module(db, "writes", &module, (void *)NEW_CELL));
}

static void load(sqlite3 *db, const char *sql, uint32_t n, uint32_t step)
{
    uint32_t *order = order_once(n, step);
    task_run(db, &(task){sql, &keys, order, n, n, NULL});
    free(order);
}

/* A plain table of `rows` rows, and what `sql` makes. */
static void create(const char *name, side which, uint32_t rows, const char *sql)
{
    sqlite3 *db = open_new(name, which, NULL);
    create_modules(db);
    run(db, PLAIN_TABLE);
    if (rows) load(db, UPSERT, rows, AN_ORDER);
    if (sql) run(db, sql);
    close_db(db);
}

static double run_task(const char *name, side which, const task *of)
{
    sqlite3 *db = open_again(name, which);
    create_modules(db);
    double time = task_run(db, of);
    close_db(db);
    return time;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Random keys among `among`, which are others in each turn, as in bench.c. */
static void measure(const char *name, const char *made, const char *least_sql,
                    const char *plain_sql, uint32_t among, uint32_t batch, uint32_t n)
{
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    create("limits", COUNTER, SMALL, made);
    create("limits", PLAIN, SMALL, NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_uniform(n, among, new_seed());
        order_shift(order, n, new_seed(), SMALL);
        found.value[COUNTER][turn] =
            run_task("limits", COUNTER, &(task){least_sql, &keys, order, n, batch, NULL});
        found.value[PLAIN][turn] =
            run_task("limits", PLAIN, &(task){plain_sql, &keys, order, n, batch, NULL});
        free(order);
    }
    table_line(&found);
}

static void measure_requests(const char *name)
{
    enum { REPEATED = 30 };
    result found = {name, RATE, {{0}}, 0};
    texts paths;
    uint32_t *order;
    if (!table_wants(name)) return;
    uint32_t n = requests_read(getenv("COUNTER_DATA"), REPEATED, &paths, &order);
    if (n == 0) return;
    create("limits", COUNTER, 0, "CREATE VIRTUAL TABLE counted USING takes");
    create("limits", PLAIN, 0, NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        order_shift(order, n, new_seed(), paths.n);
        found.value[COUNTER][turn] =
            run_task("limits", COUNTER,
                     &(task){"INSERT INTO counted VALUES (?1, ?2)", &paths, order, n, 10000, NULL});
        found.value[PLAIN][turn] =
            run_task("limits", PLAIN, &(task){UPSERT, &paths, order, n, 10000, NULL});
    }
    table_line(&found);
    requests_free(&paths, order);
}

#define CELLS                                                           \
    "CREATE TABLE cells(k TEXT PRIMARY KEY, n BLOB) WITHOUT ROWID;"     \
    "INSERT INTO cells SELECT k, randomblob(24) FROM plain ORDER BY k;" \
    "DROP TABLE plain; VACUUM; CREATE VIRTUAL TABLE counted USING takes"

static void measure_cold(const char *name)
{
    enum { BLOCKS = 5, BLOCK = 10000 };
    static const char *const look_ups[] = {"SELECT n FROM counted WHERE k = ?1",
                                           "SELECT n FROM plain WHERE k = ?1"};
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    create("limits", COUNTER, SMALL, CELLS);
    create("limits", PLAIN, SMALL, NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_shuffled(SMALL, new_seed());
        for (int i = 0; i < BLOCKS; i++) {
            for (side s = COUNTER; s <= PLAIN; s++) {
                task block = {look_ups[s], &keys, order + i * BLOCK, BLOCK, 1000, NULL};
                found.value[s][turn] += run_task("limits", s, &block) / BLOCKS;
            }
        }
        free(order);
    }
    table_line(&found);
}

static void measure_sum(const char *name)
{
    static const char *const sums[] = {"SELECT sum(n) FROM counted", "SELECT sum(n) FROM plain"};
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    create("limits", COUNTER, BIG, CELLS);
    create("limits", PLAIN, BIG, NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            sqlite3 *db = open_again("limits", s);
            create_modules(db);
            found.value[s][turn] = time_sql(db, sums[s]) * 1e9 / BIG;
            close_db(db);
        }
    }
    table_line(&found);
}

/* Two tables of cells with the same keys: each takes the other's shard into its own. */
static void measure_pull(const char *name)
{
    enum { ROWS = 300000 };
    static const char *const takes[] = {
        "UPDATE cells SET n = cells.n || other.n, seq = cells.seq + 1 FROM source.cells AS other"
        " WHERE other.k = cells.k",
        "INSERT INTO plain SELECT k, n FROM source.plain WHERE true"
        " ON CONFLICT(k) DO UPDATE SET n = max(n, excluded.n)"};
    static const char *const cells =
        "CREATE TABLE cells(k TEXT PRIMARY KEY, n BLOB, seq INTEGER) WITHOUT ROWID;"
        "INSERT INTO cells SELECT k, randomblob(24), 1 FROM plain ORDER BY k;"
        "DROP TABLE plain; VACUUM";
    result found = {name, COST, {{0}}, 0};
    if (!table_wants(name)) return;
    for (side s = COUNTER; s <= PLAIN; s++) {
        for (int i = 0; i < 2; i++) {
            sqlite3 *db = open_new(i ? "before" : "third", s, NULL);
            run(db, PLAIN_TABLE);
            load(db, UPSERT, ROWS, i ? ANOTHER : AN_ORDER);
            if (s == COUNTER) run(db, cells);
            close_db(db);
        }
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            char path[600];
            copy_file("before", "target", s);
            sqlite3 *db = open_again("target", s);
            path_of("third", s, path);
            run_with_path(db, "ATTACH %Q AS source", path);
            found.value[s][turn] = time_sql(db, takes[s]) * 1e9 / ROWS;
            close_db(db);
        }
    }
    table_line(&found);
}

#define TAKES "CREATE VIRTUAL TABLE counted USING takes"
#define APPENDS LOG "; CREATE VIRTUAL TABLE counted USING appends"
#define COUNTED "INSERT INTO counted VALUES (?1, ?2)"

/* The triggers of a tracked column: the change goes to a virtual table. */
#define TRACKED(made)                                                \
    made "; CREATE TRIGGER changed AFTER UPDATE OF n ON plain BEGIN" \
         " INSERT INTO counted VALUES (new.k, new.n - old.n); END;"  \
         "CREATE TRIGGER added AFTER INSERT ON plain BEGIN"          \
         " INSERT INTO counted VALUES (new.k, new.n); END;"

#define NUMBERED                                            \
    "ALTER TABLE plain RENAME TO named;"                    \
    "CREATE TABLE plain(k INTEGER PRIMARY KEY, n INTEGER);" \
    "INSERT INTO plain SELECT rowid, n FROM named; DROP TABLE named;"

static void measure_numbered(const char *name)
{
    static const texts numbers = {NULL, NULL, NULL, BIG};
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    create("limits", COUNTER, SMALL, TRACKED(NUMBERED TAKES));
    create("limits", PLAIN, SMALL, NUMBERED);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_uniform(SOME, SMALL, new_seed());
        for (side s = COUNTER; s <= PLAIN; s++)
            found.value[s][turn] =
                run_task("limits", s, &(task){UPDATE, &numbers, order, SOME, 1000, NULL});
        free(order);
    }
    table_line(&found);
}

/* A cell for each row of the table, in a table like that of a counter table's cells; new ones come
 * by the virtual table `module`. */
#define CELL_FOR_EACH_ROW(module)                                                    \
    "CREATE TABLE cells(_id INTEGER PRIMARY KEY, k TEXT NOT NULL, n BLOB NOT NULL);" \
    "INSERT INTO cells(k, n) SELECT k, zeroblob(24) FROM plain ORDER BY k;"          \
    "CREATE VIRTUAL TABLE counted USING " module

/* Each turn inserts rows that the table has never had. */
static void measure_new(const char *name, const char *made)
{
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    create("limits", COUNTER, SMALL, made);
    create("limits", PLAIN, SMALL, NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_once(SMALL, 1);
        order_shift(order, SMALL, SMALL * (uint32_t)(turn + 1), BIG);
        for (side s = COUNTER; s <= PLAIN; s++)
            found.value[s][turn] = run_task("limits", s,
                                            &(task){"INSERT INTO plain(k, n) VALUES (?1, ?2)",
                                                    &keys, order, SMALL, 1000, NULL});
        free(order);
    }
    table_line(&found);
}

/* The UPDATEs alone that write merged values into such a table, one for each row in the order of
 * storage, beside the plain merge. */
static void measure_tracked_pull(const char *name)
{
    static const char *const merge = "INSERT INTO plain SELECT k, n FROM source.plain WHERE true"
                                     " ON CONFLICT(k) DO UPDATE SET n = max(n, excluded.n)";
    result found = {name, COST, {{0}}, 0};
    if (!table_wants(name)) return;
    create("third", PLAIN, SMALL, NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        char path[600];
        uint32_t *order = order_once(SMALL, AN_ORDER);
        create("limits", COUNTER, SMALL, TRACKED(TAKES));
        found.value[COUNTER][turn] =
            run_task("limits", COUNTER, &(task){UPDATE, &keys, order, SMALL, SMALL, NULL});
        create("limits", PLAIN, 0, NULL);
        sqlite3 *db = open_again("limits", PLAIN);
        load(db, UPSERT, SMALL, ANOTHER);
        path_of("third", PLAIN, path);
        run_with_path(db, "ATTACH %Q AS source", path);
        found.value[PLAIN][turn] = time_sql(db, merge) * 1e9 / SMALL;
        close_db(db);
        free(order);
    }
    table_line(&found);
}

/* Pulls one row by hand: opens the source, looks up the row, commits a transaction on the target.
 * PLAIN writes nothing. COUNTER does the least that a pull promises: it first syncs the source, so
 * that a power cut cannot take from it a row that the target has, and writes the row. */
static void pull_by_hand(sqlite3 *target, const char *path, uint32_t key, side which)
{
    sqlite3 *db;
    sqlite3_stmt *look;
    sqlite3_file *log = NULL;
    must(target, sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL));
    must(db, sqlite3_prepare_v2(db, "SELECT n FROM plain WHERE k = ?1", -1, &look, NULL));
    sqlite3_bind_text(look, 1, keys.at[key], keys.size[key], SQLITE_STATIC);
    must(db, sqlite3_step(look));
    if (which == COUNTER)
        must(db, sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log));
    if (log) must(db, log->pMethods->xSync(log, SQLITE_SYNC_NORMAL));
    run(target, "BEGIN IMMEDIATE");
    if (which == COUNTER) {
        sqlite3_stmt *merge;
        must(target, sqlite3_prepare_v2(target, "UPDATE plain SET n = max(n, ?2) WHERE k = ?1", -1,
                                        &merge, NULL));
        sqlite3_bind_text(merge, 1, keys.at[key], keys.size[key], SQLITE_STATIC);
        sqlite3_bind_value(merge, 2, sqlite3_column_value(look, 0));
        must(target, sqlite3_step(merge));
        must(target, sqlite3_finalize(merge));
    }
    run(target, "COMMIT");
    must(db, sqlite3_finalize(look));
    close_db(db);
}

static void measure_delta(const char *name)
{
    enum { PULLS = 200 };
    result found = {name, COST, {{0}}, 0};
    char path[600];
    if (!table_wants(name)) return;
    create("third", PLAIN, SMALL, NULL);
    create("before", PLAIN, SMALL, NULL);
    sqlite3 *source = open_again("third", PLAIN), *target = open_again("before", PLAIN);
    path_of("third", PLAIN, path);
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            uint32_t *order = order_uniform(PULLS, SMALL, new_seed());
            double sum = 0;
            for (int i = 0; i < PULLS; i++) {
                task_run(source, &(task){UPDATE, &keys, order + i, 1, 1, NULL});
                double began = now();
                pull_by_hand(target, path, order[i], s);
                sum += now() - began;
            }
            found.value[s][turn] = sum * 1e9 / PULLS;
            free(order);
        }
    }
    close_db(source);
    close_db(target);
    table_line(&found);
}

int main(int argc, char **argv)
{
    folder_make(argc > 1 ? argv[1] : "build/bench");
    fprintf(stderr, "SQLite %s, median of %d pairs\n", sqlite3_libversion(), TURNS);
    keys = keys_new(BIG);
    table_begin("plain", NULL, argc > 2 ? argv[2] : NULL);
    measure("INSERT, uniform, 1,000 per transaction: taken", TAKES, COUNTED, UPSERT, SMALL, 1000,
            MANY);
    measure("INSERT, 100 hot keys: taken", TAKES, COUNTED, UPSERT, HOT, 10000, MANY);
    measure_requests("INSERT, real requests: taken");
    measure("INSERT, one per transaction: appended", APPENDS, COUNTED, UPSERT, SMALL, 1, SINGLE);
    measure_cold("SELECT by key, cold: handed on");
    measure_sum("SELECT sum(n), 1,000,000 rows: handed on");
    measure_pull("full pull, 300,000 rows: cells joined by key");
    measure_delta("delta pull, one row of 100,000: one row written, the source synced");
    measure("UPDATE, tracked, 1,000 per transaction: taken", TRACKED(TAKES), UPDATE, UPDATE, SMALL,
            1000, SOME);
    measure("UPDATE, tracked, one per transaction: appended", TRACKED(APPENDS), UPDATE, UPDATE,
            SMALL, 1, SINGLE);
    measure("UPSERT, tracked, 1,000 per transaction: taken", TRACKED(TAKES), UPSERT, UPSERT, SMALL,
            1000, SOME);
    measure_numbered("UPDATE, tracked, INTEGER PRIMARY KEY: taken");
    measure_new("INSERT of new rows, tracked: taken", TRACKED(TAKES));
    measure_new("INSERT of new rows, tracked: cells written at once",
                TRACKED(CELL_FOR_EACH_ROW("writes")));
    measure_tracked_pull("pull, tracked, 100,000 rows: UPDATEs alone");
    table_end();
    texts_free(&keys);
    folder_remove();
    return 0;
}
