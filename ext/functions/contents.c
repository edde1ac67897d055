/* functions/contents.c - digests, floors, cells and the size of a counter table.
 *
 *     counter_table_digest(table [, schema])        a UUID; equal for equal contents: cells,
 *                                                   deleted rows, floors, whatever the order
 *     counter_digests(table, buckets [, schema])    bucket, rows, digest: one row for each of 1 ...
 *                                                   65,536 parts; without floors
 *     counter_floors(table [, schema])              column_name, floor: one row for each floor
 *     counter_purge(table [, schema])               table_name, rows, bytes: removed below floors
 *                                                   so far, in this file; bytes of keys and cells
 *
 *     counter_cells(table [, schema])               key, column_name, cell: one row per touched
 *                                                   counter; key as JSON, as from counter_key_json;
 *                                                   the cell includes the amounts of the journal
 *
 *     counter_size(table [, schema])    one row:
 *         rows, live, deleted           stored rows; the visible ones; the deleted ones
 *         cells, bytes                  touched counters; bytes of keys and cells
 *         shards_mean, shards_p99, shards_max     shards of a live cell
 *         ids                           replica ids with a shard in some cell
 *     counter_ids(table [, schema])     id, cells: the number of cells in which it has a shard;
 *                                       the most first
 *
 * `table` is the present name of a counter table or of a tracked one. They read the state of the
 * connection, with uncommitted changes.
 */
#include <stdlib.h>
#include <string.h>

#include "functions/functions.h"

/* The table that the arguments name. */
typedef struct subject {
    char *table;            /* owned; the counter table */
    sqlite3_stmt *snapshot; /* all reads are of one commit */
    ctr_shape shape;
    ctr_row row;
} subject;

/* Returns the name of a counter table, given that name or the one of the table that it tracks; the
 * caller frees it. Fails if the file has no such table, or an unknown format. */
static char *find_counters(ctr_file *file, const char *table)
{
    ctr_identity identity;
    ctr_catalog_entry entry = {0};
    if (ctr_file_peek(file, &identity)) return NULL;
    char *found = ctr_catalog_named(&entry, file->conn, file->schema, table)
                      ? ctr_text_copy(file->conn, table)
                      : ctr_triggers_counters(file, table);
    ctr_catalog_close_entry(&entry);
    if (!found)
        ctr_problem_set(file->conn, SQLITE_ERROR, "%s has no counter table '%s'", file->schema,
                        table);
    return found;
}

/* The caller closes it, also after a failure. */
static int open_subject(subject *asked, ctr_conn *conn, const char *schema, const char *table)
{
    *asked = (subject){0};
    if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    ctr_run run = ctr_run_on(conn, schema, NULL);
    asked->snapshot = ctr_run_hold(&run);
    ctr_file *file = ctr_file_of(conn, schema);
    if (!file) return ctr_problem_nomem(conn);
    asked->table = find_counters(file, table);
    if (!asked->table || ctr_tab_read_shape(file, asked->table, &asked->shape)) return ctr_rc(conn);
    return ctr_row_open(&asked->row, file, asked->table, &asked->shape);
}

static int open_asked(subject *asked, ctr_answer *answer, sqlite3_value *table,
                      sqlite3_value *schema)
{
    const char *name = ctr_answer_arg(answer->conn, table, "the name of the table", NULL);
    const char *where = ctr_answer_schema(answer, schema);
    return open_subject(asked, answer->conn, where, name);
}

static void close_subject(subject *asked)
{
    ctr_row_close(&asked->row);
    ctr_shape_close(&asked->shape);
    sqlite3_finalize(asked->snapshot);
    sqlite3_free(asked->table);
}

/* ---- digests --------------------------------------------------------------------------------- */

static void fn_table_digest(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_table_digest";
    sqlite3 *db = sqlite3_context_db_handle(ctx);
    const char *table = ctr_arg_text(ctx, NAME, "the name of the table", argv[0]), *schema = "main";
    if (!table) return;
    if (argc > 1) schema = ctr_arg_text(ctx, NAME, "the name of a database", argv[1]);
    if (!schema) return;
    subject asked;
    uint8_t digest[CTR_ID_SIZE];
    ctr_conn *conn = sqlite3_user_data(ctx);
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    ctr_events_append(conn);
    if (!ctr_run_has_schema(db, schema))
        ctr_problem_set(conn, SQLITE_ERROR, "no attached database has the name '%s'", schema);
    if (open_subject(&asked, conn, schema, table) == SQLITE_OK)
        ctr_digest_table(digest, &asked.row);
    close_subject(&asked);
    if (ctr_arg_problem(ctx, NAME, &problem)) ctr_arg_result_id(ctx, digest);
}

