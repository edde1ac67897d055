/* table/refuse.c - looks for triggers, and at the programs that SQLite makes of our statements. */
#include "table/table.h"

#include <string.h>

static bool is_among(const char *name, const char *const *names)
{
    while (*names && sqlite3_stricmp(name, *names) != 0) names++;
    return *names != NULL;
}

/* Is it a stored table of the counter table? */
static bool is_stored_of(const char *name, const char *table)
{
    size_t size = strlen(table);
    if (sqlite3_strnicmp(name, table, (int)size) != 0 || name[size] != '_') return false;
    return is_among(name + size + 1, ctr_stored_suffixes());
}

static void refuse_trigger(const char *trigger, const char *on, const char *table, bool of_file,
                           ctr_problem *problem)
{
    if (!trigger || !on) return;
    if ((table && is_stored_of(on, table)) || (of_file && is_among(on, ctr_stored_of_file())))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the stored table %s has the trigger %s: drop it first", on, trigger);
}

int ctr_refuse_triggers_among(const ctr_objects *objects, const char *table, bool of_file,
                              ctr_problem *problem)
{
    for (size_t i = 0; i < objects->n_triggers && problem->rc == SQLITE_OK; i++)
        refuse_trigger(objects->triggers[i].name, objects->triggers[i].on, table, of_file, problem);
    return problem->rc;
}

int ctr_refuse_triggers(sqlite3 *db, const char *schema, const char *table, bool of_file,
                        ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_TRIGGERS);
    while (ctr_run_row(&run, row))
        refuse_trigger(ctr_text_column(row, 0, problem), ctr_text_column(row, 1, problem), table,
                       of_file, problem);
    sqlite3_finalize(row);
    return problem->rc;
}

/* Counts the columns that a program reads or writes, by the opcodes of SQLite for them. */
static int count_opcodes(ctr_run *run, ctr_sql which, const char *one, const char *other)
{
    int n = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, which);
    while (ctr_run_row(run, row)) {
        const char *opcode = ctr_text_column(row, 1, run->problem);
        n += opcode && (strcmp(opcode, one) == 0 || strcmp(opcode, other) == 0);
    }
    sqlite3_finalize(row);
    return n;
}

/* A hidden column is a NULL without a declared type. A key column may be declared without one. */
bool ctr_refuse_is_hiding(const ctr_shape *shape, sqlite3_stmt *row, bool keys)
{
    bool hides = ctr_run_is_hidden(row, CTR_FIND_ROWID);
    for (int i = 0; keys && i < shape->n_keys; i++)
        hides = hides || (shape->columns[shape->keys[i]].affinity != CTR_AFFINITY_BLOB &&
                          ctr_run_is_hidden(row, CTR_FIND_COLUMNS + shape->keys[i]));
    for (int i = 0; i < shape->n_counters; i++)
        hides = hides || ctr_run_is_hidden(row, CTR_FIND_COLUMNS + shape->counters[i]);
    return hides;
}

int ctr_refuse_hidden(const char *table, ctr_problem *problem)
{
    return ctr_problem_set(problem, SQLITE_AUTH,
                           "an authorizer of this connection hides columns of %s_cells or "
                           "%s_journal: what is counted there would be lost",
                           table, table);
}

void ctr_refuse_hidden_by(ctr_slot *slot, const ctr_tab *tab, ctr_problem *problem)
{
    slot->checked = !ctr_refuse_is_hiding(&tab->shape, slot->kept.statement, true);
    if (!slot->checked) ctr_refuse_hidden(tab->table, problem);
}

int ctr_refuse_ignored_entries(const ctr_tab *tab, ctr_problem *problem)
{
    enum { PARAMETERS = 2 };
    ctr_run run = ctr_tab_run(tab, problem);
    if (count_opcodes(&run, CTR_SQL_JOURNAL_EXPLAIN, "Variable", "Variable") < PARAMETERS)
        ctr_refuse_hidden(tab->table, problem);
    return problem->rc;
}

int ctr_refuse_ignored_columns(const ctr_tab *tab, const ctr_shape *shape, ctr_problem *problem)
{
    enum { JOURNAL_COLUMNS = 3 };
    char *counters = ctr_shape_counter_list(shape), *changes = ctr_shape_update_changes(shape);
    if (!counters || !changes) ctr_problem_nomem(problem);
    ctr_run run = ctr_tab_run(tab, problem);
    run.slots.columns = counters;
    run.slots.changes = changes;
    if (count_opcodes(&run, CTR_SQL_SCHEMA_EXPLAIN_CELLS, "Column", "Rowid") < shape->n_counters ||
        count_opcodes(&run, CTR_SQL_SCHEMA_EXPLAIN_JOURNAL, "Column", "Rowid") < JOURNAL_COLUMNS ||
        count_opcodes(&run, CTR_SQL_ROWS_EXPLAIN, "Variable", "Variable") <=
            shape->n_counters + shape->replicated)
        ctr_refuse_hidden(tab->table, problem);
    sqlite3_free(counters);
    sqlite3_free(changes);
    return problem->rc;
}
