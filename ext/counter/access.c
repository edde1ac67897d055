/* counter/access.c - the current row: of one file, or of the front of a table. */
#include "counter/counter.h"

/* This comes before the row is found, because a new id means another shard, and before any
 * write. */
static int make_ready(ctr_table *table, ctr_problem *problem)
{
    ctr_tab *tab = table->rows->tab;
    if (problem->rc != SQLITE_OK || ctr_tab_is_ready(tab)) return problem->rc;
    table->rows->writing = true; /* a trigger on counter_replica must not use these rows */
    if (ctr_file_identity(table->file, problem) && ctr_journal_refresh(tab, problem) == SQLITE_OK &&
        ctr_batch_refuse_triggers(tab, problem) == SQLITE_OK)
        tab->ready_at = table->file->version;
    table->rows->writing = false;
    return problem->rc;
}

int ctr_access_find(ctr_table *table, ctr_problem *problem)
{
    table->joined.conn->stats.finds++;
    if (table->front)
        table->front->find(table, problem);
    else if (make_ready(table, problem) == SQLITE_OK)
        ctr_rows_find_key(table->rows, table->keys, problem);
    return problem->rc;
}

bool ctr_access_may_be_new(ctr_table *table, ctr_problem *problem)
{
    return !table->front && make_ready(table, problem) == SQLITE_OK &&
           ctr_rows_may_be_new(table->rows, table->keys, problem);
}

int ctr_access_find_rowid(ctr_table *table, int64_t rowid, ctr_problem *problem)
{
    if (table->front) return table->front->find_rowid(table, rowid, problem);
    table->joined.conn->stats.finds++;
    if (make_ready(table, problem) == SQLITE_OK) ctr_rows_find_rowid(table->rows, rowid, problem);
    return problem->rc;
}

void ctr_access_end(ctr_table *table)
{
    if (!table->holds_keys) return;
    for (int i = 0; i < table->shape.n_keys; i++) {
        sqlite3_value_free(table->keys[i]);
        table->keys[i] = NULL;
    }
    table->holds_keys = false;
}

int64_t ctr_access_rowid(const ctr_table *table)
{
    return table->front ? table->front->rowid(table) : table->rows->rowid;
}

bool ctr_access_found(const ctr_table *table)
{
    return table->front ? table->front->found(table) : table->rows->found;
}

void ctr_access_spell(ctr_table *table, ctr_problem *problem)
{
    if (table->front)
        table->front->spell(table);
    else
        ctr_stage_spell(table->rows, table->keys, problem);
}

bool ctr_access_is_live(const ctr_table *table)
{
    for (int i = 0; i < table->shape.n_counters; i++) {
        ctr_summary state = ctr_rows_state(table->rows, i);
        if (ctr_summary_is_live(&state)) return true;
    }
    return false;
}

bool ctr_access_is_below(ctr_table *table, ctr_problem *problem)
{
    return table->front ? table->front->is_below(table)
                        : ctr_floors_is_below(&table->floors, table->keys, problem);
}

/* Records the current request, if there is one, then writes the row. A trigger on the requests must
 * not use the current row. */
int ctr_access_write(ctr_table *table, ctr_problem *problem)
{
    ctr_conn *conn = table->joined.conn;
    unsigned nth = conn->ended;
    if (table->front) return table->front->write(table, problem);
    table->rows->writing = true;
    if (table->request) ctr_request_remember(table, problem);
    table->rows->writing = false;
    if (problem->rc != SQLITE_OK) return problem->rc;
    ctr_stage_write(table->rows, table->keys, problem);
    if (problem->rc != SQLITE_OK && table->request) ctr_conn_spoil(conn, nth);
    return problem->rc;
}

int ctr_access_raise(ctr_table *table, ctr_problem *problem)
{
    if (table->front) return table->front->raise(table, problem);
    table->rows->writing = true; /* no trigger may use these rows */
    ctr_floors_raise(&table->floors, table->keys, problem);
    table->rows->writing = false;
    return problem->rc;
}

bool ctr_access_key_is(ctr_table *table, int64_t rowid, ctr_problem *problem)
{
    return table->front ? table->front->key_is(table, rowid, problem)
                        : ctr_values_key_is(table->rows, rowid, table->keys, problem);
}

char *ctr_access_given_key_text(const ctr_table *table, ctr_problem *problem)
{
    char *key = ctr_problem_describe_key(table->keys, table->shape.n_keys);
    if (!key) {
        ctr_problem_close(problem);
        ctr_problem_nomem(problem);
    }
    return key;
}

/* Returns the key of the row that was found as a message shows it. */
static char *found_key_text(ctr_table *table, ctr_problem *problem)
{
    ctr_rows *rows = table->front ? table->front->stored_row(table) : table->rows;
    return rows ? ctr_values_key_text(rows, rows->rowid, problem)
                : ctr_access_given_key_text(table, problem);
}

void ctr_access_problem_at(ctr_table *table, int counter, ctr_problem *problem)
{
    char *key = found_key_text(table, problem);
    const char *name = table->shape.columns[table->shape.counters[counter]].name;
    if (key) ctr_problem_where(problem, "column %s of %s", name, key);
    sqlite3_free(key);
}
