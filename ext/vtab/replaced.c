/* vtab/replaced.c - rows of a tracked table that OR REPLACE removes.
 *
 * SQLite fires no delete trigger for them, unless recursive triggers are on. A trigger BEFORE the
 * write inserts the keys that the statement may remove; one AFTER it has them looked up.
 */
#include "sqlite/array.h"
#include "table/stage.h"
#include "table/values.h"
#include "track/showing.h"
#include "vtab/table.h"

/* The statement may still keep the row, or remove it later, after triggers of the application have
 * written other rows. So it is remembered until it is gone or the transaction ends. */
bool ctr_replaced_note(ctr_table *table, ctr_problem *problem)
{
    unsigned nth = table->joined.conn->ended;
    if (table->may_go_in != nth) table->n_may_go = 0;
    table->may_go_in = nth;
    if (ctr_access_find(table, problem) || !table->rows->found) return false;
    ctr_may_go it = {table->rows->rowid, ctr_writing_is_at_work(table->file)};
    for (int i = 0; i < table->n_may_go; i++)
        if (table->may_go[i].rowid == it.rowid && table->may_go[i].at_work == it.at_work)
            return true;
    ctr_may_go *may_go = ctr_array_room(table->may_go, &table->room_may_go,
                                        (size_t)table->n_may_go + 1, sizeof *may_go, problem);
    if (!may_go) return true;
    table->may_go = may_go;
    may_go[table->n_may_go++] = it;
    return true;
}

void ctr_replaced_forget(ctr_table *table, int64_t rowid)
{
    int n = 0;
    for (int i = 0; i < table->n_may_go; i++)
        if (table->may_go[i].rowid != rowid) table->may_go[n++] = table->may_go[i];
    table->n_may_go = n;
}

/* Returns whether the row is gone; then its counters are deleted, unless it waits. */
static bool look_for_row(ctr_table *table, int64_t rowid, ctr_problem *problem)
{
    ctr_access_end(table);
    ctr_showing *looks = ctr_table_look(table, problem);
    table->holds_keys = looks != NULL; /* copies to free, also after a failure */
    bool taken = looks && ctr_values_take_key(table->rows, rowid, table->keys, problem);
    bool gone = taken && !ctr_writing_look(&looks->writing, table->keys, NULL, NULL, problem) &&
                problem->rc == SQLITE_OK;
    if (gone && ctr_access_find_rowid(table, rowid, problem) == SQLITE_OK &&
        ctr_stamping_is_live(table, problem)) {
        ctr_tracked_row row = {.table = table};
        ctr_reconcile_gone(&row, false, problem);
        ctr_apart_close_row(&row.apart);
    }
    ctr_access_end(table);
    return gone;
}

/* Looks up those noted while the library wrote a merged row, or the others. */
void ctr_replaced_look_up(ctr_table *table, ctr_problem *problem)
{
    bool at_work = ctr_writing_is_at_work(table->file);
    if (table->may_go_in != table->joined.conn->ended) table->n_may_go = 0;
    for (int i = table->n_may_go - 1; i >= 0 && problem->rc == SQLITE_OK; i--) {
        if (i >= table->n_may_go) continue; /* a row was remembered twice */
        int64_t rowid = table->may_go[i].rowid;
        if (table->may_go[i].at_work == at_work && look_for_row(table, rowid, problem))
            ctr_replaced_forget(table, rowid);
    }
}
