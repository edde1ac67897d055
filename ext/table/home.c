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

/* An authorizer may deny the PRAGMAs that tell of the tracked table: then it is not known. */
static void read_home(ctr_tab *tab, ctr_home *home)
{
    ctr_problem denied;
    ctr_problem_try(tab->conn, &denied);
    tab->conn->above.find_home(tab, home);
    ctr_run run = ctr_tab_run(tab);
    if (home->rowid) home->schema = ctr_run_number(&run, CTR_SQL_HOME_COOKIE);
    bool failed = denied.rc != SQLITE_OK, is_denied = denied.rc == SQLITE_AUTH;
    ctr_problem_raise_if(tab->conn, &denied, !is_denied);
    if (failed) ctr_home_close(home);
}

bool ctr_home_is_known(ctr_tab *tab)
{
    if (!tab->shape.linked || ctr_rc(tab->conn) != SQLITE_OK) return false;
    if (tab->home.as_of == 0 || tab->home.as_of != tab->file->schemas) {
        ctr_home home = {0};
        read_home(tab, &home);
        ctr_home_close(&tab->home);
        if (ctr_rc(tab->conn) != SQLITE_OK) return false;
        tab->home = home;
        tab->home.as_of = tab->file->schemas;
    }
    return tab->home.rowid && ctr_rc(tab->conn) == SQLITE_OK;
}

