/* cluster/reading.c - contacts replicas, gathers their rows, and merges them; read repair. */
#include "cluster/cluster.h"

#include <string.h>

/* ---- rows gathered by key -------------------------------------------------------------------- */

/* Cursors name a row of a replica by id * CTR_LEVEL_SITES + replica. */
#define LAST_ID (INT64_MAX / CTR_LEVEL_SITES - 1)

/* Returns -1, 0 or 1: a before, equal to, after b, which have the key values in key order. `order`
 * has, for each key column, + or - and the character '0' + its position in the key.
 *
 * Equal bytes need no SQL. Only SQLite knows the collations, and the encoding in which BINARY
 * compares. Values are those of stored rows, so they have the affinity of their column already. */
static int order_keys(ctr_cluster *cluster, sqlite3_value **a, sqlite3_value **b, const char *order)
{
    const ctr_shape *shape = &cluster->shape;
    ctr_run run = ctr_run_on(cluster->conn, NULL, NULL);
    for (; *order == '+' || *order == '-'; order += 2) {
        int key = order[1] - '0';
        if (ctr_text_alike(a[key], b[key])) continue;
        sqlite3_stmt **keep = &cluster->compares[key];
        run.slots.name = shape->columns[shape->keys[key]].collation;
        if (!*keep) *keep = ctr_run_prepare(&run, CTR_SQL_ROWS_COMPARE);
        if (!*keep) continue;
        int rc = ctr_text_bind_value(*keep, 1, a[key]);
        if (rc == SQLITE_OK) rc = ctr_text_bind_value(*keep, 2, b[key]);
        if (rc == SQLITE_OK) rc = sqlite3_step(*keep);
        int result = rc == SQLITE_ROW ? sqlite3_column_int(*keep, 0) : 0;
        ctr_problem_sqlite(cluster->conn, rc);
        sqlite3_reset(*keep);
        sqlite3_clear_bindings(*keep);
        if (result != 0) return *order == '-' ? -result : result;
    }
    return 0;
}

static void close_gather(ctr_gather *gather)
{
    for (int i = 0; i < gather->n; i++) ctr_stream_close(&gather->streams[i]);
    sqlite3_free(gather->streams);
    sqlite3_free(gather->heads);
    sqlite3_free(gather->order);
    *gather = (ctr_gather){.failed = -1};
}

static const char *order_of(const char *plan)
{
    while (ctr_stream_plan_has_argument(plan)) plan += 2;
    return plan + 1; /* after the full stop */
}

static sqlite3_value **head(const ctr_gather *gather, int stream)
{
    return gather->heads + (size_t)stream * (size_t)gather->shape->n_keys;
}

/* Another file may have stored a NULL in a key, or a row id that no cursor can name. */
static void take_head(ctr_gather *gather, int stream)
{
    ctr_conn *conn = gather->cluster->conn;
    sqlite3_stmt *row = gather->streams[stream].statement;
    const ctr_shape *shape = gather->shape;
    int64_t id = sqlite3_column_int64(row, CTR_STREAM_ID);
    if (id < 0 || id > LAST_ID)
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "a row has the id %lld", (long long)id);
    for (int i = 0; i < shape->n_keys; i++) {
        sqlite3_value *key = sqlite3_column_value(row, CTR_STREAM_COLUMNS + shape->keys[i]);
        if (sqlite3_value_type(key) == SQLITE_NULL)
            ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "key column %s is NULL in row %lld",
                            shape->columns[shape->keys[i]].name, (long long)id);
        head(gather, stream)[i] = key;
    }
}

static void start_gather(ctr_gather *gather, const char *plan, sqlite3_value **argv, bool all)
{
    ctr_conn *conn = gather->cluster->conn;
    gather->here = gather->rows = 0;
    gather->failed = -1;
    sqlite3_free(gather->order);
    gather->order = ctr_text_copy(conn, order_of(plan));
    for (int i = 0; i < gather->n && ctr_rc(conn) == SQLITE_OK; i++) {
        ctr_stream_start(&gather->streams[i], plan, argv, all);
        if (ctr_rc(conn) != SQLITE_OK) gather->failed = i;
        gather->here |= (uint64_t)1 << i; /* so that the first step steps all of them */
    }
}

