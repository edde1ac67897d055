/* table/home.c - where the cells of a tracked table are: at its rows, or away; finds them, and
 * keeps the invariant. See "places" in table/table.h. */
#include "table/table.h"

#include <string.h>

/* ---- how a statement finds the row of the tracked table -------------------------------------- */

void ctr_home_close(ctr_home *home)
{
    sqlite3_free(home->table);
    sqlite3_free(home->from);
    sqlite3_free(home->bound);
    sqlite3_free(home->same);
    sqlite3_free(home->keys);
    *home = (ctr_home){0};
}

bool ctr_home_is_known(ctr_tab *tab)
{
    if (!tab->shape.linked || ctr_rc(tab->conn) != SQLITE_OK) return false;
    if (tab->home.as_of == 0 || tab->home.as_of != tab->file->schemas) {
        ctr_home home = {0};
        tab->conn->above.find_home(tab, &home);
        ctr_home_close(&tab->home);
        tab->home = home;
        tab->home.as_of = tab->file->schemas;
    }
    return tab->home.rowid && ctr_rc(tab->conn) == SQLITE_OK;
}

/* The row id of the row with the key ?1, ?2, ... */
static const char *home_of_key(ctr_tab *tab)
{
    const ctr_home *home = &tab->home;
    return ctr_text_print(tab->conn, "SELECT t.%s FROM %s WHERE %s", home->rowid, home->from,
                          home->bound);
}

/* Is the row c at home? */
static const char *is_home(ctr_tab *tab)
{
    const ctr_home *home = &tab->home;
    if (!ctr_home_is_known(tab)) return "0";
    return ctr_text_print(tab->conn, "EXISTS (SELECT 1 FROM %s WHERE t.%s = c._rowid_ AND %s)",
                          home->from, home->rowid, home->same);
}

/* The condition of an UPDATE, which has no other table. */
static const char *match_anywhere(ctr_tab *tab)
{
    const char *match = ctr_shape_key_match(tab->conn, &tab->shape);
    return ctr_text_print(tab->conn,
                          "_rowid_ = coalesce((SELECT _rowid_ FROM \"%w\".\"%w_cells\" WHERE _away "
                          "AND %s), (%s)) AND %s",
                          tab->schema, tab->table, match, home_of_key(tab), match);
}

/* The columns of a find, of the row c. */
static const char *columns_of_cells(ctr_tab *tab)
{
    const ctr_shape *shape = &tab->shape;
    const char *columns = ctr_shape_list(tab->conn, shape, CTR_AS_DECLARED, "c.@", ", ", 1);
    return ctr_text_print(tab->conn, "%s%s, t.%s", columns, shape->replicated ? ", c._row" : "",
                          tab->home.rowid);
}

ctr_sql ctr_home_find_sql(ctr_tab *tab)
{
    return ctr_home_is_known(tab) ? CTR_SQL_HOME_FIND : CTR_SQL_ROWS_FIND_KEY;
}

void ctr_home_slots(ctr_tab *tab, ctr_tab_sql which, ctr_slots *slots)
{
    const ctr_home *home = &tab->home;
    bool known = ctr_home_is_known(tab);
    switch (which) {
    case CTR_TAB_FIND_KEY:
        if (!known) return;
        slots->columns = columns_of_cells(tab);
        slots->value = home->from;
        slots->name = home->rowid;
        slots->order = home->same;
        slots->constraint = home->bound;
        break;
    case CTR_TAB_FIND_AT:
        slots->value = ctr_text_print(tab->conn, "?%d", tab->shape.n_keys + 1);
        break;
    case CTR_TAB_MERGE_KEY:
        if (known) slots->constraint = match_anywhere(tab);
        break;
    case CTR_TAB_HOME: slots->value = known ? home_of_key(tab) : "NULL"; break;
    case CTR_TAB_HIGHEST:
        slots->value = known ? ctr_text_print(tab->conn, "SELECT max(t.%s) FROM %s", home->rowid,
                                              home->from)
                             : "NULL";
        break;
    default: break;
    }
}

void ctr_home_refuse_hidden(ctr_tab *tab)
{
    if (!ctr_home_is_known(tab)) return;
    ctr_run run = ctr_tab_run(tab);
    run.slots.value = tab->home.from;
    run.slots.keys = ctr_text_print(tab->conn, "%s, t.%s", tab->home.keys, tab->home.rowid);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_HOME_DESCRIBE);
    ctr_run_refuse_hidden(&run, row, tab->shape.n_keys + 1, tab->home.table);
    sqlite3_finalize(row);
}

