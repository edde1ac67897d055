/* merge/renumber.c - rows whose number another row had first: lists them, and inserts those of this
 * file again.
 *
 * Two files may give one number to two rows (tracked/spread.c). The one that was born first keeps
 * it in every file (core/core.h). A file that had the other one lists it whole, as a change. Its
 * origin alone, the file that goes on from the id under which it was born, inserts it again in the
 * merge, under a number that SQLite gives out then, and lets its own rows that referred to it
 * follow. What other files have written below stays with the first row. That is before deletions
 * are shown, for the row keeps its parents.
 *
 * A row that the table refuses stays listed, and is tried again at the end, and in the next merge.
 *
 * If the table refuses the first row, it still shows the other one under the number, and what the
 * application counted there would be the first one's. So the other one is taken off the table, in
 * every file, and the first one waits. The other one stands while SQLite enforces a foreign key to
 * it, or if a deletion is to be shown in its place. */
#include "merge/merge.h"

#include <string.h>

/* ---- listing --------------------------------------------------------------------------------- */

enum { BIRTH_SIZE = 8 + CTR_ID_SIZE };

ctr_birthplace ctr_renumber_birthplace(ctr_tab *tab, const uint8_t mine[CTR_ID_SIZE],
                                       const uint8_t id[CTR_ID_SIZE])
{
    ctr_birthplace born = CTR_BORN_ELSEWHERE;
    if (memcmp(id, mine, CTR_ID_SIZE) == 0) return CTR_BORN_HERE;
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_WENT_ON);
    ctr_run_bind_id(&run, row, ":id", id);
    ctr_run_bind_text(&run, row, ":met", ctr_lineage_why(CTR_WHY_CONFLICT));
    ctr_run_bind_text(&run, row, ":dropped", ctr_lineage_why(CTR_WHY_DROPPED));
    if (ctr_run_row(&run, row)) born = sqlite3_column_int(row, 0) ? CTR_BORN_HERE : CTR_BORN_BEFORE;
    sqlite3_finalize(row);
    return born;
}

/* The same of the file as it is now: it may have become a copy since the row was listed. */
static bool is_of_this_file(ctr_file *file, ctr_tab *tab, const uint8_t id[CTR_ID_SIZE])
{
    const ctr_identity *identity = ctr_file_identity(file);
    return identity && ctr_renumber_birthplace(tab, identity->id, id) == CTR_BORN_HERE;
}

void ctr_renumber_list(ctr_merge *merge)
{
    uint8_t birth[BIRTH_SIZE];
    ctr_row *row = &merge->row;
    ctr_tab *tab = row->tab;
    ctr_packed change = {0};
    ctr_run run = ctr_tab_run(tab);
    const ctr_row_cell *mine = ctr_row_stamps(row);
    if (!mine || ctr_rc(merge->conn) != SQLITE_OK) return;
    ctr_bytes_put(birth, (uint64_t)mine->birth.number);
    memcpy(birth + 8, mine->birth.id, CTR_ID_SIZE);
    bool is_own =
        ctr_renumber_birthplace(tab, merge->conflicts->mine, mine->birth.id) == CTR_BORN_HERE;
    ctr_apart_row apart = {0};
    if (merge->tracked) ctr_apart_read(merge->showing.tracked, tab, row->rowid, &apart);
    ctr_row_feed_tell(tab, row, merge->keys, &change);
    sqlite3_stmt *add = ctr_run_prepare(&run, CTR_SQL_REPLACED_ADD);
    ctr_run_bind_int(&run, add, ":row", row->rowid);
    ctr_run_bind_blob(&run, add, ":birth", birth, sizeof birth);
    ctr_run_bind_blob(&run, add, ":change", change.bytes, change.size);
    ctr_run_bind_int(&run, add, ":shown", !apart.waits);
    ctr_apart_close_row(&apart);
    if (is_own) ctr_run_bind_int(&run, add, ":number", ctr_batch_number(tab));
    ctr_run_once(&run, add);
    sqlite3_free(change.bytes);
    merge->brought.replaced++;
    ctr_merge_note_number(merge);
}

void ctr_renumber_leave(ctr_file *file)
{
    ctr_run run = ctr_file_run(file);
    if (ctr_rc(file->conn) == SQLITE_OK &&
        ctr_schema_is_table(file->conn, file->schema, "counter_state"))
        ctr_run_do(&run, CTR_SQL_REPLACED_LEAVE, NULL);
}

