/* tracked.c - the cost of tracked columns, by keys of text and by numbers, and of replicated
 * tables. */
#include "lines.h"
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#define NUMBERED "CREATE TABLE plain(k INTEGER PRIMARY KEY, n INTEGER)"
#define COUNTED_BY_NUMBER \
    "CREATE VIRTUAL TABLE counted USING counter(k INTEGER PRIMARY KEY, n COUNTER)"
#define TRACK "SELECT counter_track('plain', 'n', 'keys=assigned')"
#define WHOLE                                                                       \
    "CREATE TABLE plain(k TEXT PRIMARY KEY, n INTEGER, name TEXT DEFAULT 'a name'," \
    " price REAL DEFAULT 1.5, note TEXT)"
#define REPLICATE "SELECT counter_replicate('plain', 'n')"
#define BOUND REPLICATE "; SELECT counter_bound('plain', 'n')"
#define MERGE_WHOLE                                                       \
    "INSERT INTO plain SELECT * FROM source.plain WHERE true"             \
    " ON CONFLICT(k) DO UPDATE SET n = excluded.n, name = excluded.name," \
    " price = excluded.price, note = excluded.note"

static const texts numbers = {NULL, NULL, NULL, BIG};

/* The same table on both sides; that of the counter side is tracked. SMALL rows. */
typedef struct table {
    const char *name, *declaration, *track;
    const texts *keys;
    bool made;
} table;

static table by_text = {"tracked", UNCOUNTED, TRACK, &keys, false},
             by_number = {"numbered", NUMBERED, TRACK, &numbers, false},
             whole = {"whole", WHOLE, REPLICATE, &keys, false},
             bounded = {"bounded", WHOLE, BOUND, &keys, false};

/* `change` is made before the table is tracked; NULL: none. */
static void create_tracked(const char *name, const table *of, uint32_t step, const char *change)
{
    uint32_t *order = order_once(SMALL, step);
    for (side s = COUNTER; s <= PLAIN; s++) {
        sqlite3 *db = open_new(name, s, NULL);
        run(db, of->declaration);
        task_run(db, &(task){UPSERT, of->keys, order, SMALL, SMALL, NULL});
        if (change) run(db, change);
        if (s == COUNTER) run(db, of->track);
        close_db(db);
    }
    free(order);
}

static void need_table(table *of)
{
    if (!of->made) create_tracked(of->name, of, AN_ORDER, NULL);
    of->made = true;
}

static double run_in(const table *of, side which, const task *work)
{
    return run_task(&(pair){of->name, SMALL, true}, which, work);
}

/* ---- rows that stay -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    table *of;
    const char *sql;
    uint32_t batch, n;
} works[] = {
    {"UPDATE of a tracked column, 1,000 per transaction", &by_text, UPDATE("plain"), 1000, SOME},
    {"UPDATE of a tracked column, one per transaction", &by_text, UPDATE("plain"), 1, SINGLE},
    {"UPSERT of a tracked column, 1,000 per transaction", &by_text, UPSERT, 1000, SOME},
    {"SELECT of a tracked column by key", &by_text, LOOK_UP("plain"), SOME, SOME},
    {"SELECT sum() of a tracked column, 100,000 rows", &by_text, "SELECT sum(n) FROM plain", 30,
     30},
    {"UPDATE, tracked, INTEGER PRIMARY KEY, 1,000 at once", &by_number, UPDATE("plain"), 1000,
     SOME},
    {"UPDATE of a regular column, 1,000 per transaction", &whole,
     "UPDATE plain SET price = price + ?2 WHERE k = ?1", 1000, SOME},
    {"UPDATE of a replicated counter, 1,000 per transaction", &whole, UPDATE("plain"), 1000, SOME},
    {"UPDATE of a bounded counter, 1,000 per transaction", &bounded, UPDATE("plain"), 1000, SOME},
    {"UPDATE of all columns, one changed, replicated", &whole,
     "UPDATE plain SET n = n, name = name, price = price + ?2, note = note WHERE k = ?1", 1000,
     SOME},
    {"REPLACE, replicated, 1,000 per transaction", &whole,
     "REPLACE INTO plain(k, n) VALUES (?1, ?2)", 1000, SOME},
};

static void measure_work(size_t i)
{
    result found = {works[i].name, RATE, {{0}}, 0};
    if (!table_wants(found.name)) return;
    need_table(works[i].of);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t n = works[i].n, *order = order_uniform(n, SMALL, new_seed());
        task work = {works[i].sql, works[i].of->keys, order, n, works[i].batch, NULL};
        for (side s = COUNTER; s <= PLAIN; s++)
            found.value[s][turn] = run_in(works[i].of, s, &work);
        free(order);
    }
    table_line(&found);
}

/* ---- rows that come and go ------------------------------------------------------------------- */

