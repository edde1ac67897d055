/* surface/exchange.c - counter_pull, counter_push and counter_sync: merging with another file.
 *
 *     SELECT * FROM counter_pull('phone');       phone -> main; a path of a file will do too
 *     SELECT * FROM counter_push('phone');       main -> phone
 *     SELECT * FROM counter_sync('phone');       both ways
 *
 * One row for each counter table: table_name, rows_read, rows_changed, conflicts. The work is done
 * whole before the first row is returned, or an error is and nothing has changed. A cursor does it
 * once for an argument, for the planner may put the table into an inner loop.
 */
#include <string.h>

#include "store/describe.h"
#include "store/run.h"
#include "surface/args.h"
#include "surface/register.h"
#include "sync/pull.h"
#include "sync/session.h"

enum { COLUMN_TABLE, COLUMN_READ, COLUMN_CHANGED, COLUMN_CONFLICTS, COLUMN_PEER };

/* What a table's name stands for. */
typedef struct direction {
    const char *function;
    bool takes, gives; /* main takes, main gives */
} direction;

static const direction DIRECTIONS[] = {
    {"counter_pull", true, false}, {"counter_push", false, true}, {"counter_sync", true, true}};

typedef struct exchange_table {
    sqlite3_vtab base;
    sqlite3 *db;
    const direction *way;
    ctr_shared *shared; /* borrowed */
} exchange_table;

typedef struct exchange_cursor {
    sqlite3_vtab_cursor base;
    char *peer; /* owned; the argument whose work is in `report` */
    ctr_report report;
    int row;
} exchange_cursor;

/* ---- the work -------------------------------------------------------------------------------- */

static int refuse_main(ctr_problem *problem)
{
    return ctr_problem_set(problem, SQLITE_ERROR, "main cannot be merged with itself");
}

/* What the call reads: the peer, unless it only takes; main, if it gives. */
static int open_sources(const exchange_table *table, const char *peer, ctr_source *theirs,
                        ctr_source *ours, ctr_problem *problem)
{
    bool attached = ctr_run_has_schema(table->db, peer);
    if (sqlite3_stricmp(peer, "main") == 0) return refuse_main(problem);
    if (attached && ctr_source_same_file(table->db, peer, "main")) return refuse_main(problem);
    if (!attached && table->way->gives)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "no attached database has the name '%s', ATTACH it first", peer);
    if (!attached) ctr_source_open_path(theirs, table->db, peer, problem);
    if (attached && table->way->takes) ctr_source_open(theirs, table->db, peer, problem);
    if (table->way->gives) ctr_source_open(ours, table->db, "main", problem);
    if (problem->rc == SQLITE_OK && ctr_source_is_file_of(theirs, table->db, "main"))
        refuse_main(problem);
    return problem->rc;
}

/* All locks before the first read, main before the peer. */
static int lock_targets(ctr_session *session, const direction *way, const char *peer,
                        ctr_problem *problem)
{
    if (way->takes) ctr_session_lock(session, "main", problem);
    if (way->gives) ctr_session_lock(session, peer, problem);
    if (way->takes && way->gives) ctr_session_keep_pages(session, problem);
    return problem->rc;
}

static int refuse_empty(const direction *way, const char *peer, ctr_problem *problem)
{
    if (way->takes && way->gives)
        return ctr_problem_set(problem, SQLITE_ERROR, "neither %s nor main has counter tables",
                               peer);
    return ctr_problem_set(problem, SQLITE_ERROR, "%s has no counter tables",
                           way->takes ? peer : "main");
}

/* A call that stands alone can wait for the lock if it begins with it; inside a transaction the
 * lock may be the transaction's own, which no waiting opens. */
static void say_locked(bool alone, ctr_problem *problem)
{
    ctr_problem_close(problem);
    ctr_problem_set(problem, SQLITE_BUSY, "database is locked: %s",
                    alone ? "wrap the call in BEGIN IMMEDIATE, which waits"
                          : "by another connection, or by this transaction: commit it first");
}

/* Snapshots of those that give, the savepoint, the locks, the merges, the end. A snapshot of a file
 * closes before the file is written, but for that of main in a sync, and all before the commit,
 * which would wait for them. */
static int exchange(exchange_table *table, const char *peer, ctr_report *report,
                    ctr_problem *problem)
{
    const direction *way = table->way;
    sqlite3 *db = table->db;
    ctr_guard *guard = table->shared->guard;
    ctr_source theirs = {0}, ours = {0};
    ctr_session session = {0};
    open_sources(table, peer, &theirs, &ours, problem);
    if (problem->rc == SQLITE_OK)
        ctr_session_begin(&session, db, &table->shared->sessions, problem);
    lock_targets(&session, way, peer, problem);

    if (way->takes) ctr_pull_all(&theirs, db, guard, "main", CTR_MAIN_TAKES, report, problem);
    ctr_source_close(&theirs);
    if (way->gives) ctr_pull_all(&ours, db, guard, peer, CTR_MAIN_GIVES, report, problem);
    if (report->n == 0) refuse_empty(way, peer, problem);

    ctr_source_close(&ours);
    ctr_session_end(&session, problem);
    if ((problem->rc & 0xff) == SQLITE_BUSY) say_locked(sqlite3_get_autocommit(db), problem);
    return problem->rc;
}

/* ---- the virtual table ----------------------------------------------------------------------- */

/* The first argument of xConnect is the module's name. */
static const direction *direction_of(const char *module)
{
    const direction *way = DIRECTIONS;
    while (sqlite3_stricmp(way->function, module) != 0) way++;
    return way;
}

