/* vtab/integrity.c - looks at all that is stored of a counter table. */
#include "vtab/integrity.h"

#include <string.h>

#include "identity/identity.h"
#include "sqlite/text.h"
#include "table/audit.h"
#include "table/catalog.h"
#include "table/walk.h"

static void check_row(ctr_table *table, sqlite3_stmt *row, ctr_problem *problem)
{
    int64_t rowid = sqlite3_column_int64(row, CTR_WALK_ID);
    for (int i = 0; i < table->shape.n_columns; i++) {
        const ctr_column *column = &table->shape.columns[i];
        ctr_cell cell;
        if (column->counter >= 0)
            ctr_rows_open_cell(table->rows, row, CTR_WALK_COLUMNS + i, column->counter, &cell,
                               problem);
        else if (sqlite3_column_type(row, CTR_WALK_COLUMNS + i) == SQLITE_NULL)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "key column %s is NULL in row %lld",
                            column->name, (long long)rowid);
    }
}

static void check_rows(ctr_table *table, ctr_problem *problem)
{
    ctr_walk walk;
    ctr_walk_open(&walk, table->db, table->schema, table->name, &table->shape, CTR_WALK_ALL, 0,
                  problem);
    while (ctr_walk_next(&walk, problem)) check_row(table, walk.row, problem);
    ctr_walk_close(&walk);
}

/* What this transaction has changed must be in the journal before it is looked at. */
static void check_journal(ctr_table *table, ctr_problem *problem)
{
    if (table->rows->writing)
        ctr_problem_set(
            problem, SQLITE_ERROR,
            "a trigger on a stored table cannot check it, for its row is half-way there");
    if (ctr_journal_flush_all(table->replica, problem) == SQLITE_OK)
        ctr_audit_journal(table->db, table->schema, table->name, table->shape.n_counters, problem);
}

static void check_pages(ctr_table *table, ctr_problem *problem)
{
    enum { CHECKS_ONE_TABLE = 3033000 };
    if (sqlite3_libversion_number() < CHECKS_ONE_TABLE) return;
    ctr_run run = ctr_run_on(table->db, table->schema, table->name, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_INTEGRITY);
    while (ctr_run_row(&run, row)) {
        const char *finding = ctr_text_column(row, 0, problem);
        if (!finding || strcmp(finding, "ok") != 0)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "%s", finding ? finding : "no finding");
    }
    sqlite3_finalize(row);
}

static void check_file(ctr_table *table, ctr_problem *problem)
{
    ctr_identity identity;
    ctr_identity_read(&identity, table->db, table->schema, problem);
    if (problem->rc == SQLITE_OK && !identity.present) ctr_identity_missing(table->schema, problem);
    ctr_catalog_entry entry;
    if (!ctr_catalog_named(&entry, table->db, table->schema, table->name, problem))
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the table is missing in counter_tables");
    ctr_catalog_close_entry(&entry);
}

int ctr_integrity_check(ctr_table *table, ctr_integrity_extent extent, ctr_problem *problem)
{
    ctr_table_read(table, problem);
    check_file(table, problem);
    check_rows(table, problem);
    if (extent != CTR_INTEGRITY_QUICK) check_journal(table, problem);
    if (extent == CTR_INTEGRITY_ALONE) check_pages(table, problem);
    return problem->rc;
}

/* A finding is no error, it is a row. */
int ctr_integrity_method(sqlite3_vtab *base, const char *schema, const char *name, int flags,
                         char **message)
{
    enum { IS_QUICK_CHECK = 1 };
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_journal_flush_all(table->replica, &problem);
    ctr_integrity_check(table, flags & IS_QUICK_CHECK ? CTR_INTEGRITY_QUICK : CTR_INTEGRITY_PRAGMA,
                        &problem);
    int rc = problem.rc, code = rc & 0xff;
    if (code == SQLITE_CORRUPT || code == SQLITE_ERROR) {
        *message =
            sqlite3_mprintf("counter table %s.%s: %s", schema, name, ctr_problem_text(&problem));
        rc = *message ? SQLITE_OK : SQLITE_NOMEM;
    }
    ctr_problem_close(&problem);
    return rc;
}
