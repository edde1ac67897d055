/* surface/history.c - counter_identity([schema]): the ids that a file has written under.
 *
 *     SELECT id, name, state, since, why, fingerprint, witness, refuses FROM counter_identity();
 *
 *     state          current or former
 *     since, why     UTC; created, copy, restore, conflict, dropped table or fork
 *     fingerprint    of the current id: 'armed', or why not
 *     witness        the same
 *     refuses        why the file does not count; NULL if it does
 *
 * Newest first. It changes nothing; what it finds amiss is heeded by the next count.
 */
#include <string.h>

#include "store/identity.h"
#include "store/medium.h"
#include "store/place.h"
#include "surface/args.h"
#include "surface/register.h"

enum {
    COLUMN_ID,
    COLUMN_NAME,
    COLUMN_STATE,
    COLUMN_SINCE,
    COLUMN_WHY,
    COLUMN_FINGERPRINT,
    COLUMN_WITNESS,
    COLUMN_REFUSES,
    COLUMN_SCHEMA
};

/* Columns of CTR_SQL_IDENTITY_HISTORY. */
enum { READ_ID, READ_NAME, READ_STATE, READ_SINCE, READ_WHY, READ_REFUSES };

typedef struct history_table {
    sqlite3_vtab base;
    sqlite3 *db;
} history_table;

typedef struct history_cursor {
    sqlite3_vtab_cursor base;
    char *schema, *fingerprint, *witness; /* owned */
    sqlite3_stmt *rows;
    int64_t row;
    bool eof;
} history_cursor;

static int history_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                           sqlite3_vtab **base, char **message)
{
    (void)aux;
    (void)argc;
    (void)argv;
    (void)message;
    int rc = sqlite3_declare_vtab(
        db, "CREATE TABLE x(id TEXT, name TEXT, state TEXT, since TEXT, why TEXT, "
            "fingerprint TEXT, witness TEXT, refuses TEXT, schema HIDDEN)");
    if (rc != SQLITE_OK) return rc;
    history_table *table = sqlite3_malloc64(sizeof *table);
    if (!table) return SQLITE_NOMEM;
    *table = (history_table){.db = db};
    *base = &table->base;
    return SQLITE_OK;
}

static int history_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

static int history_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    info->estimatedCost = 10;
    info->estimatedRows = 10;
    bool asked = false;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn != COLUMN_SCHEMA) continue;
        if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        asked = true;
        if (!info->aConstraint[i].usable) continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        return SQLITE_OK;
    }
    return asked ? SQLITE_CONSTRAINT : SQLITE_OK;
}

static int history_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor)
{
    (void)base;
    history_cursor *made = sqlite3_malloc64(sizeof *made);
    if (!made) return SQLITE_NOMEM;
    memset(made, 0, sizeof *made);
    *cursor = &made->base;
    return SQLITE_OK;
}

static void forget_scan(history_cursor *cursor)
{
    sqlite3_finalize(cursor->rows);
    sqlite3_free(cursor->schema);
    sqlite3_free(cursor->fingerprint);
    sqlite3_free(cursor->witness);
    cursor->rows = NULL;
    cursor->schema = cursor->fingerprint = cursor->witness = NULL;
    cursor->eof = true;
}