/* Steps to the next key, and finds the streams that have its row. */
static bool step_gather(ctr_gather *gather)
{
    ctr_conn *conn = gather->cluster->conn;
    for (int i = 0; i < gather->n && ctr_rc(conn) == SQLITE_OK; i++) {
        uint64_t bit = (uint64_t)1 << i;
        if (!(gather->here & bit)) continue;
        bool row = ctr_stream_step(&gather->streams[i]);
        gather->rows = row ? gather->rows | bit : gather->rows & ~bit;
        if (row) take_head(gather, i);
        if (ctr_rc(conn) != SQLITE_OK) gather->failed = i;
    }

    gather->here = 0;
    for (int i = 0; i < gather->n && ctr_rc(conn) == SQLITE_OK; i++) {
        uint64_t bit = (uint64_t)1 << i;
        if (!(gather->rows & bit)) continue;
        int order = gather->here
                        ? order_keys(gather->cluster, head(gather, i), gather->keys, gather->order)
                        : -1;
        if (order > 0) continue;
        if (order < 0) {
            gather->here = 0;
            gather->first = i;
            gather->keys = head(gather, i);
        }
        gather->here |= bit;
    }
    return ctr_rc(conn) == SQLITE_OK && gather->here != 0;
}

/* ---- opening and closing --------------------------------------------------------------------- */

int ctr_reading_open(ctr_reading *reading, ctr_cluster *cluster)
{
    size_t size = ((size_t)cluster->shape.n_counters + 1) * sizeof *reading->cells;
    *reading = (ctr_reading){.cluster = cluster, .cells = sqlite3_malloc64(size)};
    if (!reading->cells) return ctr_problem_nomem(cluster->conn);
    memset(reading->cells, 0, size);
    return ctr_rc(cluster->conn);
}

/* The cluster counts the open readings of writing statements. */
static void set_counted(ctr_reading *reading, bool is_counted)
{
    reading->cluster->readings += is_counted - reading->is_counted;
    reading->is_counted = is_counted;
}

static void forget_scan(ctr_reading *reading)
{
    close_gather(&reading->rows);
    ctr_arg_free(reading->args, reading->n_args);
    ctr_arg_free(reading->last, reading->cluster->shape.n_keys);
    sqlite3_free(reading->plan);
    reading->args = reading->last = NULL;
    reading->plan = NULL;
    reading->n_args = 0;
    set_counted(reading, false);
    reading->failed = 0;
    reading->rest = reading->skips = false;
}

void ctr_reading_close(ctr_reading *reading)
{
    if (!reading->cluster) return;
    forget_scan(reading);
    for (int i = 0; reading->cells && i < reading->cluster->shape.n_counters; i++) {
        sqlite3_free(reading->cells[i].bytes);
        sqlite3_free(reading->cells[i].spare);
    }
    sqlite3_free(reading->cells);
    *reading = (ctr_reading){0};
}

/* ---- starting -------------------------------------------------------------------------------- */

static void contact(ctr_reading *reading)
{
    ctr_conn *conn = reading->cluster->conn;
    ctr_cluster *cluster = reading->cluster;
    const ctr_shape *shape = &cluster->shape;
    ctr_gather *gather = &reading->rows;
    close_gather(gather);
    if (!reading->last) set_counted(reading, false);
    reading->n =
        ctr_cluster_contact(cluster, reading->is_writing, reading->failed, reading->contacts);
    if (ctr_rc(conn) != SQLITE_OK) return;
    set_counted(reading, reading->is_writing);
    size_t n = (size_t)reading->n;
    gather->cluster = cluster;
    gather->shape = shape;
    gather->streams = sqlite3_malloc64(n * sizeof *gather->streams);
    gather->heads = sqlite3_malloc64(n * (size_t)shape->n_keys * sizeof *gather->heads);
    if (!gather->streams || !gather->heads) {
        ctr_problem_nomem(conn);
        return;
    }
    for (; gather->n < reading->n; gather->n++)
        gather->streams[gather->n] =
            (ctr_stream){.of = &cluster->members[reading->contacts[gather->n]].streams};
    bool exact = ctr_stream_is_exact(shape, reading->plan, reading->args);
    reading->rest = reading->unique && !exact;
    start_gather(gather, reading->plan, reading->args, exact || reading->unique);
}

/* Contacts another replica in place of one that failed. Returns false if the error remains. A
 * `unique` reading that has returned a row may be in its second scan, whose order begins again, so
 * it cannot continue. In a statement that writes, the replica takes no part until the COMMIT. */
