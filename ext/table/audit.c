/* table/audit.c - reads a journal beside the rows that are stored. */
#include "table/audit.h"

/* Where a check of levels has come. */
typedef struct level_check {
    int64_t number, level;
    bool open; /* the first row of the segment is yet to come */
} level_check;

/* The rows of a segment stand before its first one, which has the highest number. */
static void check_level(level_check *at, int64_t number, int64_t level, const char *table,
                        ctr_problem *problem)
{
    int64_t height = level >= 0 ? level : level > -INT64_MAX ? -level : INT64_MAX;
    if (number <= at->number)
        ctr_changes_damaged(table, number, "has a number that does not rise", problem);
    if (height > at->level || (at->open && height != at->level))
        ctr_changes_damaged(table, number, "has a level that is not in order", problem);
    *at = (level_check){number, height, level < 0};
}

static void check_levels(ctr_run *run)
{
    level_check at = {0, INT64_MAX, false};
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_JOURNAL_SINCE);
    if (row) sqlite3_bind_int64(row, 1, INT64_MIN);
    while (ctr_run_row(run, row)) {
        int64_t number = sqlite3_column_int64(row, CTR_JOURNAL_NUMBER);
        if (sqlite3_column_type(row, CTR_JOURNAL_LEVEL) != SQLITE_INTEGER)
            ctr_changes_damaged(run->slots.table, number, "has no level", run->problem);
        check_level(&at, number, sqlite3_column_int64(row, CTR_JOURNAL_LEVEL), run->slots.table,
                    run->problem);
    }
    sqlite3_finalize(row);
    if (at.open)
        ctr_changes_damaged(run->slots.table, at.number, "is part of a segment", run->problem);
}

/* Is the row in the list? They come in ascending order. */
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

int ctr_audit_journal(sqlite3 *db, const char *schema, const char *table, int n_counters,
                      ctr_problem *problem)
{
    ctr_changes changes = {0}, amounts = {0};
    ctr_run run = ctr_run_on(db, schema, table, problem);
    ctr_journal *journal = ctr_journal_to_read(db, schema, table, n_counters, problem);
    if (!journal) return problem->rc;
    check_levels(&run);
    ctr_changes_read(&changes, db, schema, table, 0, problem);
    ctr_changes_latest(&changes, problem);
    if (ctr_journal_refresh(journal, problem) == SQLITE_OK)
        ctr_journal_list_amounts(journal, &amounts, problem);
    if (problem->rc == SQLITE_OK) check_changed_rows(&run, &changes, &amounts);
    if (journal->last >= CTR_JOURNAL_NUMBERS)
        ctr_changes_damaged(table, journal->last, "has a number that is out of range", problem);
    ctr_journal_free(journal);
    sqlite3_free(changes.rows);
    sqlite3_free(amounts.rows);
    return problem->rc;
}