static int history_close(sqlite3_vtab_cursor *base)
{
    forget_scan((history_cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

static void next_id(history_cursor *cursor, sqlite3 *db, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || !cursor->rows) return;
    int rc = sqlite3_step(cursor->rows);
    cursor->eof = rc != SQLITE_ROW;
    cursor->row++;
    ctr_problem_sqlite(problem, db, rc);
}

/* ---- are fingerprint and witness armed? ------------------------------------------------------ */

static const char UNKNOWN_VFS[] = "not armed: the VFS is not a unix one";

static char *fingerprint_state(const ctr_medium *medium, const ctr_lineage *lineage,
                               const ctr_fingerprint *seen)
{
    const char *state = "armed";
    if (lineage->trusts_witness)
        state = "not armed: the witness alone is trusted";
    else if (medium->kind == CTR_MEDIUM_OTHER)
        state = UNKNOWN_VFS;
    else if (!ctr_lineage_same_place(seen, &lineage->fingerprint))
        state = "this is a copy: the next count takes a new id";
    return sqlite3_mprintf("%s", state);
}

static char *witness_state(const ctr_medium *medium, const ctr_lineage *lineage,
                           const ctr_fingerprint *seen, const ctr_attribute *attribute)
{
    if (medium->kind == CTR_MEDIUM_MEMORY) return sqlite3_mprintf("armed");
    if (medium->kind == CTR_MEDIUM_OTHER) return sqlite3_mprintf("%s", UNKNOWN_VFS);
    switch (attribute->state) {
    case CTR_ATTRIBUTE_UNARMED:
        return sqlite3_mprintf("not armed: extended attributes: %s", strerror(medium->error));
    case CTR_ATTRIBUTE_MISSING:
        return sqlite3_mprintf("not armed: the attribute " CTR_PLACE_ATTRIBUTE " is not there");
    case CTR_ATTRIBUTE_FOREIGN:
        return sqlite3_mprintf(
            "not armed: somebody else has written the attribute " CTR_PLACE_ATTRIBUTE);
    case CTR_ATTRIBUTE_READ: break;
    }
    bool innocent = ctr_lineage_judge(lineage, seen, attribute).why == CTR_WHY_NONE;
    return sqlite3_mprintf("%s", innocent ? "armed"
                                          : "this is older content, or a copy: the next count "
                                            "takes a new id");
}

static void take_states(history_cursor *cursor, sqlite3 *db, const ctr_lineage *lineage,
                        ctr_problem *problem)
{
    ctr_medium medium = {.kind = CTR_MEDIUM_UNASKED};
    ctr_fingerprint seen;
    ctr_attribute attribute;
    if (ctr_medium_see(&medium, db, cursor->schema, true, &seen, &attribute, problem) ==
        SQLITE_OK) {
        cursor->fingerprint = fingerprint_state(&medium, lineage, &seen);
        cursor->witness = witness_state(&medium, lineage, &seen, &attribute);
        if (!cursor->fingerprint || !cursor->witness) ctr_problem_nomem(problem);
    }
    ctr_medium_close(&medium);
}

/* ---- the scan -------------------------------------------------------------------------------- */

/* A file without an identity has no rows. */
static void start_scan(history_cursor *cursor, sqlite3 *db, ctr_problem *problem)
{
    ctr_identity identity;
    if (ctr_identity_read(&identity, db, cursor->schema, problem) || !identity.present) return;
    take_states(cursor, db, &identity.lineage, problem);
    ctr_run run = ctr_run_on(db, cursor->schema, NULL, problem);
    cursor->rows = ctr_run_prepare(&run, CTR_SQL_IDENTITY_HISTORY);
    next_id(cursor, db, problem);
}

static int history_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int argc,
                          sqlite3_value **argv)
{
    (void)plan;
    (void)plan_text;
    history_cursor *cursor = (history_cursor *)base;
    history_table *table = (history_table *)base->pVtab;
    ctr_problem problem = {SQLITE_OK, NULL};
    forget_scan(cursor);
    const char *schema = argc > 0 ? (const char *)sqlite3_value_text(argv[0]) : "main";
    if (!schema)
        ctr_problem_set(&problem, SQLITE_MISMATCH, "the name of a database must be TEXT, not NULL");
    else if (!ctr_run_has_schema(table->db, schema))
        ctr_problem_set(&problem, SQLITE_ERROR, "no attached database has the name '%s'", schema);
    else if (!(cursor->schema = sqlite3_mprintf("%s", schema)))
        ctr_problem_nomem(&problem);
    if (problem.rc == SQLITE_OK) start_scan(cursor, table->db, &problem);
    return ctr_arg_table_problem(base->pVtab, "counter_identity", &problem);
}

static int history_next(sqlite3_vtab_cursor *base)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    next_id((history_cursor *)base, ((history_table *)base->pVtab)->db, &problem);
    return ctr_arg_table_problem(base->pVtab, "counter_identity", &problem);
}

static int history_eof(sqlite3_vtab_cursor *base)
{
    return ((history_cursor *)base)->eof;
}

static void result_former_id(sqlite3_context *ctx, sqlite3_stmt *rows)
{
    char text[CTR_ID_TEXT_SIZE];
    const void *id = sqlite3_column_blob(rows, READ_ID);
    if (!id || sqlite3_column_bytes(rows, READ_ID) != CTR_ID_SIZE) return;
    ctr_id_to_text(id, text);
    sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

static int history_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    history_cursor *cursor = (history_cursor *)base;
    const char *state = (const char *)sqlite3_column_text(cursor->rows, READ_STATE);
    bool current = state && strcmp(state, "current") == 0;
    switch (column) {
    case COLUMN_ID: result_former_id(ctx, cursor->rows); break;
    case COLUMN_FINGERPRINT:
        if (current) sqlite3_result_text(ctx, cursor->fingerprint, -1, SQLITE_TRANSIENT);
        break;
    case COLUMN_WITNESS:
        if (current) sqlite3_result_text(ctx, cursor->witness, -1, SQLITE_TRANSIENT);
        break;
    case COLUMN_SCHEMA: sqlite3_result_text(ctx, cursor->schema, -1, SQLITE_TRANSIENT); break;
    case COLUMN_REFUSES:
        sqlite3_result_value(ctx, sqlite3_column_value(cursor->rows, READ_REFUSES));
        break;
    default: sqlite3_result_value(ctx, sqlite3_column_value(cursor->rows, column)); break;
    }
    return SQLITE_OK;
}

static int history_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = ((history_cursor *)base)->row;
    return SQLITE_OK;
}

int ctr_history_register(sqlite3 *db)
{
    /* No xCreate: the table exists by itself and cannot be created. */
    static const sqlite3_module MODULE = {.xConnect = history_connect,
                                          .xBestIndex = history_best_index,
                                          .xDisconnect = history_disconnect,
                                          .xOpen = history_open,
                                          .xClose = history_close,
                                          .xFilter = history_filter,
                                          .xNext = history_next,
                                          .xEof = history_eof,
                                          .xColumn = history_column,
                                          .xRowid = history_rowid};
    return sqlite3_create_module_v2(db, "counter_identity", &MODULE, NULL, NULL);
}
