/* tracked/apart.c - reads and writes the list of rows that do not show their counters. */
#include "tracked/tracked.h"

#include <string.h>

/* What an entry says, as TRACK_APART has it. */
enum { APART_COUNTER, APART_REFUSED, APART_ENDED, APART_WITHHELD, APART_KEPT };

/* Takes a statement, bound to this row; NULL on a problem. */
static ctr_slot *take_apart(ctr_apart *apart, ctr_tab_sql which, int64_t rowid,
                            ctr_problem *problem)
{
    ctr_run run = ctr_tab_run(apart->tab, problem);
    ctr_slot *slot = ctr_tab_take(apart->tab, which, problem);
    if (slot) ctr_run_bind_int(&run, slot->kept.statement, ":row", rowid);
    return slot;
}

int ctr_apart_read(ctr_apart *apart, int64_t rowid, ctr_apart_row *row, ctr_problem *problem)
{
    const ctr_shape *shape = apart->tracked->shape;
    size_t n = (size_t)shape->n_counters + 1;
    *row = (ctr_apart_row){.differs_in = sqlite3_malloc64(n * sizeof *row->differs_in),
                           .shown = sqlite3_malloc64(n * sizeof *row->shown)};
    if (!row->differs_in || !row->shown) return ctr_problem_nomem(problem);
    memset(row->differs_in, 0, n * sizeof *row->differs_in);
    ctr_run run = ctr_tab_run(apart->tab, problem);
    ctr_slot *slot = take_apart(apart, CTR_TAB_APART, rowid, problem);
    sqlite3_stmt *entry = slot ? slot->kept.statement : NULL;
    while (ctr_run_row(&run, entry)) {
        const char *name = ctr_text_column(entry, 0, problem);
        int kind = sqlite3_column_int(entry, 2);
        row->refused = row->refused || kind == APART_REFUSED;
        row->ended = row->ended || kind == APART_ENDED;
        row->withheld = row->withheld || kind == APART_WITHHELD;
        if (kind != APART_COUNTER) continue;
        int i = name ? ctr_shape_counter_like(shape, name) : -1;
        row->waits = row->waits || (name && !*name);
        if (i < 0) continue;
        row->differs = row->differs_in[i] = true;
        row->shown[i] = (ctr_shown){.null = sqlite3_column_type(entry, 1) == SQLITE_NULL,
                                    .n = sqlite3_column_int64(entry, 1)};
    }
    ctr_tab_give_back(apart->tab, slot, problem);
    return problem->rc;
}

void ctr_apart_close_row(ctr_apart_row *row)
{
    sqlite3_free(row->differs_in);
    sqlite3_free(row->shown);
    *row = (ctr_apart_row){0};
}

int ctr_apart_remove(ctr_apart *apart, int64_t rowid, ctr_problem *problem)
{
    ctr_run run = ctr_tab_run(apart->tab, problem);
    ctr_slot *slot = take_apart(apart, CTR_TAB_NOT_APART, rowid, problem);
    if (slot) ctr_run_row(&run, slot->kept.statement);
    ctr_tab_give_back(apart->tab, slot, problem);
    return problem->rc;
}

void ctr_apart_add(ctr_apart *apart, int64_t rowid, const char *counter, const ctr_shown *shown,
                   ctr_problem *problem)
{
    ctr_run run = ctr_tab_run(apart->tab, problem);
    ctr_slot *slot = take_apart(apart, CTR_TAB_SET_APART, rowid, problem);
    sqlite3_stmt *entry = slot ? slot->kept.statement : NULL;
    ctr_run_bind_text(&run, entry, ":counter", counter ? counter : "");
    if (!shown || shown->null)
        ctr_run_bind_text(&run, entry, ":shown", NULL);
    else
        ctr_run_bind_int(&run, entry, ":shown", shown->n);
    ctr_run_row(&run, entry);
    ctr_tab_give_back(apart->tab, slot, problem);
}

static void set_state(ctr_apart *apart, ctr_sql sql, int64_t rowid, ctr_problem *problem)
{
    ctr_run run = ctr_tab_run(apart->tab, problem);
    sqlite3_stmt *entry = ctr_run_prepare(&run, sql);
    ctr_run_bind_int(&run, entry, ":row", rowid);
    ctr_run_once(&run, entry);
}

void ctr_apart_end(ctr_apart *apart, int64_t rowid, ctr_problem *problem)
{
    set_state(apart, CTR_SQL_TRACK_SET_ENDED, rowid, problem);
}

void ctr_apart_withhold(ctr_apart *apart, int64_t rowid, ctr_problem *problem)
{
    set_state(apart, CTR_SQL_TRACK_SET_WITHHELD, rowid, problem);
}

void ctr_apart_keep(ctr_apart *apart, ctr_problem *problem)
{
    ctr_run run = ctr_tab_run(apart->tab, problem);
    ctr_run_do(&run, CTR_SQL_TRACK_SET_KEPT, NULL);
}

void ctr_apart_explain(ctr_apart *apart, int64_t rowid, const char *why, ctr_problem *problem)
{
    if (!why) return;
    ctr_run run = ctr_tab_run(apart->tab, problem);
    sqlite3_stmt *entry = ctr_run_prepare(&run, CTR_SQL_TRACK_EXPLAIN_APART);
    ctr_run_bind_int(&run, entry, ":row", rowid);
    ctr_run_bind_text(&run, entry, ":why", why);
    ctr_run_once(&run, entry);
}

/* A table that keeps no statements is not to keep this one alone. */
int64_t ctr_apart_count(ctr_file *file, const char *counters, ctr_problem *problem)
{
    ctr_tab *tab = ctr_tab_known(file, counters);
    ctr_run run = ctr_run_on(file->conn->db, file->schema, counters, problem);
    if (!tab || !tab->keeps) return ctr_run_number(&run, CTR_SQL_TRACK_COUNT_APART);
    ctr_slot *slot = ctr_tab_take(tab, CTR_TAB_COUNT_APART, problem);
    int64_t n = 0;
    if (slot && ctr_run_row(&run, slot->kept.statement)) {
        n = sqlite3_column_int64(slot->kept.statement, 0);
        if (ctr_run_is_hidden(slot->kept.statement, 1))
            ctr_problem_set(problem, SQLITE_AUTH,
                            "an authorizer of this connection hides columns of %s_state", counters);
    }
    ctr_tab_give_back(tab, slot, problem);
    return n;
}

void ctr_apart_count_rows(ctr_file *file, const char *counters, int64_t *wait, int64_t *differ,
                          ctr_problem *problem)
{
    ctr_run run = ctr_run_on(file->conn->db, file->schema, counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_COUNT_APART_ROWS);
    bool is = ctr_run_row(&run, row);
    *wait = is ? sqlite3_column_int64(row, 0) : 0;
    *differ = is ? sqlite3_column_int64(row, 1) : 0;
    sqlite3_finalize(row);
}