/* ---- one number ------------------------------------------------------------------------------ */

/* Takes a statement that gives one number; returns whether there is one. */
static bool ask_number(ctr_tab *tab, ctr_slot *slot, int64_t *number)
{
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = slot ? slot->kept.statement : NULL;
    bool is = row && ctr_run_row(&run, row) && sqlite3_column_type(row, 0) != SQLITE_NULL;
    if (is) *number = sqlite3_column_int64(row, 0);
    ctr_tab_give_back(tab, slot);
    return is;
}

/* ---- rows that are away ---------------------------------------------------------------------- */

/* While memory is doubtful, another connection may have written since. */
bool ctr_home_any_away(ctr_tab *tab)
{
    bool current = tab->known && !tab->doubtful && tab->away.looked &&
                   tab->away.version == tab->version && tab->away.schemas == tab->file->schemas;
    if (current) return tab->away.any;
    int64_t any = 1;
    ask_number(tab, ctr_tab_take(tab, CTR_TAB_ANY_AWAY), &any);
    tab->away.any = any != 0;
    tab->away.looked = tab->known && ctr_rc(tab->conn) == SQLITE_OK;
    tab->away.version = tab->version;
    tab->away.schemas = tab->file->schemas;
    return tab->away.any;
}

void ctr_home_is_away(ctr_tab *tab)
{
    tab->away.any = true;
}

/* ---- row ids --------------------------------------------------------------------------------- */

bool ctr_home_of(ctr_row *row, sqlite3_value **keys, int64_t *home)
{
    if (!ctr_home_is_known(row->tab)) return false;
    ctr_slot *slot = ctr_tab_take(row->tab, CTR_TAB_HOME);
    if (slot && ctr_row_lend_keys(row, slot->kept.statement, keys)) {
        ctr_tab_give_back(row->tab, slot);
        return false;
    }
    return ask_number(row->tab, slot, home);
}

ctr_occupied ctr_home_occupied(ctr_tab *tab, int64_t rowid)
{
    ctr_run run = ctr_tab_run(tab);
    ctr_slot *slot = ctr_tab_take(tab, CTR_TAB_OCCUPIED);
    sqlite3_stmt *row = slot ? slot->kept.statement : NULL;
    if (row) sqlite3_bind_int64(row, 1, rowid);
    ctr_occupied is = CTR_OCCUPIED_NOT;
    if (ctr_run_row(&run, row))
        is = sqlite3_column_type(row, 0) == SQLITE_NULL ? CTR_OCCUPIED_HOME : CTR_OCCUPIED_AWAY;
    ctr_tab_give_back(tab, slot);
    return is;
}

static int64_t random_free(ctr_tab *tab)
{
    int64_t rowid;
    do {
        sqlite3_randomness(sizeof rowid, &rowid);
    } while (ctr_rc(tab->conn) == SQLITE_OK && ctr_home_occupied(tab, rowid) != CTR_OCCUPIED_NOT);
    return rowid;
}

int64_t ctr_home_free(ctr_tab *tab, bool in_table)
{
    int64_t end = 0;
    if (in_table && ctr_home_is_known(tab) &&
        ask_number(tab, ctr_tab_take(tab, CTR_TAB_HIGHEST), &end) && end < INT64_MAX)
        return end + 1;
    end = 0;
    ask_number(tab, ctr_tab_take(tab, CTR_TAB_LOWEST), &end);
    return end > INT64_MIN ? end - 1 : random_free(tab);
}

/* ---- rows that are not where they should be -------------------------------------------------- */

static sqlite3_stmt *prepare_home(ctr_tab *tab, ctr_sql which, const char *value)
{
    ctr_run run = ctr_tab_run(tab);
    run.slots.value = run.slots.constraint = value;
    return ctr_run_prepare(&run, which);
}

bool ctr_home_is_off(ctr_tab *tab, const int64_t *home, bool is_new)
{
    unsigned nth = tab->conn->ended + 1;
    if (!ctr_home_is_known(tab)) return false;
    if (home && ctr_home_occupied(tab, *home) == CTR_OCCUPIED_HOME) return true; /* by another key */
    if (is_new || tab->compared_in == nth) return false;
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = prepare_home(tab, CTR_SQL_HOME_SAMPLE, is_home(tab));
    bool off = ctr_run_row(&run, row) && sqlite3_column_int(row, 0) != 0;
    sqlite3_finalize(row);
    if (!off && ctr_rc(tab->conn) == SQLITE_OK) tab->compared_in = nth;
    return off;
}

