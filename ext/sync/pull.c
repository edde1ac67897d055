/* sync/pull.c - merges tables row by row. */
#include "sync/pull.h"

#include <string.h>

#include "store/catalog.h"
#include "store/identity.h"
#include "store/rows.h"
#include "sync/conflicts.h"
#include "sync/durable.h"

/* One table on both sides while it is merged. */
typedef struct merge_job {
    const ctr_source *source;
    sqlite3 *db;
    const char *target; /* schema */
    ctr_shape from, to;
    ctr_rows from_rows, to_rows;
    int *counters;        /* for each counter of `to`, the one of `from` */
    sqlite3_value **keys; /* of the source's row, lent by its statement */
    const char *birth;
    ctr_conflicts *conflicts;
    struct ctr_report_row *report;
} merge_job;

/* ---- report ---------------------------------------------------------------------------------- */

void ctr_pull_report_close(ctr_report *report)
{
    for (int i = 0; i < report->n; i++) {
        sqlite3_free(report->rows[i].birth);
        sqlite3_free(report->rows[i].name);
    }
    sqlite3_free(report->rows);
    *report = (ctr_report){0};
}

static struct ctr_report_row *report_row(ctr_report *report, const char *birth, const char *name,
                                         ctr_problem *problem)
{
    for (int i = 0; i < report->n; i++)
        if (sqlite3_stricmp(report->rows[i].birth, birth) == 0) return &report->rows[i];
    size_t size = ((size_t)report->n + 1) * sizeof *report->rows;
    struct ctr_report_row *rows = sqlite3_realloc64(report->rows, size);
    if (!rows) {
        ctr_problem_nomem(problem);
        return NULL;
    }
    report->rows = rows;
    struct ctr_report_row *row = &rows[report->n++];
    *row = (struct ctr_report_row){.birth = sqlite3_mprintf("%s", birth),
                                   .name = sqlite3_mprintf("%s", name)};
    if (!row->birth || !row->name) ctr_problem_nomem(problem);
    return problem->rc == SQLITE_OK ? row : NULL;
}

/* ---- do the two tables agree? ---------------------------------------------------------------- */

static int counter_named(const ctr_shape *shape, const char *name)
{
    for (int i = 0; i < shape->n_counters; i++)
        if (strcmp(shape->columns[shape->counters[i]].name, name) == 0) return i;
    return -1;
}

static int differ(ctr_problem *problem, const char *what, const char *here, const char *there)
{
    return ctr_problem_set(
        problem, SQLITE_ERROR,
        "the tables differ in %s: the giving file has %s, the taking file has %s", what, there,
        here);
}

static int compare_keys(const ctr_shape *to, const ctr_shape *from, ctr_problem *problem)
{
    static const char *const AFFINITIES[] = {"BLOB", "TEXT", "NUMERIC", "INTEGER", "REAL"};
    for (int i = 0; i < to->n_keys && i < from->n_keys; i++) {
        const ctr_column *a = &to->columns[to->keys[i]], *b = &from->columns[from->keys[i]];
        if (strcmp(a->name, b->name) != 0) differ(problem, "a key column", a->name, b->name);
        if (a->affinity != b->affinity)
            differ(problem, "the affinity of a key column", AFFINITIES[a->affinity],
                   AFFINITIES[b->affinity]);
        if (sqlite3_stricmp(a->collation, b->collation) != 0)
            differ(problem, "the collation of a key column", a->collation, b->collation);
    }
    if (to->n_keys < from->n_keys)
        differ(problem, "a key column", "none", from->columns[from->keys[to->n_keys]].name);
    if (to->n_keys > from->n_keys)
        differ(problem, "a key column", to->columns[to->keys[from->n_keys]].name, "none");
    return problem->rc;
}

static int compare_counters(merge_job *job, ctr_problem *problem)
{
    for (int i = 0; i < job->to.n_counters; i++) {
        const char *name = job->to.columns[job->to.counters[i]].name;
        job->counters[i] = counter_named(&job->from, name);
        if (job->counters[i] < 0)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "the tables differ: the giving file has no counter %s", name);
    }
    for (int i = 0; i < job->from.n_counters; i++) {
        const char *name = job->from.columns[job->from.counters[i]].name;
        if (counter_named(&job->to, name) < 0)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "the tables differ: the taking file has no counter %s", name);
    }
    return problem->rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int take_keys(merge_job *job, sqlite3_stmt *row, ctr_problem *problem)
{
    for (int i = 0; i < job->from.n_keys; i++) {
        int column = job->from.keys[i];
        job->keys[i] = sqlite3_column_value(row, 1 + column);
        if (sqlite3_column_type(row, 1 + column) == SQLITE_NULL)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                            "key column %s of the giving file is NULL",
                            job->from.columns[column].name);
    }
    return problem->rc;
}