static bool replace(ctr_reading *reading)
{
    ctr_conn *conn = reading->cluster->conn;
    const ctr_cluster *cluster = reading->cluster;
    while (ctr_rc(conn) != SQLITE_OK && reading->rows.failed >= 0) {
        ctr_member *member = &cluster->members[reading->contacts[reading->rows.failed]];
        if (reading->last && reading->unique) break;
        reading->failed |= (uint64_t)1 << reading->contacts[reading->rows.failed];
        ctr_member_fail(member);
        if (ctr_rc(conn) == SQLITE_OK && reading->is_writing) ctr_member_bar(member);
        if (ctr_rc(conn) != SQLITE_OK) break;
        reading->skips = reading->last != NULL;
        contact(reading);
    }
    return ctr_rc(conn) == SQLITE_OK;
}

/* The plan gets an order by all columns of the key. */
void ctr_reading_start(ctr_reading *reading, const char *plan, int argc, sqlite3_value **argv,
                       bool unique)
{
    ctr_conn *conn = reading->cluster->conn;
    if (ctr_rc(conn) != SQLITE_OK) return;
    forget_scan(reading);
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out, plan);
    for (int i = 0; i < reading->cluster->shape.n_keys; i++) {
        const char *at = order_of(plan);
        while (*at && at[1] - '0' != i) at += 2;
        if (!*at) sqlite3_str_appendf(out, "+%c", '0' + i);
    }
    reading->plan = sqlite3_str_finish(out);
    reading->args = ctr_arg_copies(conn, argv, argc);
    reading->n_args = reading->args ? argc : 0;
    reading->unique = unique;
    if (!reading->plan) ctr_problem_nomem(conn);
    if (ctr_rc(conn) != SQLITE_OK) return;
    contact(reading);
    replace(reading);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_here(const ctr_reading *reading, int contact)
{
    return reading->rows.here & (uint64_t)1 << contact;
}

static ctr_member *member_at(const ctr_reading *reading, int contact)
{
    return &reading->cluster->members[reading->contacts[contact]];
}

/* Opens the cell of a counter in the row of one replica. */
static void open_cell(ctr_reading *reading, int contact, int counter, ctr_cell *cell)
{
    sqlite3_stmt *row = reading->rows.streams[contact].statement;
    int column = CTR_STREAM_COLUMNS + reading->cluster->shape.counters[counter];
    ctr_row_open_cell(&member_at(reading, contact)->merge.row, row, column, counter, cell);
    if (ctr_rc(reading->cluster->conn) != SQLITE_OK) reading->rows.failed = contact;
}

/* Merges the cells of the row; with `compares`, notes the replicas that lack something of it. */
static void merge_cells(ctr_reading *reading)
{
    ctr_conn *conn = reading->cluster->conn;
    int n_counters = reading->cluster->shape.n_counters;
    for (int c = 0; c < n_counters; c++) {
        reading->cells[c].cell = ctr_cell_untouched();
        for (int i = 0; i < reading->n && ctr_rc(conn) == SQLITE_OK; i++) {
            ctr_cell cell;
            if (!is_here(reading, i)) continue;
            open_cell(reading, i, c, &cell);
            if (ctr_rc(conn) == SQLITE_OK) ctr_quorum_merge(conn, &reading->cells[c], &cell);
        }
    }
    if (!reading->compares) return;
    reading->lack = 0;
    for (int i = 0; i < reading->n; i++) {
        for (int c = 0; c < n_counters && ctr_rc(conn) == SQLITE_OK; c++) {
            ctr_cell cell = ctr_cell_untouched();
            if (is_here(reading, i)) open_cell(reading, i, c, &cell);
            if (ctr_quorum_differs(&reading->cells[c], &cell)) reading->lack |= (uint64_t)1 << i;
        }
    }
}

/* Returns whether a replica without the row has a floor above its key: the row was removed for
 * good. */
static bool is_below_floor(ctr_reading *reading)
{
    ctr_conn *conn = reading->cluster->conn;
    bool below = false;
    for (int i = 0; i < reading->n && !below && ctr_rc(conn) == SQLITE_OK; i++) {
        if (is_here(reading, i)) continue;
        below = ctr_floors_is_below(&member_at(reading, i)->floors, reading->rows.keys);
        if (ctr_rc(conn) != SQLITE_OK) reading->rows.failed = i;
    }
    return below;
}

/* Steps to the next key of the first scan, or of the second one, in which each stream skips the
 * rows on which it stood. */
static bool advance(ctr_reading *reading)
{
    ctr_gather *gather = &reading->rows;
    bool row = step_gather(gather);
    for (int i = 0; row && reading->rest && i < gather->n; i++) {
        ctr_stream *stream = &gather->streams[i];
        if (!(gather->here & (uint64_t)1 << i)) continue;
        stream->exact = sqlite3_column_int64(stream->statement, CTR_STREAM_ID);
        stream->has_exact = true;
    }
    if (row || !reading->rest || ctr_rc(reading->cluster->conn) != SQLITE_OK) return row;
    reading->rest = false;
    start_gather(gather, reading->plan, reading->args, false);
    return step_gather(gather);
}