static void show_digests(ctr_answer *answer, sqlite3_value **args)
{
    int64_t n = 0;
    if (!ctr_arg_take_integer(answer->conn, args[1], &n) || n < 1 || n > CTR_BUCKETS_MAX) {
        char wanted[48];
        sqlite3_snprintf(sizeof wanted, wanted, "an INTEGER, 1 ... %d", CTR_BUCKETS_MAX);
        ctr_problem_mismatch(answer->conn, "buckets", wanted, args[1]);
    }
    subject asked;
    open_asked(&asked, answer, args[0], args[2]);
    size_t size = (size_t)n * sizeof(ctr_digest);
    ctr_digest *digests = ctr_rc(answer->conn) == SQLITE_OK ? sqlite3_malloc64(size) : NULL;
    if (digests) {
        memset(digests, 0, size);
        ctr_digest_rows(digests, n, &asked.row);
    } else {
        ctr_problem_nomem(answer->conn);
    }
    for (int64_t i = 0; digests && i < n; i++) {
        uint8_t digest[CTR_ID_SIZE];
        char bucket[48];
        sqlite3_snprintf(sizeof bucket, bucket, "%lld/%lld", (long long)i, (long long)n);
        ctr_digest_finish(&digests[i], NULL, NULL, digest);
        ctr_answer_text(answer, bucket);
        ctr_answer_integer(answer, digests[i].rows);
        ctr_answer_id(answer, digest);
    }
    sqlite3_free(digests);
    close_subject(&asked);
}

/* ---- floors ---------------------------------------------------------------------------------- */

static void show_floors(ctr_answer *answer, sqlite3_value **args)
{
    subject asked;
    open_asked(&asked, answer, args[0], args[1]);
    ctr_slot *floors = asked.row.tab ? ctr_floors_read(asked.row.tab) : NULL;
    for (int i = 0; floors && i < asked.shape.n_keys; i++) {
        sqlite3_value *value = sqlite3_column_value(floors->kept.statement, i);
        if (sqlite3_value_type(value) == SQLITE_NULL) continue;
        ctr_answer_text(answer, asked.shape.columns[asked.shape.keys[i]].name);
        ctr_answer_value(answer, value);
    }
    ctr_tab_give_back(asked.row.tab, floors);
    close_subject(&asked);
}