static void record(merge_job *job, int64_t rowid, int counter, const ctr_cell *mine,
                   const ctr_cell *theirs, ctr_problem *problem)
{
    const char *column = job->to.columns[job->to.counters[counter]].name;
    char *key = ctr_rows_key_text(&job->from_rows, rowid);
    if (key)
        job->report->conflicts +=
            ctr_conflicts_record(job->conflicts, job->birth, key, column, mine, theirs, problem);
    else
        ctr_problem_nomem(problem);
    sqlite3_free(key);
}

static int merge_counter(merge_job *job, sqlite3_stmt *row, int counter, ctr_problem *problem)
{
    ctr_rows *rows = &job->to_rows;
    int theirs = job->counters[counter];
    int64_t rowid = sqlite3_column_int64(row, 0);
    ctr_cell cell;
    if (ctr_rows_open_cell(&job->from_rows, row, 1 + job->from.counters[theirs], rowid, theirs,
                           &cell, problem))
        return problem->rc;
    const ctr_cell *mine = &rows->cells[counter];
    if (ctr_cell_same(mine, &cell)) return SQLITE_OK;
    if (!ctr_conflicts_none(job->conflicts, mine, &cell))
        record(job, rowid, counter, mine, &cell, problem);

    uint8_t *out = ctr_rows_room(rows, mine->size + cell.size, problem);
    if (!out) return problem->rc;
    size_t size = ctr_cell_merge(mine, &cell, out);
    bool same = size == mine->size && (size == 0 || memcmp(out, mine->bytes, size) == 0);
    if (!same) ctr_rows_set(rows, counter, size);
    return SQLITE_OK;
}

static void merge_row(merge_job *job, sqlite3_stmt *row, ctr_problem *problem)
{
    ctr_rows *rows = &job->to_rows;
    if (take_keys(job, row, problem)) return;
    if (ctr_rows_find_key(rows, job->keys, problem)) return;
    for (int i = 0; i < job->to.n_counters; i++)
        if (merge_counter(job, row, i, problem)) return;
    job->report->read++;
    if (!ctr_rows_changed(rows)) return;
    if (ctr_rows_write(rows, job->keys, problem) == SQLITE_OK) job->report->changed++;
}

static void merge_rows(merge_job *job, const char *table, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(job->source->db, job->source->schema, table, problem);
    char *columns = ctr_shape_column_list(&job->from);
    if (!columns) ctr_problem_nomem(problem);
    run.slots.columns = columns;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_ALL);
    while (ctr_run_row(&run, row)) merge_row(job, row, problem);
    sqlite3_finalize(row);
    sqlite3_free(columns);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int refuse_triggers(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem)
{
    char *stored = sqlite3_mprintf("%s_cells", table);
    if (!stored) return ctr_problem_nomem(problem);
    ctr_shape_refuse_triggers(db, schema, stored, problem);
    sqlite3_free(stored);
    return problem->rc;
}

/* Nothing that somebody has hung on our tables runs with a merge. */
static void refuse_triggers_of_file(const merge_job *job, ctr_problem *problem)
{
    static const char *const TABLES[] = {"counter_tables", "counter_replica", "counter_former",
                                         "counter_conflicts", "counter_peers"};
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        ctr_shape_refuse_triggers(job->db, job->target, TABLES[i], problem);
}

/* The source's shape in the words of our own declaration: nothing of its SQL is run. */
static void create_table(merge_job *job, const char *birth, ctr_problem *problem)
{
    const char *object = ctr_shape_object(job->db, job->target, birth, problem);
    if (*object)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "a %s in %s has the name of the counter table that would be created",
                        object, job->target);
    refuse_triggers_of_file(job, problem);
    char *definition = ctr_shape_declaration(&job->from);
    if (!definition) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(job->db, job->target, birth, problem);
    run.slots.definition = definition;
    ctr_run_do(&run, CTR_SQL_SYNC_CREATE_TABLE, NULL);
    sqlite3_free(definition);
}

static void open_job(merge_job *job, const char *theirs, const char *mine, ctr_problem *problem)
{
    ctr_shape_read(&job->to, job->db, job->target, mine, problem);
    if (problem->rc != SQLITE_OK) return;
    if (refuse_triggers(job->db, job->target, mine, problem)) return;
    job->counters = sqlite3_malloc64((size_t)job->to.n_counters * sizeof *job->counters);
    job->keys = sqlite3_malloc64((size_t)job->to.n_keys * sizeof *job->keys);
    if (!job->counters || !job->keys) {
        ctr_problem_nomem(problem);
        return;
    }
    if (compare_keys(&job->to, &job->from, problem) || compare_counters(job, problem)) return;
    ctr_rows_open(&job->from_rows, job->source->db, job->source->schema, theirs, &job->from,
                  problem);
    ctr_rows_open(&job->to_rows, job->db, job->target, mine, &job->to, problem);
}