static int exchange_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                            sqlite3_vtab **base, char **message)
{
    (void)argc;
    (void)message;
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(table_name TEXT, rows_read INTEGER, "
                                      "rows_changed INTEGER, conflicts INTEGER, peer HIDDEN)");
    if (rc != SQLITE_OK) return rc;
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    exchange_table *table = sqlite3_malloc64(sizeof *table);
    if (!table) return SQLITE_NOMEM;
    *table = (exchange_table){.db = db, .way = direction_of(argv[0]), .shared = aux};
    *base = &table->base;
    return SQLITE_OK;
}

static int exchange_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

static int fail(sqlite3_vtab *base, ctr_problem *problem)
{
    return ctr_arg_table_problem(base, ((exchange_table *)base)->way->function, problem);
}

/* So dear that the planner puts it into an inner loop only if the argument comes from
 * an outer one. */
static int exchange_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    bool asked = false;
    info->estimatedCost = 1e12;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn != COLUMN_PEER) continue;
        if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        asked = true;
        if (!info->aConstraint[i].usable) continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        return SQLITE_OK;
    }
    if (asked) return SQLITE_CONSTRAINT;
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_problem_set(&problem, SQLITE_ERROR, "one argument is needed, %s",
                    ((exchange_table *)base)->way->gives ? "the name of an attached database"
                                                         : "an attached database or a file");
    return fail(base, &problem);
}

static int exchange_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor)
{
    (void)base;
    exchange_cursor *made = sqlite3_malloc64(sizeof *made);
    if (!made) return SQLITE_NOMEM;
    memset(made, 0, sizeof *made);
    *cursor = &made->base;
    return SQLITE_OK;
}

static void forget_report(exchange_cursor *cursor)
{
    sqlite3_free(cursor->peer);
    cursor->peer = NULL;
    ctr_pull_report_close(&cursor->report);
}

static int exchange_close(sqlite3_vtab_cursor *base)
{
    forget_report((exchange_cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int refuse_argument(sqlite3_vtab *base, sqlite3_value *value)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    char *shown = ctr_describe_value(value);
    if (!shown) ctr_problem_nomem(&problem);
    ctr_problem_set(&problem, SQLITE_MISMATCH, "the argument must be TEXT, not %s",
                    shown ? shown : "");
    sqlite3_free(shown);
    return fail(base, &problem);
}

static int exchange_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int argc,
                           sqlite3_value **argv)
{
    (void)plan;
    (void)plan_text;
    (void)argc;
    exchange_cursor *cursor = (exchange_cursor *)base;
    if (sqlite3_value_type(argv[0]) != SQLITE_TEXT) return refuse_argument(base->pVtab, argv[0]);
    const char *peer = (const char *)sqlite3_value_text(argv[0]);
    if (!peer) return SQLITE_NOMEM;
    cursor->row = 0;
    if (cursor->peer && strcmp(cursor->peer, peer) == 0) return SQLITE_OK;

    forget_report(cursor);
    cursor->peer = sqlite3_mprintf("%s", peer);
    if (!cursor->peer) return SQLITE_NOMEM;
    ctr_problem problem = {SQLITE_OK, NULL};
    exchange((exchange_table *)base->pVtab, cursor->peer, &cursor->report, &problem);
    if (problem.rc == SQLITE_OK) return SQLITE_OK;
    forget_report(cursor);
    return fail(base->pVtab, &problem);
}

static int exchange_next(sqlite3_vtab_cursor *base)
{
    ((exchange_cursor *)base)->row++;
    return SQLITE_OK;
}

static int exchange_eof(sqlite3_vtab_cursor *base)
{
    const exchange_cursor *cursor = (exchange_cursor *)base;
    return cursor->row >= cursor->report.n;
}

static int exchange_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    const exchange_cursor *cursor = (exchange_cursor *)base;
    const struct ctr_report_row *row = &cursor->report.rows[cursor->row];
    switch (column) {
    case COLUMN_TABLE: sqlite3_result_text(ctx, row->name, -1, SQLITE_TRANSIENT); break;
    case COLUMN_READ: sqlite3_result_int64(ctx, row->read); break;
    case COLUMN_CHANGED: sqlite3_result_int64(ctx, row->changed); break;
    case COLUMN_CONFLICTS: sqlite3_result_int64(ctx, row->conflicts); break;
    default: sqlite3_result_text(ctx, cursor->peer, -1, SQLITE_TRANSIENT); break;
    }
    return SQLITE_OK;
}

static int exchange_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = ((exchange_cursor *)base)->row;
    return SQLITE_OK;
}

int ctr_exchange_register(sqlite3 *db, ctr_shared *shared)
{
    /* No xCreate: the tables exist by themselves and cannot be created. */
    static const sqlite3_module MODULE = {.xConnect = exchange_connect,
                                          .xBestIndex = exchange_best_index,
                                          .xDisconnect = exchange_disconnect,
                                          .xOpen = exchange_open,
                                          .xClose = exchange_close,
                                          .xFilter = exchange_filter,
                                          .xNext = exchange_next,
                                          .xEof = exchange_eof,
                                          .xColumn = exchange_column,
                                          .xRowid = exchange_rowid};
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof DIRECTIONS / sizeof *DIRECTIONS && rc == SQLITE_OK; i++)
        rc = sqlite3_create_module_v2(db, DIRECTIONS[i].function, &MODULE, ctr_shared_hold(shared),
                                      ctr_shared_drop);
    return rc;
}