/* ---- one that is to be inserted again -------------------------------------------------------- */

typedef struct due_again {
    ctr_file *file;
    ctr_tab *tab;
    ctr_tracked *tracked; /* held */
    int64_t was, now;     /* its numbers; now: 0 until it is known */
    int64_t number;       /* of the file when it was replaced */
    ctr_change_view told;
} due_again;

/* Returns the column that shows what was told; NULL: there is none any more. */
static const char *column_of_told(const due_again *due, const ctr_told_column *told)
{
    const ctr_tracked *tracked = due->tracked;
    const ctr_registry *registry = ctr_regular_of(due->tab);
    const char *name = (const char *)told->name;
    if (!told->kind->stored) {
        int number = registry ? ctr_regular_named(registry, name, told->name_size) : -1;
        const ctr_described *column =
            number >= 0 ? ctr_tracked_regular_column(tracked, number) : NULL;
        return column ? column->name : NULL;
    }
    for (int i = 0; i < tracked->shape->n_counters; i++) {
        const ctr_tracked_column *column = ctr_tracked_column_of(tracked, i);
        if (column && strlen(column->birth) == told->name_size &&
            memcmp(column->birth, name, told->name_size) == 0)
            return column->name;
    }
    return NULL;
}

/* Returns whether this file has written what has a stamp, before the row was replaced. */
static bool has_written(const due_again *due, const ctr_stamp *stamp)
{
    return ctr_stamp_time(stamp->number) <= due->number &&
           is_of_this_file(due->file, due->tab, stamp->id);
}

/* Of rows that were listed one may refer to another, by the number that this had when this file
 * wrote the reference. Returns the number that it has now; fails if it is not inserted yet. */
static int64_t number_now(const due_again *due, const char *parent, const char *to,
                          const ctr_stamp *stamp, int64_t number)
{
    int64_t now = number;
    char *counters = ctr_triggers_counters(due->file, parent);
    ctr_tab *tab = counters ? ctr_tab_read(due->file, counters) : NULL;
    ctr_tracked *tracked = tab ? ctr_tracked_hold(tab) : NULL;
    if (tracked && ctr_tracked_is_known(tracked) && tab->shape.keyed &&
        sqlite3_stricmp(ctr_tracked_key(tracked, 0)->name, to) == 0) {
        ctr_run run = ctr_tab_run(tab);
        sqlite3_stmt *listed = ctr_run_prepare(&run, CTR_SQL_REPLACED_NOW);
        ctr_run_bind_int(&run, listed, ":row", number);
        ctr_run_bind_int(&run, listed, ":time", ctr_stamp_time(stamp->number));
        bool is = ctr_run_row(&run, listed);
        if (is && sqlite3_column_type(listed, 0) == SQLITE_NULL)
            ctr_problem_set(due->file->conn, SQLITE_CONSTRAINT, CTR_FOREIGN_KEY_FAILED);
        else if (is)
            now = sqlite3_column_int64(listed, 0);
        sqlite3_finalize(listed);
    }
    ctr_tracked_release(tracked);
    sqlite3_free(counters);
    return now;
}

/* Returns what a regular column refers to now: another row that this file has written there, or the
 * row itself, whose new number must be known then: an immediate foreign key asks for it at once. A
 * foreign key to anything else than a number stays as it is. */
static int64_t refer_now(due_again *due, const char *column, const ctr_told_column *told,
                         int64_t number)
{
    const ctr_told_row *row = &due->told.row;
    const ctr_foreign_keys *foreign = ctr_foreign_keys_of(due->file);
    const ctr_stamp *stamp = told->stamp.kind == CTR_STAMP_OWN ? &told->stamp.own : &row->stamp;
    const char *own = ctr_tracked_key(due->tracked, 0)->name;
    bool is_own = has_written(due, stamp);
    for (int i = 0; foreign && i < foreign->n; i++) {
        const ctr_foreign_key *key = &foreign->keys[i];
        bool is_here = sqlite3_stricmp(key->child, due->tracked->table) == 0;
        bool is_self = number == due->was && sqlite3_stricmp(key->parent, key->child) == 0;
        for (int j = 0; is_here && j < key->n; j++) {
            int64_t now = number;
            if (sqlite3_stricmp(key->pairs[j].from, column) != 0) continue;
            if (is_self && sqlite3_stricmp(key->pairs[j].to, own) == 0)
                return due->now = ctr_spread_next(due->tracked, due->tab);
            if (!is_self && is_own)
                now = number_now(due, key->parent, key->pairs[j].to, stamp, number);
            if (now != number) return now;
        }
    }
    return number;
}