/* Steps to the next key to return, and merges its cells. Returns false at the end, or on error. */
static bool find_row(ctr_reading *reading)
{
    while (advance(reading)) {
        if (reading->skips) /* until after the key that was returned last */
            reading->skips = order_keys(reading->cluster, reading->rows.keys, reading->last,
                                        reading->rows.order) <= 0;
        if (reading->skips || is_below_floor(reading)) continue;
        merge_cells(reading);
        return ctr_rc(reading->cluster->conn) == SQLITE_OK;
    }
    return false;
}

bool ctr_reading_step(ctr_reading *reading)
{
    ctr_conn *conn = reading->cluster->conn;
    if (ctr_rc(conn) != SQLITE_OK) return false;
    bool row = find_row(reading);
    while (ctr_rc(conn) != SQLITE_OK && replace(reading)) row = find_row(reading);
    if (!row) return false;
    int n = reading->cluster->shape.n_keys;
    ctr_arg_free(reading->last, n);
    reading->last = ctr_arg_copies(conn, reading->rows.keys, n);
    return ctr_rc(conn) == SQLITE_OK;
}

/* ---- read repair ----------------------------------------------------------------------------- */

typedef struct repair_job {
    ctr_cluster *cluster;
    const char *name;
    ctr_reading reading;
    ctr_session session;
    bool open; /* the session is open, and the locks are taken */
} repair_job;

/* Only committed cells may go to others. */
static bool may_give(const repair_job *job)
{
    for (int i = 0; i < job->reading.n; i++) {
        ctr_member *member = &job->cluster->members[job->reading.contacts[i]];
        if (ctr_file_is_pending(member->merge.row.tab->file)) return false;
        ctr_member_make_durable(member);
    }
    return ctr_rc(job->cluster->conn) == SQLITE_OK;
}

static void repair_row(repair_job *job)
{
    ctr_conn *conn = job->cluster->conn;
    ctr_cluster *cluster = job->cluster;
    if (!job->open) {
        ctr_session_begin(&job->session, cluster->conn, false);
        ctr_run run = ctr_run_on(cluster->conn, "temp", job->name);
        ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
        if (ctr_rc(conn) == SQLITE_OK) ctr_cluster_lock(cluster);
        job->open = true;
    }
    for (int i = 0; i < job->reading.n && ctr_rc(conn) == SQLITE_OK; i++) {
        ctr_member *member = &cluster->members[job->reading.contacts[i]];
        bool lacks = job->reading.lack & (uint64_t)1 << i;
        if (!lacks || !ctr_member_takes_part(member)) continue;
        ctr_merge *merge = &member->merge;
        const ctr_identity *identity = ctr_file_identity(merge->row.tab->file);
        if (identity) ctr_conflicts_set_mine(&member->conflicts, identity);
        if (!identity || !ctr_merge_find(merge, job->reading.rows.keys)) continue;
        for (int c = 0; c < cluster->shape.n_counters; c++)
            ctr_merge_cell(merge, c, &job->reading.cells[c].cell);
        ctr_merge_write(merge);
        ctr_conflicts_change_identity(&member->conflicts, merge->row.tab->file);
    }
}

void ctr_reading_repair(ctr_cluster *cluster, const char *name, const char *plan, int argc,
                        sqlite3_value **argv)
{
    ctr_problem trouble;
    ctr_problem_try(cluster->conn, &trouble);
    repair_job job = {.cluster = cluster, .name = name};
    if (ctr_reading_open(&job.reading, cluster) == SQLITE_OK) {
        job.reading.compares = true;
        ctr_reading_start(&job.reading, plan, argc, argv, false);
        while (ctr_reading_step(&job.reading))
            if (job.reading.lack && (job.open || may_give(&job))) repair_row(&job);
    }
    ctr_reading_close(&job.reading);
    if (job.open) ctr_events_write_ahead(cluster->conn);
    if (job.open) ctr_session_end(&job.session);
    /* An error that ends the statement, or has rolled back the transaction of the caller, stays. */
    int code = trouble.rc & 0xff;
    bool gone = cluster->within && sqlite3_get_autocommit(cluster->conn->db);
    if (code == SQLITE_NOMEM || code == SQLITE_INTERRUPT || (code != SQLITE_OK && gone))
        ctr_problem_raise(cluster->conn, &trouble);
    else
        ctr_problem_close(&trouble);
}