static void close_job(merge_job *job)
{
    ctr_rows_close(&job->from_rows);
    ctr_rows_close(&job->to_rows);
    ctr_shape_close(&job->from);
    ctr_shape_close(&job->to);
    sqlite3_free(job->counters);
    sqlite3_free(job->keys);
}

/* The target's identity is checked within the transaction that the table has joined. Only the first
 * table does the work. */
static void open_conflicts(const merge_job *job, const char *mine, ctr_guard *guard,
                           const ctr_identity *giver, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(job->db, job->target, mine, problem);
    if (!job->conflicts->db) refuse_triggers_of_file(job, problem);
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    ctr_post *post = ctr_guard_post(guard, job->target);
    if (!post) ctr_problem_nomem(problem);
    const uint8_t *id = post ? ctr_guard_merge(post, problem) : NULL;
    if (id && !job->conflicts->db)
        ctr_conflicts_open(job->conflicts, job->db, job->target, id, giver, problem);
}

/* `theirs` is the table's present name at the source. */
static void merge_table(merge_job job, ctr_guard *guard, const ctr_identity *giver,
                        const char *theirs, ctr_side side, ctr_report *report, ctr_problem *problem)
{
    const ctr_source *source = job.source;
    const char *birth = job.birth, *target = job.target;
    sqlite3 *db = job.db;
    ctr_shape_read(&job.from, source->db, source->schema, theirs, problem);
    if (problem->rc == SQLITE_OK) refuse_triggers(source->db, source->schema, theirs, problem);
    char *mine = ctr_catalog_born(db, target, birth, problem);
    if (!mine && problem->rc == SQLITE_OK) {
        create_table(&job, birth, problem);
        mine = sqlite3_mprintf("%s", birth);
        if (!mine) ctr_problem_nomem(problem);
    }
    const char *name = side == CTR_MAIN_TAKES ? mine : theirs;
    if (problem->rc == SQLITE_OK) job.report = report_row(report, birth, name, problem);
    if (problem->rc == SQLITE_OK) open_conflicts(&job, mine, guard, giver, problem);
    if (problem->rc == SQLITE_OK) open_job(&job, theirs, mine, problem);
    if (problem->rc == SQLITE_OK) merge_rows(&job, theirs, problem);
    ctr_problem_where(problem, "table %s", birth);
    close_job(&job);
    sqlite3_free(mine);
}

/* A newer format at either end may mean something else by the same columns. */
static int check_formats(const ctr_source *source, sqlite3 *db, const char *target, bool has_tables,
                         ctr_identity *giver, ctr_problem *problem)
{
    ctr_identity identity;
    if (ctr_identity_read(giver, source->db, source->schema, problem)) {
        ctr_problem_where(problem, "the giving file");
        return problem->rc;
    }
    if (has_tables && !giver->present)
        return ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                               "the giving file has counter tables but no "
                               "replica id: it is damaged");
    if (ctr_identity_read(&identity, db, target, problem)) {
        ctr_identity_offer_fork(db, target, problem);
        ctr_problem_where(problem, "the taking file");
    }
    return problem->rc;
}

/* A shard under the file's own id that is ahead of its own proves that it forgot or has a twin. */
static void heed_conflicts(const ctr_conflicts *conflicts, ctr_guard *guard, const char *target,
                           ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || !conflicts->own) return;
    ctr_post *post = ctr_guard_post(guard, target);
    if (post)
        ctr_guard_lineage_changed(post, CTR_WHY_CONFLICT, problem);
    else
        ctr_problem_nomem(problem);
}

int ctr_pull_all(const ctr_source *source, sqlite3 *db, ctr_guard *guard, const char *target,
                 ctr_side side, ctr_report *report, ctr_problem *problem)
{
    ctr_catalog catalog = {0};
    ctr_identity giver;
    ctr_conflicts conflicts = {0};
    ctr_durable_source(source, problem);
    ctr_shape_refuse_generated(source->db, source->schema, "counter_tables", problem);
    ctr_shape_refuse_generated(source->db, source->schema, "counter_replica", problem);
    if (problem->rc == SQLITE_OK) ctr_catalog_read(&catalog, source->db, source->schema, problem);
    if (problem->rc == SQLITE_OK) check_formats(source, db, target, catalog.n > 0, &giver, problem);
    for (int i = 0; i < catalog.n && problem->rc == SQLITE_OK; i++)
        merge_table((merge_job){.source = source,
                                .db = db,
                                .target = target,
                                .birth = catalog.entries[i].birth,
                                .conflicts = &conflicts},
                    guard, &giver, catalog.entries[i].name, side, report, problem);
    heed_conflicts(&conflicts, guard, target, problem);
    ctr_catalog_close(&catalog);
    return problem->rc;
}