/* Joins what the rows have, as a merge of two files would. */
static void join_rows(ctr_row *to, ctr_row *from)
{
    const ctr_registry *registry = ctr_regular_of(to->tab);
    const ctr_row_cell *stamps = ctr_row_stamps(from);
    ctr_row_outcome outcome = CTR_ROW_MERGES;
    int n = registry ? registry->n : 0;
    int *map = sqlite3_malloc64(((size_t)n + 1) * sizeof *map);
    for (int i = 0; map && i < n; i++) map[i] = i;
    if (!map) ctr_problem_nomem(to->conn);
    if (stamps && map) outcome = ctr_row_join(to, stamps, map);
    for (int i = 0; i < to->shape->n_counters && outcome != CTR_ROW_STAYS; i++) {
        const ctr_cell joined = ctr_row_join_cell(to, i, &from->cells[i]);
        if (ctr_rc(to->conn) == SQLITE_OK) ctr_row_set_joined(to, i, &joined);
    }
    sqlite3_free(map);
    if (ctr_row_is_staged(to)) ctr_row_write(to, NULL);
}

/* Removes a row after what it has was joined with another one of the same key. */
static void join_twin(ctr_tab *tab, int64_t from, int64_t to)
{
    ctr_row one, two;
    ctr_row_open(&one, tab->file, tab->table, &tab->shape);
    ctr_row_open(&two, tab->file, tab->table, &tab->shape);
    one.whole = two.whole = true;
    ctr_row_open_joins(&two);
    bool are = ctr_row_find_rowid(&one, from) == SQLITE_OK && one.found &&
               ctr_row_find_rowid(&two, to) == SQLITE_OK && two.found;
    if (are) join_rows(&two, &one);
    ctr_row_close(&two);
    ctr_row_close(&one);
    if (!are || ctr_batch_expect(tab, 1)) return;
    sqlite3_stmt *remove = prepare_home(tab, CTR_SQL_HOME_REMOVE, "");
    ctr_run run = ctr_tab_run(tab);
    if (remove) sqlite3_bind_int64(remove, 1, from);
    ctr_run_row(&run, remove);
    sqlite3_finalize(remove);
    ctr_tab_do(tab, CTR_FILE_APART_REMOVE, ":row i :whats i :column t", from, INT64_C(-1), NULL);
    ctr_batch_note(tab, from, CTR_ENTRY_CHANGED, 0, CTR_MADE_HERE);
    ctr_cache_forget(&tab->cache, from);
}

/* Joins rows of one key; returns whether there were any. The list is read first. */
static bool join_twins(ctr_tab *tab)
{
    ctr_conn *conn = tab->conn;
    ctr_changes twins = {0};
    ctr_run run = ctr_tab_run(tab);
    const char *same =
        ctr_shape_list(conn, &tab->shape, CTR_KEYS, "a.@ = c.@", " AND ", 1);
    sqlite3_stmt *row = prepare_home(tab, CTR_SQL_HOME_TWINS, same);
    while (ctr_run_row(&run, row)) {
        const ctr_change_of_row pair = {.row = sqlite3_column_int64(row, 0),
                                        .number = sqlite3_column_int64(row, 1)};
        ctr_changes_add(conn, &twins, &pair);
    }
    sqlite3_finalize(row);
    if (twins.n > 0) ctr_fold_table(tab); /* a removed row must have no amounts */
    for (size_t i = 0; i < twins.n && ctr_rc(conn) == SQLITE_OK; i++)
        join_twin(tab, twins.rows[i].row, twins.rows[i].number);
    sqlite3_free(twins.rows);
    return twins.n > 0 && ctr_rc(conn) == SQLITE_OK;
}

int ctr_home_relink(ctr_tab *tab)
{
    ctr_conn *conn = tab->conn;
    if (!tab->shape.linked || ctr_file_before_write(tab->file)) return ctr_rc(conn);
    unsigned nth = conn->ended;
    ctr_batch_refuse_triggers_anew(tab);
    do {
        sqlite3_stmt *mark = prepare_home(tab, CTR_SQL_HOME_MARK_STRAYS, is_home(tab));
        if (ctr_rc(conn) == SQLITE_OK) ctr_problem_sqlite(conn, ctr_run_to_end(mark));
        sqlite3_finalize(mark);
        ctr_home_is_away(tab);
    } while (join_twins(tab));
    if (ctr_rc(conn) == SQLITE_OK)
        tab->compared_in = nth + 1;
    else
        ctr_conn_spoil(conn, nth);
    return ctr_rc(conn);
}
