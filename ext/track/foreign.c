/* track/foreign.c - foreign keys that refer to a tracked table. */
#include "track/foreign.h"

#include <string.h>

#include "sqlite/run.h"
#include "sqlite/text.h"
#include "track/lists.h"

void ctr_foreign_close(ctr_foreign *foreign)
{
    sqlite3_finalize(foreign->children);
    *foreign = (ctr_foreign){0};
}

bool ctr_foreign_enforced(sqlite3 *db)
{
    int enforced = 0;
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &enforced);
    return enforced != 0;
}

bool ctr_foreign_broken(sqlite3 *db)
{
    int is = 0, high;
    sqlite3_db_status(db, SQLITE_DBSTATUS_DEFERRED_FKS, &is, &high, 0);
    return is != 0;
}

void ctr_foreign_refuse_broken(sqlite3 *db, const char *table, ctr_problem *problem)
{
    if (ctr_foreign_broken(db))
        ctr_problem_set(
            problem, SQLITE_ERROR,
            "the transaction violates a deferred foreign key: repair it before values are "
            "written into the tracked table %s",
            table);
}

/* ---- children -------------------------------------------------------------------------------- */

/* Adds the foreign keys of one table that refer to ours and forbid the deletion of a row: EXISTS
 * (child rows whose parent is the row). */
static void add_child(const ctr_tracked *tracked, const char *child, sqlite3_str *out,
                      ctr_problem *problem)
{
    const char *schema = tracked->schema, *table = tracked->table;
    ctr_run run = ctr_run_on(tracked->db, schema, NULL, problem);
    run.slots.name = child;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_FOREIGN_KEYS);
    while (ctr_run_row(&run, row)) {
        int part = sqlite3_column_int(row, 1);
        const char *parent = ctr_text_column(row, 2, problem),
                   *from = ctr_text_column(row, 3, problem), *to = ctr_text_column(row, 4, problem),
                   *on_delete = ctr_text_column(row, 6, problem);
        bool forbids = on_delete &&
                       (strcmp(on_delete, "NO ACTION") == 0 || strcmp(on_delete, "RESTRICT") == 0);
        if (!forbids || !parent || sqlite3_stricmp(parent, table) != 0) continue;
        if (!from || (!to && part >= tracked->shape->n_keys)) continue;
        if (part == 0) {
            sqlite3_str_appendf(
                out, "%sEXISTS (SELECT 1 FROM \"%w\".\"%w\" AS p, \"%w\".\"%w\" AS c WHERE ",
                ctr_text_separator(out, ") OR "), schema, table, schema, child);
            ctr_list_bound_key(tracked, out, "p.");
        }
        if (part == 0 && sqlite3_stricmp(child, table) == 0) {
            sqlite3_str_appendall(out, " AND NOT (");
            ctr_list_bound_key(tracked, out, "c.");
            sqlite3_str_appendall(out, ")");
        }
        sqlite3_str_appendf(out, " AND p.\"%w\" = c.\"%w\"",
                            to ? to : ctr_tracked_key(tracked, part)->name, from);
    }
    sqlite3_finalize(row);
}

static sqlite3_stmt *prepare_children(ctr_foreign *foreign, ctr_problem *problem)
{
    if (foreign->children || foreign->childless || problem->rc != SQLITE_OK)
        return foreign->children;
    const ctr_tracked *tracked = foreign->tracked;
    sqlite3_str *out = sqlite3_str_new(NULL); /* an EXISTS for each foreign key */
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_TABLES);
    while (ctr_run_row(&run, row)) {
        const char *child = ctr_text_column(row, 0, problem);
        if (child) add_child(tracked, child, out, problem);
    }
    sqlite3_finalize(row);
    if (sqlite3_str_length(out)) sqlite3_str_appendall(out, ")");
    if (sqlite3_str_errcode(out) != SQLITE_OK) ctr_problem_nomem(problem);
    char *children = sqlite3_str_finish(out); /* NULL: there is none, or no memory */
    run.slots.value = children;
    if (children) foreign->children = ctr_run_prepare(&run, CTR_SQL_TRACK_VALUE);
    foreign->childless = !children && problem->rc == SQLITE_OK;
    sqlite3_free(children);
    return foreign->children;
}

bool ctr_foreign_has_children(ctr_foreign *foreign, sqlite3_value **keys, ctr_problem *problem)
{
    const ctr_tracked *tracked = foreign->tracked;
    if (!ctr_foreign_enforced(tracked->db)) return false;
    sqlite3_stmt *row = prepare_children(foreign, problem);
    if (!row || ctr_tracked_bind_key(tracked, row, keys, problem)) return false;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    bool has = ctr_run_row(&run, row) && sqlite3_column_int(row, 0);
    sqlite3_reset(row);
    return has;
}