static bool is_told_bounded(const due_again *due, const ctr_told_column *told)
{
    ctr_shape shape;
    ctr_conn *conn = due->file->conn;
    const char *name = ctr_text_print(conn, "%.*s", (int)told->name_size, (const char *)told->name);
    ctr_tab_read_shape(due->file, due->tab->table,
                       &shape); /* that of the tab has its columns alone */
    int counter = ctr_shape_counter_of(&shape, name, told->generation);
    bool is = counter >= 0 && shape.columns[shape.counters[counter]].bounded;
    ctr_shape_close(&shape);
    return is;
}

/* Returns the value with which a counter begins again: of a bounded one what this file may take, as
 * others may have taken what they have, and their counts stay with the number. */
static ctr_key_value value_of_told(const due_again *due, const ctr_told_column *told)
{
    ctr_cell cell;
    int64_t sum = 0;
    ctr_rights rights = {.list = NULL};
    ctr_cell_open(&cell, told->state, told->size);
    if (!ctr_cell_is_live(&cell) || ctr_cell_value(&cell, &sum) != CTR_OK)
        return (ctr_key_value){.type = CTR_KEY_NOTHING};
    if (is_told_bounded(due, told)) {
        ctr_rights_read(&rights, due->tab, &cell);
        const ctr_sum mine = ctr_rights_find(&rights, due->tab->id);
        sum = ctr_sum_is_positive(&mine) ? ctr_sum_clamp(&mine) : 0;
        ctr_rights_close_list(&rights);
    }
    return (ctr_key_value){.type = CTR_KEY_INTEGER, .integer = sum};
}

static void bind_told(due_again *due, sqlite3_stmt *insert, int i, const char *column,
                      const ctr_told_column *told)
{
    ctr_conn *conn = due->file->conn;
    ctr_key_value value = {.type = CTR_KEY_NOTHING};
    if (told->kind->stored) {
        value = value_of_told(due, told);
    } else if (told->size > 0) {
        ctr_key_read(told->state, &value);
        if (value.type == CTR_KEY_INTEGER)
            value.integer = refer_now(due, column, told, value.integer);
    }
    ctr_problem_sqlite(conn, ctr_pack_bind_value(insert, i, &value));
}

/* INSERT INTO "orders"("customer", "n", "id") VALUES (?1, ?2, ?3), ?3 being NULL: SQLite gives out
 * the number, as for the application. */
static void insert_again(due_again *due)
{
    int n = 0;
    ctr_told_column told;
    ctr_conn *conn = due->file->conn;
    sqlite3_str *columns = sqlite3_str_new(NULL), *values = sqlite3_str_new(NULL);
    ctr_change_view view = due->told;
    while (ctr_change_next(&view, &told)) {
        const char *column = column_of_told(due, &told);
        if (!column) continue;
        sqlite3_str_appendf(columns, "\"%w\", ", column);
        sqlite3_str_appendf(values, "?%d, ", ++n);
    }
    sqlite3_str_appendf(columns, "\"%w\"", ctr_tracked_key(due->tracked, 0)->name);
    sqlite3_str_appendf(values, "?%d", n + 1);
    ctr_run run = ctr_tab_run(due->tab);
    run.slots.name = due->tracked->table;
    run.slots.columns = ctr_text_built(conn, columns);
    run.slots.values = ctr_text_built(conn, values);
    run.slots.conflict = ctr_tracked_conflict(due->tracked);
    sqlite3_stmt *insert = ctr_run_prepare(&run, CTR_SQL_TRACK_SHOW_NEW);
    view = due->told;
    for (int i = 1; insert && ctr_change_next(&view, &told);) {
        const char *column = column_of_told(due, &told);
        if (column) bind_told(due, insert, i++, column, &told);
    }
    if (insert && due->now > 0) sqlite3_bind_int64(insert, n + 1, due->now);
    if (insert && ctr_rc(conn) == SQLITE_OK) ctr_run_row(&run, insert);
    sqlite3_finalize(insert);
    if (ctr_rc(conn) == SQLITE_OK && sqlite3_changes(conn->db) == 0) /* by RAISE(IGNORE) */
        ctr_problem_set(conn, SQLITE_CONSTRAINT, "%s", sqlite3_errstr(SQLITE_CONSTRAINT));
    due->now = sqlite3_last_insert_rowid(conn->db);
}