#define INSERT_NEW "INSERT INTO plain(k, n) VALUES (?1, ?2)"
enum { NEW = 100000 }; /* rows of a turn that the table has never had */

/* Inserts them, and deletes them in another order. */
static void measure_new_rows(table *of, const char *inserts, const char *deletes)
{
    result inserted = {inserts, RATE, {{0}}, 0}, deleted = {deletes, RATE, {{0}}, 0};
    if (!table_wants(inserts) && !table_wants(deletes)) return;
    need_table(of);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t first = SMALL + (uint32_t)turn * NEW;
        uint32_t *order = order_once(NEW, 1), *other = order_shuffled(NEW, new_seed());
        order_shift(order, NEW, first, BIG);
        order_shift(other, NEW, first, BIG);
        task insert = {INSERT_NEW, of->keys, order, NEW, 1000, NULL};
        task delete = {"DELETE FROM plain WHERE k = ?1", of->keys, other, NEW, 1000, NULL};
        for (side s = COUNTER; s <= PLAIN; s++) inserted.value[s][turn] = run_in(of, s, &insert);
        for (side s = COUNTER; s <= PLAIN; s++) deleted.value[s][turn] = run_in(of, s, &delete);
        free(order);
        free(other);
    }
    table_line(&inserted);
    table_line(&deleted);
}

static int by_text_of_key(const void *a, const void *b)
{
    return strcmp(keys.at[*(const uint32_t *)a], keys.at[*(const uint32_t *)b]);
}

/* Into a table that only grows, 1,000 per transaction: no row id was used before. */
static void measure_growth(result *found, bool in_order)
{
    for (int turn = 0; table_wants(found->name) && turn < TURNS; turn++) {
        static table fresh = {"fresh", WHOLE, REPLICATE, &keys, false};
        uint32_t *order = order_shuffled(NEW, new_seed());
        order_shift(order, NEW, SMALL, BIG);
        if (in_order) qsort(order, NEW, sizeof *order, by_text_of_key);
        create_tracked(fresh.name, &fresh, AN_ORDER, "DELETE FROM plain");
        task insert = {INSERT_NEW, fresh.keys, order, NEW, 1000, NULL};
        for (side s = COUNTER; s <= PLAIN; s++) found->value[s][turn] = run_in(&fresh, s, &insert);
        free(order);
    }
    table_line(found);
}

/* One per transaction; and, in the order of the keys, 1,000 per transaction. */
static void measure_replicated_rows(void)
{
    result singly = {"INSERT of new rows, replicated, one per transaction", RATE, {{0}}, 0};
    result grown = {"INSERT of new rows, replicated, none was deleted", RATE, {{0}}, 0};
    result in_order = {"INSERT of new rows, replicated, keys in order", RATE, {{0}}, 0};
    result bytes = {"size of the file, 100,000 replicated rows", BYTES, {{0}}, 1};
    static table alone = {"alone", WHOLE, REPLICATE, &keys, false};
    if (table_wants(singly.name)) need_table(&alone);
    for (int turn = 0; table_wants(singly.name) && turn < TURNS; turn++) {
        uint32_t *order = order_once(SINGLE, 1);
        order_shift(order, SINGLE, SMALL + (uint32_t)turn * SINGLE, BIG);
        task insert = {INSERT_NEW, alone.keys, order, SINGLE, 1, NULL};
        for (side s = COUNTER; s <= PLAIN; s++) singly.value[s][turn] = run_in(&alone, s, &insert);
        free(order);
    }
    table_line(&singly);
    measure_growth(&grown, false);
    measure_growth(&in_order, true);
    if (!table_wants(bytes.name)) return;
    table *of = &(table){"sized", WHOLE, REPLICATE, &keys, false};
    create_tracked(of->name, of, AN_ORDER, NULL);
    for (side s = COUNTER; s <= PLAIN; s++) {
        sqlite3 *db = open_again(of->name, s);
        run(db, "VACUUM");
        bytes.value[s][0] = (double)number_of(db, "SELECT page_count * page_size / 100000.0"
                                                  " FROM pragma_page_count, pragma_page_size");
        close_db(db);
    }
    table_line(&bytes);
}