static void show_purged(ctr_answer *answer, sqlite3_value **args)
{
    subject asked;
    open_asked(&asked, answer, args[0], args[1]);
    ctr_slot *floors = asked.row.tab ? ctr_floors_read(asked.row.tab) : NULL;
    int rows = asked.shape.n_keys + 1; /* after the floors and _seq */
    ctr_answer_text(answer, asked.table);
    ctr_answer_integer(answer, floors ? sqlite3_column_int64(floors->kept.statement, rows) : 0);
    ctr_answer_integer(answer, floors ? sqlite3_column_int64(floors->kept.statement, rows + 1) : 0);
    ctr_tab_give_back(asked.row.tab, floors);
    close_subject(&asked);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* Returns the key of the row that a walk stands on, as JSON; the caller frees it. */
static char *key_of_walk(ctr_conn *conn, const subject *asked, sqlite3_stmt *stands)
{
    const ctr_shape *shape = &asked->shape;
    ctr_packed packed = {0};
    sqlite3_value **keys = sqlite3_malloc64(((size_t)shape->n_keys + 1) * sizeof(sqlite3_value *));
    if (!keys) ctr_problem_nomem(conn);
    for (int i = 0; keys && i < shape->n_keys; i++)
        keys[i] = sqlite3_column_value(stands, CTR_WALK_COLUMNS + shape->keys[i]);
    bool whole = keys && ctr_pack_values(conn, &packed, keys, shape->n_keys) == SQLITE_OK;
    char *key = whole ? ctr_key_json_write(packed.bytes, packed.size) : NULL;
    if (!key) ctr_problem_nomem(conn);
    sqlite3_free(packed.bytes);
    sqlite3_free(keys);
    return key;
}

/* Answers with the touched counters of a row. */
static void show_touched(ctr_answer *answer, ctr_row *row, sqlite3_stmt *stands, const char *key)
{
    const ctr_shape *shape = row->shape;
    for (int i = 0; i < shape->n_counters && ctr_rc(answer->conn) == SQLITE_OK; i++) {
        ctr_cell cell;
        int column = CTR_WALK_COLUMNS + shape->counters[i];
        if (ctr_row_open_cell(row, stands, column, i, &cell)) break;
        if (ctr_cell_is_untouched(&cell)) continue;
        ctr_answer_text(answer, key);
        ctr_answer_text(answer, ctr_shape_counter_name(shape, i));
        ctr_answer_blob(answer, cell.bytes, cell.size);
    }
}

static void show_cells(ctr_answer *answer, sqlite3_value **args)
{
    subject asked;
    ctr_walk walk = {0};
    open_asked(&asked, answer, args[0], args[1]);
    if (ctr_rc(answer->conn) == SQLITE_OK) ctr_stream_walk_open(&walk, &asked.row, CTR_WALK_ALL, 0);
    while (ctr_stream_walk_next(&walk)) {
        char *key = key_of_walk(answer->conn, &asked, walk.row);
        if (key) show_touched(answer, &asked.row, walk.row, key);
        sqlite3_free(key);
    }
    ctr_stream_walk_close(&walk);
    close_subject(&asked);
}

/* ---- rights ---------------------------------------------------------------------------------- */

static void refuse_sum(ctr_answer *answer, subject *asked, const ctr_rights_walk *walk,
                       const uint8_t *id)
{
    char text[CTR_ID_TEXT_SIZE];
    ctr_id_to_text(id, text);
    ctr_problem_set(answer->conn, SQLITE_ERROR,
                    "integer overflow: what %s may take adds up to more than 64 bits; 'reset %s' "
                    "ends the rights of all",
                    text, ctr_shape_counter_name(&asked->shape, walk->counter));
    ctr_row_problem_at(&asked->row, sqlite3_column_int64(walk->rows.row, CTR_WALK_ID),
                       walk->counter);
}

/* Answers with who may take how much of a counter of a row, and who owes. */
static void show_rights_of(ctr_answer *answer, subject *asked, const ctr_rights_walk *walk,
                           const char *key)
{
    ctr_identity identity;
    if (ctr_identity_read(&identity, answer->conn, asked->row.tab->schema)) return;
    for (size_t i = 0; i < walk->rights.n; i++) {
        int64_t n;
        const ctr_right *right = &walk->rights.list[i];
        bool is_here = memcmp(right->id, identity.id, CTR_ID_SIZE) == 0;
        if (ctr_sum_value(&right->n, &n) != CTR_OK) {
            refuse_sum(answer, asked, walk, right->id);
            return;
        }
        if (n == 0 && !is_here) continue;
        ctr_answer_text(answer, key);
        ctr_answer_text(answer, ctr_shape_counter_name(&asked->shape, walk->counter));
        ctr_answer_id(answer, right->id);
        ctr_answer_integer(answer, n);
        ctr_answer_integer(answer, is_here);
    }
}

static void show_rights(ctr_answer *answer, sqlite3_value **args)
{
    subject asked;
    ctr_rights_walk walk = {.row = NULL};
    open_asked(&asked, answer, args[0], args[1]);
    if (ctr_rc(answer->conn) == SQLITE_OK) ctr_rights_walk_open(&walk, &asked.row);
    while (ctr_rc(answer->conn) == SQLITE_OK && ctr_rights_walk_next(&walk)) {
        char *key = key_of_walk(answer->conn, &asked, walk.rows.row);
        if (key) show_rights_of(answer, &asked, &walk, key);
        sqlite3_free(key);
    }
    ctr_rights_walk_close(&walk);
    close_subject(&asked);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

typedef struct id_count {
    uint8_t id[CTR_ID_SIZE];
    int64_t cells;
} id_count;

/* The counts so far. */
typedef struct census {
    int64_t rows, live, deleted, cells, bytes;
    int64_t live_cells, shards;
    int64_t *by_shards; /* the number of live cells, by number of shards; owned */
    size_t n_by_shards;
    id_count *ids; /* owned; after gather_ids ascending, each once */
    size_t n_ids, room;
} census;

static void close_census(census *all)
{
    sqlite3_free(all->by_shards);
    sqlite3_free(all->ids);
}

static int by_id(const void *a, const void *b)
{
    return memcmp(((const id_count *)a)->id, ((const id_count *)b)->id, CTR_ID_SIZE);
}

/* Sorts, and adds up equal ids. */
static void gather_ids(census *all)
{
    size_t n = 0;
    if (all->n_ids > 0) qsort(all->ids, all->n_ids, sizeof *all->ids, by_id);
    for (size_t i = 0; i < all->n_ids; i++) {
        if (n > 0 && by_id(&all->ids[n - 1], &all->ids[i]) == 0)
            all->ids[n - 1].cells += all->ids[i].cells;
        else
            all->ids[n++] = all->ids[i];
    }
    all->n_ids = n;
}

/* Appends an id. If there is no room left, gathers the ids, and doubles the room if that frees less
 * than half of it. */
static void count_id(ctr_conn *conn, census *all, const uint8_t id[CTR_ID_SIZE])
{
    bool is_full = all->n_ids == all->room;
    if (is_full) gather_ids(all);
    size_t needed = is_full && all->n_ids >= all->room / 2 ? all->room + 1 : all->n_ids + 1;
    id_count *ids = ctr_array_room(conn, all->ids, &all->room, needed, sizeof *ids);
    if (!ids) return;
    all->ids = ids;
    ids[all->n_ids].cells = 1;
    memcpy(ids[all->n_ids++].id, id, CTR_ID_SIZE);
}

static void count_cell(ctr_conn *conn, census *all, const ctr_cell *cell)
{
    ctr_shard shard;
    size_t n = 0;
    if (ctr_cell_is_untouched(cell)) return;
    all->cells++;
    all->bytes += (int64_t)cell->size;
    for (size_t at = 0; ctr_cell_next(cell, &at, &shard) && ctr_rc(conn) == SQLITE_OK; n++)
        count_id(conn, all, shard.id);
    if (!ctr_cell_is_live(cell) || ctr_rc(conn) != SQLITE_OK) return;
    if (n >= all->n_by_shards) {
        size_t size = 2 * n + 16;
        int64_t *grown = sqlite3_realloc64(all->by_shards, size * sizeof *grown);
        if (!grown) {
            ctr_problem_nomem(conn);
            return;
        }
        memset(grown + all->n_by_shards, 0, (size - all->n_by_shards) * sizeof *grown);
        all->by_shards = grown;
        all->n_by_shards = size;
    }
    all->by_shards[n]++;
    all->live_cells++;
    all->shards += (int64_t)n;
}

static void count_row(census *all, ctr_row *row, sqlite3_stmt *stands)
{
    const ctr_shape *shape = row->shape;
    bool live = false, deleted = false;
    for (int i = 0; i < shape->n_columns && ctr_rc(row->conn) == SQLITE_OK; i++) {
        ctr_cell cell;
        int column = CTR_WALK_COLUMNS + i, counter = shape->columns[i].counter;
        if (counter < 0) {
            int type = sqlite3_column_type(stands, column);
            bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
            all->bytes += number ? 8 : sqlite3_column_bytes(stands, column);
            continue;
        }
        if (ctr_row_open_cell(row, stands, column, counter, &cell)) return;
        count_cell(row->conn, all, &cell);
        live = live || ctr_cell_is_live(&cell);
        deleted = deleted || ctr_cell_is_deleted(&cell);
    }
    all->rows++;
    all->live += live;
    all->deleted += deleted && !live;
}

/* Counts the table that the arguments name. */
static void take_census(census *all, ctr_answer *answer, sqlite3_value **args)
{
    subject asked;
    ctr_walk walk;
    if (open_asked(&asked, answer, args[0], args[1]) == SQLITE_OK) {
        ctr_stream_walk_open(&walk, &asked.row, CTR_WALK_ALL, 0);
        while (ctr_stream_walk_next(&walk)) count_row(all, &asked.row, walk.row);
        ctr_stream_walk_close(&walk);
    }
    gather_ids(all);
    close_subject(&asked);
}

/* Returns the number of shards that 99 of 100 live cells do not exceed. */
static int64_t shards_of_most_cells(const census *all)
{
    int64_t seen = 0, wanted = all->live_cells - all->live_cells / 100;
    size_t n = 0;
    while (n < all->n_by_shards && seen + all->by_shards[n] < wanted) seen += all->by_shards[n++];
    return (int64_t)n;
}

static int64_t most_shards(const census *all)
{
    size_t n = all->n_by_shards;
    while (n > 1 && all->by_shards[n - 1] == 0) n--;
    return n > 0 ? (int64_t)n - 1 : 0;
}

static void fill_size(ctr_answer *answer, sqlite3_value **args)
{
    census all = {0};
    take_census(&all, answer, args);
    if (ctr_rc(answer->conn) == SQLITE_OK) {
        double mean = all.live_cells ? (double)all.shards / (double)all.live_cells : 0;
        ctr_answer_integer(answer, all.rows);
        ctr_answer_integer(answer, all.live);
        ctr_answer_integer(answer, all.deleted);
        ctr_answer_integer(answer, all.cells);
        ctr_answer_integer(answer, all.bytes);
        ctr_answer_real(answer, mean);
        ctr_answer_integer(answer, shards_of_most_cells(&all));
        ctr_answer_integer(answer, most_shards(&all));
        ctr_answer_integer(answer, (int64_t)all.n_ids);
    }
    close_census(&all);
}

static int by_cells(const void *a, const void *b)
{
    const id_count *x = a, *y = b;
    if (x->cells != y->cells) return x->cells < y->cells ? 1 : -1;
    return memcmp(x->id, y->id, CTR_ID_SIZE);
}

static void fill_ids(ctr_answer *answer, sqlite3_value **args)
{
    census all = {0};
    take_census(&all, answer, args);
    if (all.n_ids > 0) qsort(all.ids, all.n_ids, sizeof *all.ids, by_cells);
    for (size_t i = 0; i < all.n_ids && ctr_rc(answer->conn) == SQLITE_OK; i++) {
        ctr_answer_id(answer, all.ids[i].id);
        ctr_answer_integer(answer, all.ids[i].cells);
    }
    close_census(&all);
}

static const ctr_answer_kind CONTENTS[] = {
    {.name = "counter_digests",
     .columns = "bucket TEXT, rows INTEGER, digest TEXT",
     .args = "\"table\" HIDDEN, buckets HIDDEN, schema HIDDEN",
     .n_needed = 2,
     .usage = "two arguments are needed, the name of a counter table and the number of buckets",
     .fill = show_digests},
    {.name = "counter_cells",
     .columns = "key TEXT, column_name TEXT, cell BLOB",
     .args = "\"table\" HIDDEN, schema HIDDEN",
     .n_needed = 1,
     .usage = "one argument is needed, the name of a counter table",
     .fill = show_cells},
    {.name = "counter_rights",
     .columns = "key TEXT, column_name TEXT, id TEXT, rights INTEGER, here INTEGER",
     .args = "\"table\" HIDDEN, schema HIDDEN",
     .n_needed = 1,
     .usage = "one argument is needed, the name of a table with a bounded counter",
     .fill = show_rights},
    {.name = "counter_floors",
     .columns = "column_name TEXT, floor",
     .args = "\"table\" HIDDEN, schema HIDDEN",
     .n_needed = 1,
     .usage = "one argument is needed, the name of a counter table",
     .fill = show_floors},
    {.name = "counter_purge",
     .columns = "table_name TEXT, rows INTEGER, bytes INTEGER",
     .args = "\"table\" HIDDEN, schema HIDDEN",
     .n_needed = 1,
     .usage = "one argument is needed, the name of a counter table",
     .fill = show_purged},
    {.name = "counter_size",
     .columns = "rows INTEGER, live INTEGER, deleted INTEGER, cells INTEGER, bytes INTEGER, "
                "shards_mean REAL, shards_p99 INTEGER, shards_max INTEGER, ids INTEGER",
     .args = "\"table\" HIDDEN, schema HIDDEN",
     .n_needed = 1,
     .usage = "the name of a counter table is needed",
     .fill = fill_size},
    {.name = "counter_ids",
     .columns = "id TEXT, cells INTEGER",
     .args = "\"table\" HIDDEN, schema HIDDEN",
     .n_needed = 1,
     .usage = "the name of a counter table is needed",
     .fill = fill_ids},
};

int ctr_contents_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_function DIGEST = {"counter_table_digest", 1, 2, CTR_READS, fn_table_digest};
    int rc = ctr_shared_functions(db, conn, &DIGEST, 1);
    if (rc != SQLITE_OK) return rc;
    return ctr_answer_register(db, conn, CONTENTS, sizeof CONTENTS / sizeof *CONTENTS);
}