/* ---- the rows below it ----------------------------------------------------------------------- */

/* Returns whether this file has written the reference of a row, before the parent was replaced. */
static bool wrote_reference(const due_again *due, ctr_row *row, const ctr_tracked *child,
                            const char *column)
{
    const ctr_row_cell *cell = row->found ? ctr_row_stamps(row) : NULL;
    const ctr_tracked_column *regular = ctr_tracked_regular_named(child, column);
    if (!cell || !ctr_row_cell_is_live(cell)) return false;
    const ctr_stamp *stamp = regular ? ctr_row_cell_stamp(cell, regular->number) : &cell->row;
    return stamp && has_written(due, stamp);
}

/* Moves the rows of a replicated table that this file has written, one by one: each move may change
 * what refers to the number. */
static void move_written(const due_again *due, ctr_tab *tab, const ctr_tracked *child,
                         const char *column)
{
    ctr_row row;
    ctr_conn *conn = due->file->conn;
    int n = child->shape->n_keys;
    bool moved = true;
    sqlite3_value **keys = sqlite3_malloc64(((size_t)n + 1) * sizeof *keys);
    sqlite3_str *list = sqlite3_str_new(NULL), *match = sqlite3_str_new(NULL);
    if (!keys) ctr_problem_nomem(conn);
    ctr_list_keys(child, list, "");
    for (int i = 0; i < n; i++)
        sqlite3_str_appendf(match, "%s\"%w\" = ?%d", i ? " AND " : "",
                            ctr_tracked_key(child, i)->name, i + 2);
    ctr_run run = ctr_tab_run(tab);
    run.slots.name = child->table;
    run.slots.value = ctr_text_print(conn, "\"%w\"", column);
    run.slots.keys = ctr_text_built(conn, list);
    run.slots.constraint = ctr_text_built(conn, match);
    ctr_row_open(&row, due->file, child->counters, child->shape);
    while (moved && keys && ctr_rc(conn) == SQLITE_OK) {
        moved = false;
        sqlite3_stmt *children = ctr_run_prepare(&run, CTR_SQL_REPLACED_CHILDREN);
        ctr_run_bind_int(&run, children, ":was", due->was);
        while (!moved && ctr_run_row(&run, children)) {
            for (int i = 0; i < n; i++) keys[i] = sqlite3_column_value(children, i);
            moved = ctr_row_find_key(&row, keys) == SQLITE_OK &&
                    wrote_reference(due, &row, child, column);
        }
        sqlite3_stmt *move = moved ? ctr_run_prepare(&run, CTR_SQL_REPLACED_MOVE) : NULL;
        if (move) sqlite3_bind_int64(move, 1, due->now);
        for (int i = 0; move && i < n; i++)
            ctr_problem_sqlite(conn, ctr_text_bind_value(move, i + 2, keys[i]));
        sqlite3_finalize(children);
        if (move && ctr_rc(conn) == SQLITE_OK) ctr_run_row(&run, move);
        sqlite3_finalize(move);
    }
    ctr_row_close(&row);
    sqlite3_free(keys);
}

/* All rows of a table that stays in this file are its own. */
static void move_children(const due_again *due, const ctr_foreign_key *key, const char *column)
{
    ctr_conn *conn = due->file->conn;
    if (key->travels) {
        char *counters = ctr_triggers_counters(due->file, key->child);
        ctr_tab *tab = counters ? ctr_tab_read(due->file, counters) : NULL;
        ctr_tracked *child = tab ? ctr_tracked_hold(tab) : NULL;
        if (child && ctr_tracked_is_known(child)) move_written(due, tab, child, column);
        ctr_tracked_release(child);
        sqlite3_free(counters);
        return;
    }
    ctr_run run = ctr_tab_run(due->tab);
    run.slots.name = key->child;
    run.slots.value = ctr_text_print(conn, "\"%w\"", column);
    ctr_run_with(&run, CTR_SQL_REPLACED_MOVE_ALL, ":now i :was i", due->now, due->was);
}