void ctr_home_forget(ctr_tab *tab)
{
    tab->home.as_of = 0;
    tab->holds.is = false;
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

void ctr_home_slots(ctr_tab *tab, ctr_tab_sql which, ctr_slots *slots, ctr_sql *sql)
{
    const ctr_home *home = &tab->home;
    bool known = ctr_home_is_known(tab);
    switch (which) {
    case CTR_TAB_FIND_KEY:
        if (!known) return;
        *sql = CTR_SQL_HOME_FIND;
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
    case CTR_TAB_HIGHEST:
        slots->value =
            known ? ctr_text_print(tab->conn, "SELECT max(t.%s) FROM %s", home->rowid, home->from)
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
    ctr_problem missing;
    ctr_problem_try(tab->conn, &missing);
    ask_number(tab, ctr_tab_take(tab, CTR_TAB_ANY_AWAY), &any);
    bool is_missing =
        missing.rc == SQLITE_ERROR && strstr(ctr_problem_text(&missing), "no such index");
    ctr_problem_raise_if(tab->conn, &missing, !is_missing);
    if (is_missing) ctr_stored_refuse_no_index(tab);
    tab->away.any = any != 0;
    tab->away.looked = tab->known && ctr_rc(tab->conn) == SQLITE_OK;
    tab->away.version = tab->version;
    tab->away.schemas = tab->file->schemas;
    return tab->away.any;
}

void ctr_home_note_away(ctr_tab *tab)
{
    tab->away.any = true;
}

/* ---- row ids --------------------------------------------------------------------------------- */

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
    const ctr_strays *strays = &tab->strays;
    if (in_table && strays->n > 0 && strays->rows[strays->n - 1].rowid < INT64_MAX &&
        ctr_home_occupied(tab, strays->rows[strays->n - 1].rowid + 1) == CTR_OCCUPIED_NOT)
        return strays->rows[strays->n - 1].rowid + 1;
    if (in_table && ctr_home_is_known(tab) &&
        ask_number(tab, ctr_tab_take(tab, CTR_TAB_HIGHEST), &end) && end < INT64_MAX)
        return end + 1;
    end = 0;
    ask_number(tab, ctr_tab_take(tab, CTR_TAB_LOWEST), &end);
    return end > INT64_MIN ? end - 1 : random_free(tab);
}

/* ---- statements that are used once ----------------------------------------------------------- */

static sqlite3_stmt *prepare_home(ctr_tab *tab, ctr_sql which, const char *value)
{
    ctr_run run = ctr_tab_run(tab);
    run.slots.value = run.slots.constraint = value;
    return ctr_run_prepare(&run, which);
}

/* Runs a statement that marks rows as away, and finalizes it; returns how many. */
static int mark_rows(ctr_tab *tab, sqlite3_stmt *mark)
{
    if (ctr_rc(tab->conn) == SQLITE_OK) ctr_problem_sqlite(tab->conn, ctr_run_to_end(mark));
    int n = ctr_rc(tab->conn) == SQLITE_OK ? sqlite3_changes(tab->conn->db) : 0;
    if (n > 0) ctr_home_note_away(tab);
    sqlite3_finalize(mark);
    return n;
}

/* ---- strays ---------------------------------------------------------------------------------- */

void ctr_home_take_strays(ctr_tab *tab)
{
    if (!ctr_home_is_known(tab)) return;
    for (int i = 0; i < tab->shape.n_keys; i++)
        if (!ctr_pack_folds(tab->shape.columns[tab->shape.keys[i]].collation)) return;
    tab->strays.taken = true;
}

void ctr_home_close_strays(ctr_tab *tab)
{
    sqlite3_free(tab->strays.rows);
    sqlite3_free(tab->strays.chains);
    sqlite3_free(tab->strays.key.bytes);
    tab->strays = (ctr_strays){.taken = false};
}

static uint64_t hash_of_key(ctr_tab *tab, sqlite3_value **keys)
{
    ctr_packed *key = &tab->strays.key;
    if (ctr_pack_folded(tab->conn, key, &tab->shape, keys)) return 0;
    return ctr_cache_hash(key->bytes, key->size);
}

static void chain(ctr_strays *strays, size_t i)
{
    size_t *first = &strays->chains[strays->rows[i].hash & (strays->n_chains - 1)];
    strays->rows[i].next = *first;
    *first = i + 1;
}

static bool grow_chains(ctr_tab *tab)
{
    enum { FIRST = 64 };
    ctr_strays *strays = &tab->strays;
    if (strays->n < strays->n_chains) return true;
    size_t n = strays->n_chains > 0 ? 2 * strays->n_chains : FIRST;
    size_t *chains = sqlite3_malloc64(n * sizeof *chains);
    if (!chains) {
        ctr_problem_nomem(tab->conn);
        return false;
    }
    memset(chains, 0, n * sizeof *chains);
    sqlite3_free(strays->chains);
    strays->chains = chains;
    strays->n_chains = n;
    for (size_t i = 0; i < strays->n; i++) chain(strays, i);
    return true;
}

void ctr_home_add_stray(ctr_tab *tab, int64_t rowid, sqlite3_value **keys)
{
    ctr_strays *strays = &tab->strays;
    uint64_t hash = hash_of_key(tab, keys);
    ctr_stray *rows =
        ctr_array_room(tab->conn, strays->rows, &strays->room, strays->n + 1, sizeof *rows);
    if (!rows) return;
    strays->rows = rows;
    if (!grow_chains(tab)) return;
    rows[strays->n] = (ctr_stray){.rowid = rowid, .hash = hash};
    chain(strays, strays->n++);
}

bool ctr_home_next_stray(ctr_tab *tab, sqlite3_value **keys, size_t *at, int64_t *rowid)
{
    ctr_strays *strays = &tab->strays;
    if (strays->n == 0) return false;
    uint64_t hash = hash_of_key(tab, keys);
    size_t next =
        *at > 0 ? strays->rows[*at - 1].next : strays->chains[hash & (strays->n_chains - 1)];
    while (next > 0 && strays->rows[next - 1].hash != hash) next = strays->rows[next - 1].next;
    *at = next;
    if (next > 0) *rowid = strays->rows[next - 1].rowid;
    return next > 0 && ctr_rc(tab->conn) == SQLITE_OK;
}

/* The row ids of strays are nearly all that lie between the first and the last. */
void ctr_home_end_strays(ctr_tab *tab)
{
    ctr_strays *strays = &tab->strays;
    strays->taken = false;
    if (strays->n > 0 && ctr_rc(tab->conn) == SQLITE_OK) {
        sqlite3_stmt *mark = prepare_home(tab, CTR_SQL_HOME_MARK_RANGE, is_home(tab));
        if (mark) sqlite3_bind_int64(mark, 1, strays->rows[0].rowid);
        if (mark) sqlite3_bind_int64(mark, 2, strays->rows[strays->n - 1].rowid);
        mark_rows(tab, mark);
    }
    ctr_home_close_strays(tab);
}

/* ---- rows that are not where they should be -------------------------------------------------- */

/* Of the file: a copy may have numbered the rows anew. Who writes has just looked at it. */
static int64_t mark_of_file(ctr_tab *tab)
{
    struct {
        int64_t inode, birth;
        uint8_t instance[CTR_ID_SIZE], id[CTR_ID_SIZE];
    } all = {0};
    ctr_identity identity;
    ctr_file *file = tab->file;
    ctr_problem unseen;
    ctr_problem_try(tab->conn, &unseen);
    if (!file->checked) ctr_file_look(file);
    bool rolls_back = ctr_problem_rolls_back(unseen.rc);
    ctr_problem_raise_if(tab->conn, &unseen, rolls_back);
    all.inode = file->seen.inode;
    all.birth = file->seen.birth;
    memcpy(all.instance, file->seen.instance, CTR_ID_SIZE);
    if (ctr_file_peek(file, &identity) == SQLITE_OK) memcpy(all.id, identity.id, CTR_ID_SIZE);
    return (int64_t)ctr_cache_hash((const uint8_t *)&all, sizeof all);
}

static bool read_holds(ctr_tab *tab, bool numbers)
{
    enum { SCHEMA, OF_FILE };
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_tab_take_of(tab, CTR_FILE_HOME);
    bool there = ctr_run_row(&run, row);
    bool is = there && sqlite3_column_int64(row, SCHEMA) == tab->home.schema;
    int64_t of_file = there ? sqlite3_column_int64(row, OF_FILE) : 0;
    ctr_file_give_back(tab->file, CTR_FILE_HOME, row);
    return is && (!numbers || of_file == mark_of_file(tab)) && ctr_rc(tab->conn) == SQLITE_OK;
}

/* What this transaction has written may be rolled back, so it is read each time. */
bool ctr_home_holds(ctr_tab *tab, bool numbers)
{
    if (!ctr_home_is_known(tab)) return true; /* all rows are read */
    bool mine = tab->relinked == tab->conn->ended + 1;
    bool current = tab->known && !tab->doubtful && tab->holds.is && !mine &&
                   tab->holds.version == tab->version && tab->holds.schemas == tab->file->schemas;
    if (current && !numbers) return true;
    bool is = read_holds(tab, numbers);
    tab->holds.is = is && tab->known && !mine;
    tab->holds.version = tab->version;
    tab->holds.schemas = tab->file->schemas;
    return is;
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

void ctr_home_remove(ctr_tab *tab, int64_t rowid)
{
    sqlite3_stmt *remove = prepare_home(tab, CTR_SQL_HOME_REMOVE, "");
    ctr_run run = ctr_tab_run(tab);
    if (remove) sqlite3_bind_int64(remove, 1, rowid);
    ctr_run_row(&run, remove);
    sqlite3_finalize(remove);
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
    ctr_home_remove(tab, from);
    ctr_tab_do(tab, CTR_FILE_APART_REMOVE, ":row i :whats i :column t", from, INT64_C(-1), NULL);
    ctr_batch_note(tab,
                   &(ctr_entry){.row = from, .kind = CTR_ENTRY_CHANGED, .origin = CTR_MADE_HERE});
    ctr_cache_forget(&tab->cache, from);
}

/* Says that a row has the key of the row c. */
static const char *same_key_of(ctr_tab *tab, const char *row)
{
    const char *item = ctr_text_print(tab->conn, "%s.@ = c.@", row);
    return ctr_shape_list(tab->conn, &tab->shape, CTR_KEYS, item, " AND ", 1);
}

/* Joins rows of one key; returns whether there were any. The list is read first. */
static bool join_twins(ctr_tab *tab)
{
    ctr_conn *conn = tab->conn;
    ctr_changes twins = {0};
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = prepare_home(tab, CTR_SQL_HOME_TWINS, same_key_of(tab, "a"));
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

static const char *is_not_home(ctr_tab *tab)
{
    return ctr_text_print(tab->conn, "NOT %s", is_home(tab));
}

static bool has_stray(ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    return ctr_run_once(&run, prepare_home(tab, CTR_SQL_HOME_UNMARKED, is_not_home(tab)));
}

/* The first rows of one key are joined; the others when these are marked. */
void ctr_home_relink(ctr_tab *tab)
{
    ctr_conn *conn = tab->conn;
    int64_t n = 0;
    bool again;
    if (!tab->shape.linked || ctr_file_before_write(tab->file)) return;
    unsigned nth = conn->ended;
    ctr_batch_refuse_triggers_anew(tab);
    do {
        sqlite3_stmt *mark = prepare_home(tab, CTR_SQL_HOME_MARK_STRAYS, is_home(tab));
        n += mark_rows(tab, mark);
        again = join_twins(tab);
        n += again;
    } while (again);
    if (n > 0 && has_stray(tab)) ctr_refuse_hidden(conn, tab->table); /* an authorizer ignored it */
    ctr_run run = ctr_tab_run(tab);
    if (ctr_home_is_known(tab))
        ctr_run_with(&run, CTR_SQL_HOME_HOLD, ":schema i :file i", tab->home.schema,
                     mark_of_file(tab));
    tab->relinked = nth + 1;
    if (ctr_rc(conn) != SQLITE_OK) ctr_conn_spoil(conn, nth);
}

static void refuse_place(ctr_row *row, int64_t rowid, const char *what)
{
    char *key = ctr_row_key_text(row, rowid);
    if (key)
        ctr_problem_set(
            row->conn, SQLITE_CORRUPT_VTAB,
            "the stored table %s_cells has %s %s: counter_track or counter_replicate of "
            "the tracked table puts it right",
            row->tab->table, what, key);
    sqlite3_free(key);
}

/* Returns the row id that the statement gives, and fails with it. */
static void check_none(ctr_row *row, sqlite3_stmt *found, const char *what)
{
    ctr_run run = ctr_tab_run(row->tab);
    if (ctr_run_row(&run, found)) refuse_place(row, sqlite3_column_int64(found, 0), what);
    sqlite3_finalize(found);
}

void ctr_home_check(ctr_row *row)
{
    ctr_tab *tab = row->tab;
    if (!ctr_home_is_known(tab)) return;
    static const char TWO[] = "two rows with the key";
    const ctr_home *home = &tab->home;
    check_none(row, prepare_home(tab, CTR_SQL_HOME_TWINS, same_key_of(tab, "a")), TWO);
    const char *twin = ctr_text_print(
        tab->conn,
        "%s AND EXISTS (SELECT 1 FROM %s, \"%w\".\"%w_cells\" AS p WHERE p._rowid_ = t.%s AND "
        "%s AND %s)",
        is_not_home(tab), home->from, tab->schema, tab->table, home->rowid, home->same,
        same_key_of(tab, "p"));
    check_none(row, prepare_home(tab, CTR_SQL_HOME_UNMARKED, twin), TWO);
    if (ctr_rc(tab->conn) == SQLITE_OK && ctr_home_holds(tab, true))
        check_none(row, prepare_home(tab, CTR_SQL_HOME_UNMARKED, is_not_home(tab)),
                   "at the row id of another row");
}