/* Each row has a new shard at the source, and its column is written. A value of 0 is no opening,
 * about which the pull would ask. */
static void measure_tracked_pull(void)
{
    result found = {"pull that changes 100,000 tracked rows", COST, {{0}}, 0};
    if (!table_wants(found.name)) return;
    create_tracked("third", &by_text, AN_ORDER, NULL);
    create_tracked("before", &by_text, AN_ORDER, "UPDATE plain SET n = 0");
    measure_pull(&found, SMALL, MERGE);
}

/* The rows are new, or all of their columns are. */
static void measure_whole_pull(const char *name, bool changes)
{
    result found = {name, COST, {{0}}, 0};
    if (!table_wants(name)) return;
    create_tracked("third", &whole, AN_ORDER, NULL);
    for (side s = COUNTER; s <= PLAIN; s++) {
        sqlite3 *db = open_new("before", s, NULL);
        run(db, WHOLE);
        if (s == COUNTER) run(db, REPLICATE);
        if (changes) {
            attach_source(db, "third", s);
            run(db, s == COUNTER ? PULL : MERGE_WHOLE);
        }
        close_db(db);
        db = open_again("third", s);
        if (changes) run(db, "UPDATE plain SET n = n + 1, name = 'b', price = 2, note = 'c'");
        close_db(db);
    }
    measure_pull(&found, SMALL, MERGE_WHOLE);
}

void measure_tracked(void)
{
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) measure_work(i);
    measure_new_rows(&by_text, "INSERT of new rows, tracked, 1,000 per transaction",
                     "DELETE, tracked, 1,000 per transaction");
    measure_new_rows(&by_number, "INSERT of new rows, tracked, INTEGER PRIMARY KEY",
                     "DELETE, tracked, INTEGER PRIMARY KEY");
    measure_tracked_pull();
    measure_new_rows(&whole, "INSERT of new rows, replicated, 1,000 per transaction",
                     "DELETE, replicated, 1,000 per transaction");
    measure_replicated_rows();
    measure_whole_pull("pull that brings 100,000 replicated rows", false);
    measure_whole_pull("pull that changes 100,000 replicated rows", true);
}

/* ---- counter tables by numbers --------------------------------------------------------------- */

void measure_keys(void)
{
    result found = {"INSERT, INTEGER PRIMARY KEY, 1,000 per transaction", RATE, {{0}}, 0};
    static const char *const declarations[] = {COUNTED_BY_NUMBER, NUMBERED};
    const pair files = {"numbers", SMALL, true};
    if (!table_wants(found.name)) return;
    for (side s = COUNTER; s <= PLAIN; s++) {
        sqlite3 *db = open_new(files.name, s, NULL);
        run(db, declarations[s]);
        task_run(db, &(task){adds[s], &numbers, NULL, SMALL, SMALL, NULL});
        close_db(db);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_uniform(MANY, SMALL, new_seed());
        task work = {NULL, &numbers, order, MANY, 1000, NULL};
        for (side s = COUNTER; s <= PLAIN; s++) {
            work.sql = adds[s];
            found.value[s][turn] = run_task(&files, s, &work);
        }
        free(order);
    }
    table_line(&found);
}