static void move_all_children(const due_again *due)
{
    ctr_foreign_keys *foreign = ctr_foreign_hold(due->file);
    const char *own = ctr_tracked_key(due->tracked, 0)->name;
    for (int i = 0; foreign && i < foreign->n && ctr_rc(due->file->conn) == SQLITE_OK; i++) {
        const ctr_foreign_key *key = &foreign->keys[i];
        bool is_below = sqlite3_stricmp(key->parent, due->tracked->table) == 0;
        for (int j = 0; is_below && j < key->n; j++)
            if (sqlite3_stricmp(key->pairs[j].to, own) == 0)
                move_children(due, key, key->pairs[j].from);
    }
    ctr_foreign_release(foreign);
}

/* ---- one that still stands ------------------------------------------------------------------- */

/* Returns whether the table shows the row under its number, because it refuses the other one or a
 * deletion. A row whose counters alone are refused is the other one. */
static bool stands(const due_again *due, bool *is_refused)
{
    ctr_apart_row apart = {0};
    ctr_apart_read(due->tracked, due->tab, due->was, &apart);
    bool differs = apart.refused || (apart.differs && due->tracked->n_regular == 0);
    *is_refused = differs && !apart.waits && !apart.ended;
    bool is = *is_refused || apart.ended;
    ctr_apart_close_row(&apart);
    return is;
}

/* Takes it off, if the other one is refused. Returns whether it no longer stands. */
static bool take_off(due_again *due)
{
    ctr_row row;
    ctr_showing showing;
    bool is_refused, is = !stands(due, &is_refused);
    if (!is_refused || ctr_rc(due->file->conn) != SQLITE_OK) return is;
    ctr_row_open(&row, due->file, due->tracked->counters, due->tracked->shape);
    if (ctr_showing_open(&showing, due->tab) == SQLITE_OK) {
        showing.writing.foreign.all = true;
        showing.writing.together = !ctr_foreign_enforced(row.conn->db);
        is = ctr_later_take_off(&showing, &row, due->was);
    }
    ctr_showing_close(&showing);
    ctr_row_close(&row);
    return is;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Inserts it again, with what follows it. */
static bool come_back(due_again *due)
{
    ctr_conn *conn = due->file->conn;
    ctr_spread_settle(due->tracked, due->tab);
    conn->merging++; /* for triggers of the application, which have seen it before */
    insert_again(due);
    if (ctr_rc(conn) == SQLITE_OK) move_all_children(due);
    conn->merging--;
    if (ctr_rc(conn) == SQLITE_OK && ctr_foreign_broken(conn->db))
        ctr_problem_set(conn, SQLITE_CONSTRAINT, CTR_FOREIGN_KEY_FAILED);
    return ctr_rc(conn) == SQLITE_OK;
}

/* Tries something in a savepoint: what the table refuses changes nothing. */
static bool try_it(due_again *due, bool (*it)(due_again *due))
{
    ctr_conn *conn = due->file->conn;
    ctr_problem refused, undone;
    ctr_run run = ctr_file_run(due->file);
    if (!ctr_writing_savepoint(conn)) return false;
    ctr_problem_try(conn, &refused);
    bool is = it(due) && refused.rc == SQLITE_OK;
    bool gone = sqlite3_get_autocommit(conn->db);
    bool fatal = refused.rc != SQLITE_OK && !ctr_writing_is_refusal(refused.rc);
    if (gone && !fatal) ctr_writing_tell_rollback(due->tracked);
    fatal = fatal || gone;
    ctr_problem_raise_if(conn, &refused, fatal);
    ctr_problem_try(conn, &undone);
    if (!is && !gone) ctr_run_do(&run, CTR_SQL_TRACK_ROLL_BACK, NULL);
    if (!gone) ctr_run_do(&run, CTR_SQL_TRACK_RELEASE, NULL);
    ctr_problem_raise_if(conn, &undone, undone.rc != SQLITE_OK);
    return is && ctr_rc(conn) == SQLITE_OK;
}

/* What is listed of a row, copied: the statement ends before anything is written. */
typedef struct listed_row {
    char *counters;
    int64_t was, number;
    ctr_packed birth, change;
    bool comes_back; /* it is to be inserted again */
    bool stands;     /* the table still shows it */
} listed_row;

static void copy_bytes(ctr_conn *conn, ctr_packed *to, sqlite3_stmt *row, int column)
{
    size_t size = (size_t)sqlite3_column_bytes(row, column);
    uint8_t *out = ctr_pack_room(conn, to, size + 1);
    if (out && size > 0) memcpy(out, sqlite3_column_blob(row, column), size);
    if (out) to->size = size;
}

static void try_to_take_off(due_again *due, listed_row *listed)
{
    ctr_run run = ctr_tab_run(due->tab);
    if (!listed->stands || !try_it(due, take_off)) return;
    ctr_run_with(&run, CTR_SQL_REPLACED_GONE, ":row i :birth b", listed->was, listed->birth.bytes,
                 listed->birth.size);
    listed->stands = false;
}

static void try_to_come_back(due_again *due, listed_row *listed)
{
    ctr_run run = ctr_tab_run(due->tab);
    bool is = listed->comes_back && listed->birth.size == BIRTH_SIZE &&
              is_of_this_file(due->file, due->tab, listed->birth.bytes + 8);
    if (!is || !try_it(due, come_back)) return;
    ctr_run_with(&run, CTR_SQL_REPLACED_DONE, ":now i :row i :birth b", due->now, listed->was,
                 listed->birth.bytes, listed->birth.size);
    listed->comes_back = false;
}

/* It is taken off first, for a UNIQUE index may refuse it beside itself; or last, when what refers
 * to it has followed it. */
static void try_listed(ctr_file *file, listed_row *listed, bool takes_off)
{
    ctr_conn *conn = file->conn;
    due_again due = {.file = file, .was = listed->was, .number = listed->number};
    due.tab = ctr_tab_read(file, listed->counters);
    due.tracked = due.tab ? ctr_tracked_hold(due.tab) : NULL;
    bool is = due.tracked && ctr_tracked_is_known(due.tracked) && due.tab->shape.keyed &&
              ctr_change_open(&due.told, listed->change.bytes, listed->change.size) == CTR_OK;
    if (is && ctr_triggers_check(file, listed->counters) == SQLITE_OK) {
        if (takes_off) try_to_take_off(&due, listed);
        try_to_come_back(&due, listed);
        if (takes_off) try_to_take_off(&due, listed);
    }
    ctr_tracked_release(due.tracked);
    ctr_problem_where(conn, "%s", listed->counters);
}

static void free_listed(listed_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sqlite3_free(rows[i].counters);
        sqlite3_free(rows[i].birth.bytes);
        sqlite3_free(rows[i].change.bytes);
    }
    sqlite3_free(rows);
}

