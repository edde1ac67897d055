/* table/columns.c - adds, renames and empties the columns of a stored table. */
#include "table/table.h"

#include <string.h>

/* ---- checking -------------------------------------------------------------------------------- */

/* SQLite sees two columns more than ours. The INSERT of a new row has one parameter more; SQLite
 * before 3.32 allows 999 parameters. */
int ctr_columns_check(const ctr_shape *shape, sqlite3 *db, const char *table, const char *name,
                      ctr_problem *problem)
{
    const char *spelling;
    int most = sqlite3_limit(db, SQLITE_LIMIT_COLUMN, -1) - 2;
    int parameters = sqlite3_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, -1);
    if (most > parameters - 1) most = parameters - 1;
    for (int i = 0; i < shape->n_keys; i++)
        if (sqlite3_stricmp(shape->columns[shape->keys[i]].name, name) == 0)
            ctr_problem_set(problem, SQLITE_ERROR, "column %s is part of the key", name);
    if (ctr_shape_generation(shape, name, &spelling) > 0 && strcmp(spelling, name) != 0)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the counter %s is named %s here: the same name in other letters", name,
                        spelling);
    if (sqlite3_stricmp(table, name) == 0)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "column %s cannot be added to a table of the same name: rename the table",
                        name);
    if (ctr_shape_counter(shape, name) < 0 && shape->n_columns >= most)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "column %s cannot be added: the table has %d columns, and more than %d are "
                        "too many for SQLite",
                        name, shape->n_columns, most);
    return problem->rc;
}

/* ---- raising --------------------------------------------------------------------------------- */

/* Is there a column _dropped_<name>? */
static bool is_retired(ctr_run *run, const char *name)
{
    bool found = false;
    ctr_run columns = *run;
    char *stored = sqlite3_mprintf("%s_cells", run->slots.table);
    char *retired = sqlite3_mprintf("_dropped_%s", name);
    if (!stored || !retired) ctr_problem_nomem(run->problem);
    columns.slots.name = stored;
    sqlite3_stmt *row = ctr_run_prepare(&columns, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&columns, row)) {
        const char *column = ctr_text_column(row, 1, run->problem);
        found = found || (column && retired && sqlite3_stricmp(column, retired) == 0);
    }
    sqlite3_finalize(row);
    sqlite3_free(stored);
    sqlite3_free(retired);
    return found;
}

static void write_generation(ctr_run *run, const char *name, int64_t generation)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_COLUMNS_WRITE);
    ctr_run_bind_text(run, row, ":name", name);
    ctr_run_bind_int(run, row, ":generation", generation);
    ctr_run_once(run, row);
}

int ctr_columns_list(ctr_file *file, const char *table, const ctr_shape *from, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(file->conn->db, file->schema, table, problem);
    for (int i = 0; i < from->n_counters; i++) {
        const ctr_column *counter = &from->columns[from->counters[i]];
        if (counter->listed) write_generation(&run, counter->name, counter->generation);
    }
    return problem->rc;
}

/* Writes a generation before it renames the column: ALTER TABLE checks all views before and after,
 * and a view on the counter table connects to it, which compares the two. So the table must be
 * connected before, by a statement that is only prepared.
 *
 * A counter that stays begins anew: its column gets the name of a dropped one and its own name
 * again, so that the schema changes for every connection. */
int64_t ctr_columns_raise(ctr_file *file, const char *table, const ctr_shape *shape,
                          const char *name, int64_t generation, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return 0;
    int64_t emptied = 0;
    ctr_run run = ctr_run_on(file->conn->db, file->schema, table, problem);
    run.slots.name = name;
    bool is_there = ctr_shape_counter(shape, name) >= 0, stays = generation % 2 == 1;
    bool retired = stays && is_retired(&run, name);
    unsigned nth = file->conn->ended;
    ctr_tab *tab = ctr_tab_of(file, table, shape, problem);
    if (!tab) return 0;

    ctr_fold_table(tab, problem); /* the journal has the numbers of counters */
    ctr_journal_drop(tab);
    bool changes = is_there || stays;
    if (changes) tab->shapes++;

    if (changes) sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SYNC_JOIN));
    if (is_there) {
        write_generation(&run, name, stays ? generation - 1 : generation);
        ctr_run_do(&run, CTR_SQL_COLUMNS_RETIRE, NULL);
        ctr_run_do(&run, CTR_SQL_COLUMNS_EMPTY, NULL);
        if (problem->rc == SQLITE_OK) emptied = sqlite3_changes(run.db);
    }
    if (is_there && stays) sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SYNC_JOIN));
    if (stays || !is_there) write_generation(&run, name, generation);
    if (stays)
        ctr_run_do(&run, retired || is_there ? CTR_SQL_COLUMNS_RESTORE : CTR_SQL_COLUMNS_ADD, NULL);
    if (problem->rc != SQLITE_OK) {
        if (changes) tab->shapes--; /* the counters have not changed */
        ctr_conn_spoil(file->conn, nth);
    }
    return emptied;
}

/* ---- as a command ---------------------------------------------------------------------------- */

int64_t ctr_columns_ask(sqlite3 *db, const char *schema, const char *table, const char *name,
                        int64_t generation, ctr_problem *problem)
{
    ctr_wanted wanted = {name, generation, 0};
    ctr_run run = ctr_run_on(db, schema, table, problem);
    sqlite3_stmt *command = ctr_run_prepare(&run, CTR_SQL_COLUMNS_ASK);
    if (command) sqlite3_bind_pointer(command, 1, &wanted, CTR_WANTED, NULL);
    ctr_run_once(&run, command);
    return wanted.emptied;
}
