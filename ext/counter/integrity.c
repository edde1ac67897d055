/* counter/integrity.c - checks the stored content of a counter table.
 *
 *     INSERT INTO t(t) VALUES ('integrity-check')   an error with the first finding
 *     PRAGMA integrity_check, PRAGMA quick_check    the same as a row, since SQLite 3.44
 *
 * It checks the identity and the list of tables, each key and cell, the journal, and the pages of
 * the stored table. SQLite checks pages in a PRAGMA; quick_check skips the journal.
 *
 * In a journal, numbers are positive and rise; levels fall towards the newest rows, and each
 * segment has a first row. Every stored row is in the list of changes, and every row with amounts
 * is stored.
 */
#include <string.h>

#include "counter/counter.h"

static void check_rows(ctr_table *table, ctr_problem *problem)
{
    ctr_walk walk;
    ctr_tab *tab = table->rows->tab;
    ctr_row_cell row_cell = {0}; /* owned columns; read to be checked */
    int room = 0;
    ctr_stream_walk_open(&walk, table->rows, CTR_WALK_ALL, 0, problem);
    while (ctr_stream_walk_next(&walk, problem)) {
        int64_t rowid = sqlite3_column_int64(walk.row, CTR_WALK_ID);
        if (table->shape.replicated && ctr_regular_room(tab, &row_cell, &room, problem))
            ctr_regular_read(tab, rowid, &row_cell, problem);
        for (int i = 0; i < table->shape.n_columns; i++) {
            const ctr_column *column = &table->shape.columns[i];
            ctr_cell cell;
            if (column->counter >= 0)
                ctr_values_open_cell(table->rows, walk.row, CTR_WALK_COLUMNS + i, column->counter,
                                     &cell, problem);
            else if (sqlite3_column_type(walk.row, CTR_WALK_COLUMNS + i) == SQLITE_NULL)
                ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "key column %s is NULL in row %lld",
                                column->name, (long long)rowid);
        }
    }
    ctr_stream_walk_close(&walk);
    sqlite3_free(row_cell.columns);
}

/* ---- the journal ----------------------------------------------------------------------------- */

/* The rows of a segment stand before its first one, which has the highest number. */
static void check_levels(ctr_run *run)
{
    const char *table = run->slots.table;
    int64_t last = 0, height = INT64_MAX; /* of the row before */
    bool open = false;                    /* its segment has its first row still to come */
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_JOURNAL_SINCE);
    ctr_run_bind_int(run, row, ":number", INT64_MIN);
    while (ctr_run_row(run, row)) {
        int64_t number = sqlite3_column_int64(row, CTR_JOURNAL_NUMBER);
        int64_t level = sqlite3_column_int64(row, CTR_JOURNAL_LEVEL);
        if (sqlite3_column_type(row, CTR_JOURNAL_LEVEL) != SQLITE_INTEGER)
            ctr_changes_damaged(table, number, "has no level", run->problem);
        int64_t now = level >= 0 ? level : level > -INT64_MAX ? -level : INT64_MAX;
        if (number <= last)
            ctr_changes_damaged(table, number, "has a number that does not rise", run->problem);
        if (now > height || (open && now != height))
            ctr_changes_damaged(table, number, "has a level that is not in order", run->problem);
        last = number;
        height = now;
        open = level < 0;
    }
    sqlite3_finalize(row);
    if (open) ctr_changes_damaged(table, last, "is part of a segment", run->problem);
}

/* Is the row in the list? The caller asks in ascending order. */
static bool is_listed(const ctr_changes *list, size_t *at, int64_t row)
{
    while (*at < list->n && list->rows[*at].row < row) (*at)++;
    return *at < list->n && list->rows[*at].row == row;
}

static void check_changed_rows(ctr_run *run, const ctr_changes *changes, const ctr_changes *amounts)
{
    size_t change = 0, amount = 0, stored = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_JOURNAL_ROWS);
    while (ctr_run_row(run, row)) {
        int64_t id = sqlite3_column_int64(row, 0);
        if (!is_listed(changes, &change, id))
            ctr_problem_set(run->problem, SQLITE_CORRUPT_VTAB,
                            "%s_journal is damaged: row %lld is stored and not in it",
                            run->slots.table, (long long)id);
        stored += is_listed(amounts, &amount, id);
    }
    sqlite3_finalize(row);
    if (stored < amounts->n)
        ctr_problem_set(run->problem, SQLITE_CORRUPT_VTAB,
                        "%s_journal is damaged: it has amounts for rows that are not stored",
                        run->slots.table);
}

/* Appends the batches first, because the journal must have the changes of this transaction, and
 * reads all of it anew. */
static void check_journal(ctr_table *table, ctr_problem *problem)
{
    ctr_tab *tab = table->rows->tab;
    ctr_changes changes = {0}, amounts = {0};
    ctr_run run = ctr_run_on(table->db, table->schema, table->name, problem);
    if (table->rows->writing)
        ctr_problem_set(
            problem, SQLITE_ERROR,
            "a trigger on a stored table cannot check it, because its row is not complete yet");
    ctr_batch_flush_all(table->file, problem);
    if (problem->rc != SQLITE_OK) return;
    check_levels(&run);
    ctr_changes_read(&changes, tab, 0, problem);
    ctr_changes_latest(&changes, problem);
    ctr_journal_read_again(tab, problem);
    if (ctr_journal_refresh(tab, problem) == SQLITE_OK)
        ctr_journal_list_amounts(tab, &amounts, problem);
    if (problem->rc == SQLITE_OK) check_changed_rows(&run, &changes, &amounts);
    if (tab->last >= CTR_JOURNAL_NUMBERS)
        ctr_changes_damaged(table->name, tab->last, "has a number that is out of range", problem);
    sqlite3_free(changes.rows);
    sqlite3_free(amounts.rows);
}

/* ---- the whole ------------------------------------------------------------------------------- */

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

int ctr_integrity_check(ctr_table *table, ctr_integrity_extent extent, ctr_problem *problem)
{
    ctr_identity identity;
    ctr_catalog_entry entry;
    ctr_table_read(table, problem);
    ctr_identity_read(&identity, table->db, table->schema, problem);
    if (problem->rc == SQLITE_OK && !identity.present) ctr_identity_missing(table->schema, problem);
    if (!ctr_catalog_named(&entry, table->db, table->schema, table->name, problem))
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the table is missing in counter_tables");
    ctr_catalog_close_entry(&entry);
    check_rows(table, problem);
    if (extent != CTR_INTEGRITY_QUICK) check_journal(table, problem);
    if (extent == CTR_INTEGRITY_ALONE) check_pages(table, problem);
    return problem->rc;
}

/* Reports a damage in the result of the PRAGMA, not as an error. */
int ctr_integrity_method(sqlite3_vtab *base, const char *schema, const char *name, int flags,
                         char **message)
{
    enum { IS_QUICK_CHECK = 1 };
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_batch_flush_all(table->file, &problem);
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