/* A row that refers to another one is inserted behind that one. Returns whether any was. */
static bool try_all(ctr_file *file, listed_row *rows, size_t n, bool takes_off)
{
    bool any = false, goes_on = true;
    while (goes_on) {
        goes_on = false;
        for (size_t i = 0; i < n && ctr_rc(file->conn) == SQLITE_OK; i++) {
            int left = rows[i].comes_back + rows[i].stands;
            if (left == 0) continue;
            try_listed(file, &rows[i], takes_off);
            goes_on = goes_on || rows[i].comes_back + rows[i].stands < left;
        }
        any = any || goes_on;
    }
    return any;
}

bool ctr_renumber_insert(ctr_file *file, bool takes_off)
{
    enum { NAME, ROW, BIRTH, CHANGE, NUMBER, COMES_BACK, STANDS };
    ctr_conn *conn = file->conn;
    size_t n = 0, room = 0;
    listed_row *rows = NULL;
    if (ctr_rc(conn) != SQLITE_OK || !ctr_schema_is_table(conn, file->schema, "counter_state"))
        return false;
    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_REPLACED_DUE);
    while (ctr_run_row(&run, row)) {
        listed_row *more = ctr_array_room(conn, rows, &room, n + 1, sizeof *more);
        if (!more) break;
        rows = more;
        const char *name = ctr_text_column(conn, row, NAME);
        rows[n] = (listed_row){.counters = name ? ctr_text_copy(conn, name) : NULL,
                               .was = sqlite3_column_int64(row, ROW),
                               .number = sqlite3_column_int64(row, NUMBER),
                               .comes_back = sqlite3_column_int(row, COMES_BACK) != 0,
                               .stands = sqlite3_column_int(row, STANDS) != 0};
        copy_bytes(conn, &rows[n].birth, row, BIRTH);
        copy_bytes(conn, &rows[n++].change, row, CHANGE);
    }
    sqlite3_finalize(row);
    bool any = try_all(file, rows, n, takes_off);
    free_listed(rows, n);
    return any;
}
